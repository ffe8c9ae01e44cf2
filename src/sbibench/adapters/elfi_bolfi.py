"""BOLFI of the toolbox ELFI: Bayesian optimisation of the distance, a Gaussian process as model.

Gutmann & Corander 2016. The process learns the log distance of simulations from x_obs as a function
of the parameters; the next parameter is where its lower confidence bound is least. The likelihood
is the probability that the distance is below a threshold h: Φ((h − mean) / deviation).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import elfi
import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.standardize import note_constant
from sbibench.toolboxes.elfi import CubePrior, Distances, Process, cube_prior
from sbibench.toolboxes.guest import guest

STEP = 0.1
"""The deviation of a proposal of Metropolis in the unit cube, as in ELFI."""


@dataclass(frozen=True)
class ElfiBOLFI:
    """Settings of ELFI's BOLFI; names are its own, and values but those of the chains.

    Attributes
    ----------
    max_evidence
        Simulations that the Gaussian process is given at most: the rest of the budget is not used,
        since its work grows with their cube.
    initial_evidence
        How many of them come from the prior; by default 2^d + 1, at least 10, at most half.
    update_interval
        After how many simulations the parameters of the process are fitted anew.
    exploration_rate
        Of the acquisition, which is a lower confidence bound.
    acq_noise_var
        Variance of the noise that is added to a place where the bound is least, in the unit cube.
    threshold
        The log distance h that is near enough; by default the least mean of the process.
    algorithm
        How the posterior is sampled; ELFI's own default is "nuts", which asks in Python for up to
        63 gradients for each draw.
    n_chains
        How many chains, each from another one of the best evidence.
    warmup
        Steps of each that are dropped.
    invalid
        What to do with simulations that are not finite: "drop" takes them for as far away as the
        farthest, or "refuse".
    """

    max_evidence: int = 200
    initial_evidence: int | None = None
    update_interval: int = 10
    exploration_rate: float = 10.0
    acq_noise_var: float = 0.0
    threshold: float | None = None
    algorithm: Literal["metropolis", "nuts"] = "metropolis"
    n_chains: int = 20
    warmup: int = 500
    invalid: InvalidPolicy = "drop"
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("max_evidence", "update_interval", "n_chains", "warmup"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is 1 or more, not {getattr(self, name)}")
        if self.initial_evidence is not None and self.initial_evidence < 2:
            raise UsageError(f"initial_evidence is 2 or more, not {self.initial_evidence}")
        if not (self.exploration_rate > 0 and self.acq_noise_var >= 0):
            raise UsageError(
                "exploration_rate is above 0 and acq_noise_var 0 or more, not "
                f"{self.exploration_rate} and {self.acq_noise_var}"
            )

    def _counts(self, problem: Problem) -> tuple[int, int]:
        """Return how many simulations come from the prior, and how many there are in all."""
        total = min(problem.simulator.left, self.max_evidence)
        first = self.initial_evidence or min(max(10, 2**problem.d + 1), total // 2)
        if total < 10 or first >= total:
            raise UsageError(
                f"of {total} simulations {first} would come from the prior; BOLFI needs 10 in all "
                "and some besides those: raise the budget or max_evidence, or lower "
                "initial_evidence"
            )
        return first, total

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "BolfiPosterior":
        """Simulate where the distance may be least, until `max_evidence` or the budget is used.

        Raises
        ------
        UsageError
            If parameters are not independent under the prior, or the budget is too small; nothing
            is simulated then.
        InvalidSimulationsError
            If no simulation from the prior is finite, or by the policy `invalid`.
        """
        first, total = self._counts(problem)
        problem.simulator.demand()
        prior = cube_prior(problem.prior)
        prior_key, first_key, simulator_key, guest_key = random.split(key, 4)
        distances = Distances(simulator_key, problem, prior, self.invalid)
        data = problem.from_prior(prior_key, first_key, first)
        us, ys = prior.cube(data.thetas.astype(np.float64)), distances.first(data)
        info: Info = {}
        with guest(guest_key, info) as seed:
            names = [f"p{i:04d}" for i in range(problem.d)]
            process = Process(names)
            bolfi = self._bolfi(names, process, distances, prior, us, ys, seed)
            bolfi.set_objective(total)
            while not bolfi.finished and not problem.deadline.passed:
                bolfi.iterate()
                problem.progress("simulating", bolfi.n_evidence, total)
            if not bolfi.finished:
                info["stopped"] = "deadline"
            native = elfi.methods.posteriors.BolfiPosterior(
                process, threshold=self.threshold, prior=prior, seed=seed
            )
        info |= {"evidence": process.n_evidence, "threshold": float(native.threshold)}
        note_constant(info, distances.xs)
        return BolfiPosterior(self, native, prior, problem, info)

    def _bolfi(
        self,
        names: list[str],
        process: Process,
        distances: Distances,
        prior: CubePrior,
        us: np.ndarray,
        ys: np.ndarray,
        seed: int,
    ) -> Any:
        """Return ELFI's object, which has seen the simulations from the prior."""
        model = elfi.ElfiModel()
        nodes = [elfi.Prior("uniform", 0, 1, model=model, name=name) for name in names]
        elfi.Simulator(distances, *nodes, observed=np.zeros(1), name="distance")
        acquisition = elfi.methods.bo.acquisition.LCBSC(
            process,
            prior=prior,
            noise_var=self.acq_noise_var,
            exploration_rate=self.exploration_rate,
            seed=seed,
        )
        return elfi.BOLFI(
            model,
            target_name="distance",
            initial_evidence=dict(zip(names, us.T, strict=True)) | {"distance": ys},
            update_interval=self.update_interval,
            target_model=process,
            acquisition_method=acquisition,
            seed=seed,
        )


class BolfiPosterior:
    """Chains of ELFI on the posterior that the Gaussian process stands for."""

    amortized = False

    def __init__(
        self, settings: ElfiBOLFI, native: Any, prior: CubePrior, problem: Problem, info: Info
    ) -> None:
        self._settings = settings
        self._native = native
        self._prior = prior
        self._rows = priors.rows(problem.prior)
        self._x_obs = problem.x_obs
        self._deadline = problem.deadline
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32; x [p] may only be the observation of the fit.

        Raises
        ------
        SamplingError
            If ELFI can't begin a chain.
        DeadlineError
            If the time is over, unless it had already ended the fit.
        """
        check_count(n)
        check_same_x(x, self._x_obs)
        chains = self._settings.n_chains
        model = self._native.model
        best = np.asarray(model.X)[np.argsort(np.asarray(model.Y)[:, 0], kind="stable")]
        with guest(key, self.info) as seed:
            places = [u for u in best if np.isfinite(self._target(u))][:chains]
            if not places:
                raise SamplingError("BOLFI: the posterior is 0 at all evidence; set a threshold")
            try:
                drawn = [
                    self._chain(places[i % len(places)], -(-n // chains), (seed + i) % 2**31)
                    for i in range(chains)
                ]
            except (ValueError, SystemExit) as error:  # ELFI leaves the interpreter
                raise SamplingError(f"ELFI's chains: {error}") from error
        us = np.stack(drawn, 1).reshape(-1, best.shape[1])[:n]
        return self._rows.single(self._prior.thetas(us))

    def _target(self, u: Any) -> float:
        if self.info.get("stopped") != "deadline":
            self._deadline.check("sampling chains")
        found: float = np.asarray(self._native.logpdf(u)).item()
        return found  # of one parameter ELFI returns an array

    def _gradient(self, u: Any) -> np.ndarray:
        return np.asarray(self._native.gradient_logpdf(u)).reshape(np.shape(u))

    def _chain(self, place: np.ndarray, steps: int, seed: int) -> np.ndarray:
        """Return steps [steps, d] of one chain after its warm-up."""
        warmup, mcmc = self._settings.warmup, elfi.methods.mcmc
        if self._settings.algorithm == "metropolis":
            sigma = np.full(len(place), STEP)
            us = mcmc.metropolis(steps, place, self._target, sigma, warmup, seed=seed)
        else:
            steps += warmup
            us = mcmc.nuts(steps, place, self._target, self._gradient, warmup, seed=seed)[warmup:]
        found: np.ndarray = us
        return found


ALGORITHM = ElfiBOLFI
