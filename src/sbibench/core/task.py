"""A task: a model with a prior, observations, and what is known of its posterior. A value."""

import importlib
import re
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sbibench.core import references, registry
from sbibench.core.deadline import Deadline
from sbibench.core.described import probed
from sbibench.core.errors import UsageError
from sbibench.core.fingerprint import fingerprint
from sbibench.core.forward import Batched, Forward, Simulate, SimulateBatch, Vmapped
from sbibench.core.numbered import pair
from sbibench.core.outputs import numbers
from sbibench.core.priors import check_prior
from sbibench.core.problem import Problem, Progress, silent
from sbibench.core.scipy_priors import as_prior
from sbibench.core.simulator import Simulator
from sbibench.core.task_fields import check_shapes, names, observations

REFERENCE_SIZE = 10_000
"""How many samples of the true posterior a comparison uses (as in Lueckmann et al. 2021)."""


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
        if not (isinstance(self.name, str) and re.fullmatch(r"\w[\w .+-]*", self.name)):
            raise UsageError(f"a task's name is letters, digits, _ . + -, not {self.name!r}")
        self._set("prior", as_prior(self.prior))
        check_prior(self.prior)
        self._set("label", self.label or self.name)
        self._set("observations", observations(self.name, self.observations, x_obs))
        if len(self.thetas_true):
            self._set("thetas_true", np.atleast_2d(numbers(self.thetas_true, "thetas_true")))
        for what, n, stem in (
            ("parameter_names", self.prior.event_shape[0], "theta"),
            ("data_names", self.observations.shape[1], "x"),
        ):
            self._set(what, names(self.name, what, getattr(self, what), n, stem))
        check_shapes(self)
        self._set("forward", self._forward())

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

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
        return np.array(pair(self, observation)[1])

    def true_parameters(self, observation: int) -> np.ndarray:
        """Return the parameters θ [d] that generated this observation, float64.

        Raises
        ------
        UsageError
            If nobody knows them: the observation came without `thetas_true`.
        """
        theta = pair(self, observation)[0]
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
        pair(self, observation)  # says at once if there is none
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
        simulator = Simulator(
            self.forward, (self.d, self.p), budget, Deadline.after(time_limit), progress
        )

        def oracle(key: Any, n: int) -> np.ndarray:  # by name, since the samplers lie above
            drawn: np.ndarray = importlib.import_module("sbibench.reference").sample(
                self, key, x, n
            )
            return drawn

        return Problem(self.prior, simulator, x.astype(np.float32), progress, oracle)
