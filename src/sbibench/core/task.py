"""A task: a model with a prior, observations, and what is known of its posterior. A value."""

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import jax
import numpy as np

from sbibench.core import references, registry
from sbibench.core.deadline import Deadline
from sbibench.core.described import probed
from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.core.fingerprint import fingerprint
from sbibench.core.forward import Batched, Forward, Simulate, SimulateBatch, Vmapped
from sbibench.core.outputs import numbers
from sbibench.core.priors import check_prior, rows
from sbibench.core.problem import Problem, Progress, silent
from sbibench.core.scipy_priors import as_prior
from sbibench.core.simulator import Simulator

REFERENCE_SIZE = 10_000
"""How many samples of the true posterior a comparison uses (as in Lueckmann et al. 2021)."""

ATTEMPTS = 1000
"""Simulations of which the first finite one becomes an observation."""


if TYPE_CHECKING:
    from numpyro.distributions import Distribution as _Prior
else:  # what is given may be of scipy.stats; what is there is always a numpyro distribution
    _Prior = Any


def _none() -> np.ndarray:
    return np.empty((0, 0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A model to be inferred.

    Needed are a name, a prior, one of `simulate` and `simulate_batch`, and one of `observations`
    and `x_obs`.

    Attributes
    ----------
    name, label, citation, version
        For machines, for people, where it comes from; the version rises when results change.
    prior
        A numpyro distribution over one vector θ [d]; frozen ones of scipy.stats become one: see
        `core/scipy_priors.py`.
    simulate
        (key, θ [d]) -> x [p]: one draw, pure JAX; batching and counting are not its concern.
    simulate_batch
        (rng, θ [n, d]) -> x [n, p] in its place: n draws, NumPy (float64) in and out, whatever is
        between. It is probed for common mistakes before it is first used: see `core/probe.py`.
    x_obs
        One observation [p], in place of `observations`.
    log_likelihood
        (θ [d], x [p]) -> log p(x | θ), or None where it is intractable.
    reference
        (key, x [p], n) -> n exact draws [n, d] of the posterior, or None: then the general scheme
        draws them, where there is a likelihood.
    second_method
        What reference samples are compared with: "grid" (d of 1 or 2), "slices", "nuts" (a smooth
        posterior with one mode on R^d); None for grid where d permits it, else slices.
    posterior_of
        Name of the task with the same posteriors for its observations, whose samples serve both.
    parameter_names, data_names
        d and p names, for tables and charts; by default theta_1, x_1, and so on.
    observations, thetas_true
        The canonical observations [m, p] and the parameters [m, d] that generated them, if they are
        known. Those of higher numbers are drawn from the prior predictive, with the number as seed.
    forward
        (key, θ [n, d]) -> x [n, p], of whichever simulator there is: what everything else calls.
    """

    name: str
    label: str = ""
    citation: str = ""
    version: int = 1
    prior: _Prior
    simulate: Simulate | None = None
    simulate_batch: SimulateBatch | None = None
    log_likelihood: Callable[[Any, Any], Any] | None = None
    reference: Callable[[Any, Any, int], np.ndarray] | None = None
    second_method: Literal["grid", "slices", "nuts"] | None = None
    posterior_of: str | None = None
    parameter_names: tuple[str, ...] = ()
    data_names: tuple[str, ...] = ()
    observations: np.ndarray = field(default_factory=_none)
    thetas_true: np.ndarray = field(default_factory=_none)
    x_obs: InitVar[Any] = None
    forward: Forward = field(init=False, repr=False)

    def __post_init__(self, x_obs: Any) -> None:
        if not re.fullmatch(r"\w[\w .+-]*", self.name):
            raise UsageError(f"a task's name is letters, digits, _ . + -, not {self.name!r}")
        self._set("prior", as_prior(self.prior))
        check_prior(self.prior)
        self._set("label", self.label or self.name)
        self._set("observations", _observations(self.name, self.observations, x_obs))
        if len(self.thetas_true):
            self._set("thetas_true", np.atleast_2d(numbers(self.thetas_true, "thetas_true")))
        for names, n, stem in (
            ("parameter_names", self.prior.event_shape[0], "theta"),
            ("data_names", self.observations.shape[1], "x"),
        ):
            given: Sequence[str] = getattr(self, names)
            self._set(names, tuple(given or (f"{stem}_{i + 1}" for i in range(n))))
        self._check()
        self._set("forward", self._forward())

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        d = self.prior.event_shape[0]
        if self.second_method not in {None, "grid", "slices", "nuts"}:
            raise UsageError(
                f"{self.name}: second_method is grid, slices, nuts or None, "
                f"not {self.second_method!r}"
            )
        if self.second_method == "grid" and d > 2:
            raise UsageError(f"{self.name}: a grid is for 1 or 2 parameters; use slices")
        if len(self.parameter_names) != d:
            raise UsageError(
                f"{self.name}: the prior is over {d} parameters, parameter_names are "
                f"{len(self.parameter_names)}"
            )
        for what, got, names in (
            ("observations", self.observations, self.data_names),
            ("thetas_true", self.thetas_true, self.parameter_names),
        ):
            known = what == "observations" or len(got)
            if known and (got.ndim != 2 or got.shape[1] != len(names)):
                raise UsageError(
                    f"{self.name}: {what} has shape {got.shape}, not [m, {len(names)}]"
                )
        if 0 < len(self.thetas_true) < len(self.observations):
            raise UsageError(
                f"{self.name}: {len(self.observations)} observations, but "
                f"{len(self.thetas_true)} thetas_true; leave them out if they are unknown"
            )

    def _forward(self) -> Forward:
        if (self.simulate is None) == (self.simulate_batch is None):
            raise UsageError(
                f"{self.name}: give one of simulate (JAX, one θ) and simulate_batch (NumPy, many)"
            )
        if self.simulate is not None:
            return Vmapped(self.simulate, self.p)
        assert self.simulate_batch is not None
        return Batched(self.simulate_batch, self.prior, self.observations[0])

    @property
    def fingerprint(self) -> str:
        """What changes when the simulator's code, the prior or an observation does."""
        simulator = self.simulate or self.simulate_batch
        return fingerprint(probed(self.prior), simulator, self.observations, self.version)

    @property
    def d(self) -> int:
        """The number of parameters."""
        return len(self.parameter_names)

    @property
    def p(self) -> int:
        """The number of data values."""
        return len(self.data_names)

    def observation(self, observation: int) -> np.ndarray:
        """Return observation number `observation`, counted from 1: x [p], float64.

        Numbers beyond the canonical observations are as good: the first finite simulation from the
        prior, with the number as seed.
        """
        return np.array(_pair(self, observation)[1])

    def true_parameters(self, observation: int) -> np.ndarray:
        """Return the parameters θ [d] that generated this observation, float64.

        Raises
        ------
        UsageError
            If nobody knows them: the observation came without `thetas_true`.
        """
        theta = _pair(self, observation)[0]
        if theta is None:
            raise UsageError(
                f"{self.name}, observation {observation}: the true parameters are unknown; a Task "
                "takes them as thetas_true"
            )
        return np.array(theta)

    def reference_samples(self, observation: int, n: int = REFERENCE_SIZE) -> np.ndarray:
        """Return n certified draws [n, d], float32, of the true posterior, the same ones always.

        Those of the canonical observations come with the package. Others are made when they are
        first asked for, which can take minutes, and kept on disk.

        Raises
        ------
        NoReferenceError
            If there is no way to sample the posterior, or if the samples fail a check.
        UsageError
            If n is more than there are.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise UsageError(f"the number of samples is 1 or more, not {n!r}")
        number = int(observation)
        _pair(self, observation)  # says at once if there is none
        ours = self.name in registry.TASKS.names() and registry.TASKS.get(self.name) is self
        found = references.certificate(references.SHIPPED, self.name, number) if ours else None
        if found:
            samples = references.samples(references.SHIPPED, found)
        else:  # by name, since the samplers lie above this layer
            library = importlib.import_module("sbibench.reference.library")
            samples = library.obtain(self, number)[1]
        if n > len(samples):
            raise UsageError(
                f"a reference has {len(samples)} samples, not {n}; sb.reference.sample draws more"
            )
        return np.array(samples[:n])

    def problem(
        self,
        observation: int,
        budget: int,
        time_limit: float | None = None,
        progress: Progress = silent,
    ) -> Problem:
        """Return what an algorithm may see: prior, counted simulator, x_obs.

        Parameters
        ----------
        observation
            Its number, counted from 1.
        budget, time_limit, progress
            As for `problem_at`.
        """
        return self.problem_at(self.observation(observation), budget, time_limit, progress)

    def problem_at(
        self,
        x: np.ndarray,
        budget: int,
        time_limit: float | None = None,
        progress: Progress = silent,
    ) -> Problem:
        """Return the problem of any data x [p], canonical observation or not.

        Parameters
        ----------
        x
            The data that the posterior is wanted for.
        budget
            The number of simulations allowed, at least 1.
        time_limit
            Seconds from now until the algorithm must stop; None for no limit.
        progress
            Called as (stage, done, total) while the algorithm works.
        """
        if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 1:
            raise UsageError(
                f"a budget is a whole number of simulations, 1 or more, not {budget!r}"
            )
        if time_limit is not None and not time_limit > 0:
            raise UsageError(f"a time limit is a positive number of seconds, not {time_limit!r}")
        simulator = Simulator(
            self.forward, (self.d, self.p), int(budget), Deadline.after(time_limit), progress
        )

        def oracle(key: Any, n: int) -> np.ndarray:  # by name, since the samplers lie above
            drawn: np.ndarray = importlib.import_module("sbibench.reference").sample(
                self, key, x, n
            )
            return drawn

        return Problem(self.prior, simulator, x.astype(np.float32), progress, oracle)


def _observations(name: str, given: Any, x_obs: Any) -> np.ndarray:
    """Return the observations [m, p], float64, of what was given."""
    if (x_obs is None) == (len(given) == 0):
        raise UsageError(f"{name}: give one of x_obs [p] and observations [m, p]")
    if x_obs is None:
        return numbers(given, f"{name}: observations")
    x = numbers(x_obs, f"{name}: x_obs")
    if x.ndim == 0:
        x = x[None]
    if x.ndim != 1 or not len(x):
        raise UsageError(
            f"{name}: x_obs is one vector [p], its shape is {x.shape}; np.ravel makes one, and the "
            "simulator's data must be ravelled alike"
        )
    if not np.isfinite(x).all():
        where = np.flatnonzero(~np.isfinite(x)).tolist()
        raise UsageError(f"{name}: x_obs is not finite at index {where}; replace or remove these")
    return x[None]


def _pair(task: Task, observation: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return θ [d], if it is known, and x [p] of an observation."""
    if isinstance(observation, bool) or not isinstance(observation, int | np.integer):
        raise UsageError(f"an observation is a whole number, not {observation!r}")
    if not 1 <= observation < 2**31:
        raise UsageError(f"observations are numbered from 1, up to 2147483647: {observation}")
    if observation <= len(task.observations):
        theta = task.thetas_true[observation - 1] if len(task.thetas_true) else None
        return theta, task.observations[observation - 1]
    return _simulated(task, int(observation))


@lru_cache(maxsize=128)
def _simulated(task: Task, observation: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first finite simulation from the prior, with the number as seed."""
    prior_key, key = jax.random.split(jax.random.key(observation))
    thetas = rows(task.prior).sample(prior_key, ATTEMPTS).astype(np.float64)
    xs = task.forward(key, thetas).astype(np.float32).astype(np.float64)
    valid = np.flatnonzero(np.isfinite(xs).all(1))
    if not len(valid):
        raise NoReferenceError(
            f"{task.name}, observation {observation}: none of {ATTEMPTS} simulations is finite"
        )
    return thetas[valid[0]], xs[valid[0]]
