"""A neural estimate of the posterior, cut to the prior's support."""

from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem, checked_x
from sbibench.inference.flows import Flow
from sbibench.inference.standardize import constant_columns
from sbibench.inference.training import Loss, Training, train

PROPOSALS = 10_000
"""Draws at a time."""

HITS = 2000
"""Draws inside the support from which the mass there is known to about 2 %, or much better."""


class TruncatedPosterior:
    """q(θ | x) restricted to the prior's support and normalised there.

    A density estimate on R^d leaks mass out of the support. Draws outside are rejected, and the
    density inside is divided by the share of q's mass that lies inside (Greenberg et al. 2019,
    section 4 on leakage), estimated from draws of q.

    Parameters
    ----------
    density, params
        The estimate: an object with `sample(params, x, key)` and `log_prob(params, x, θ)`, such as
        a `Flow`, and its parameters.
    problem
        Its prior and observation.
    info
        Facts about the fit; the acceptance rate of the last call of `sample` is added.
    max_proposals
        How many draws of q one call may use, which also bounds its time.
    """

    def __init__(
        self, density: Any, params: Any, problem: Problem, info: Info, max_proposals: int
    ) -> None:
        self._density = density
        self.params = params
        self._rows = priors.rows(problem.prior)
        self._problem = problem
        self._max_proposals = max_proposals
        self._log_mass: dict[bytes, float] = {}
        self.info = info
        self.amortized = True
        """Whether it may be asked at another x; a sequential fit sets it to False."""

    def _x(self, x: Any) -> np.ndarray:
        if not self.amortized:
            check_same_x(x, self._problem.x_obs)
        return self._problem.x_obs if x is None else checked_x(x, self._problem.x_obs)

    def propose(self, key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
        """Draw n rows θ [n, d] of q(θ | x), inside the support or not."""
        thetas: np.ndarray = map_rows(self._density.sample, fixed=(self.params, x), key=key, n=n)
        return thetas

    def _propose(self, key: PRNGKeyArray, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        thetas = self.propose(key, x, n)
        return thetas, self._rows.inside(thetas)

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p], by default the x_obs it was fitted for.

        Raises
        ------
        UsageError
            If n < 1 or x is not a finite vector of the right length.
        SamplingError
            If the cap on proposals comes first; says how many were accepted.
        """
        x = self._x(x)
        check_count(n)
        kept: list[np.ndarray] = []
        accepted = proposed = 0
        while accepted < n:
            size = min(max(n, 1000), PROPOSALS)
            thetas, inside = self._propose(random.fold_in(key, proposed), x, size)
            kept.append(thetas[inside])
            accepted += int(inside.sum())
            proposed += size
            self._problem.progress("sampling", min(accepted, n), n)
            if accepted < n and proposed >= self._max_proposals:
                raise SamplingError(
                    f"{accepted} of {n} samples after {proposed} draws: only "
                    f"{accepted / proposed:.2g} of the estimate's mass lies inside the prior's "
                    "support"
                )
        self.info["acceptance_rate"] = accepted / proposed
        return np.concatenate(kept)[:n]

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return log densities [n] of rows θ [n, d] at x [p]; -inf outside the support.

        Raises
        ------
        SamplingError
            If not one draw of the estimate lies inside the support: there is no density then.
        """
        x = self._x(x)
        thetas = np.asarray(thetas, np.float64)
        if x.tobytes() not in self._log_mass:
            self._log_mass[x.tobytes()] = self._log_mass_inside(x)
        log_q = map_rows(self._density.log_prob, thetas.astype(np.float32), fixed=(self.params, x))
        inside = self._rows.inside(thetas)
        return np.where(inside, log_q - self._log_mass[x.tobytes()], -np.inf)

    def _log_mass_inside(self, x: np.ndarray) -> float:
        # Fixed keys: the density is a function, asked twice it answers the same.
        hits = draws = 0
        while draws < 10 * PROPOSALS or (hits < HITS and draws < self._max_proposals):
            _, inside = self._propose(random.fold_in(random.key(0), draws), x, PROPOSALS)
            hits, draws = hits + int(inside.sum()), draws + PROPOSALS
        if not hits:
            raise SamplingError("none of the estimate's mass lies inside the prior's support")
        return float(np.log(hits / draws))


def check_proposals(max_proposals: int) -> None:
    """Raise `UsageError` unless this is a cap on proposals."""
    if max_proposals < 1:
        raise UsageError(f"max_proposals is 1 or more, not {max_proposals}")


def fit_flow(
    key: PRNGKeyArray,
    problem: Problem,
    flow: Flow,
    loss: Loss,
    rows: tuple[np.ndarray, ...],
    training: Training,
    max_proposals: int,
    previous: TruncatedPosterior | None = None,
) -> TruncatedPosterior:
    """Train a flow on rows (θ [n, d], x [n, p], ...) and return its posterior.

    Parameters
    ----------
    loss
        What is minimised; it takes these rows.
    previous
        A posterior of the same flow, from whose weights and scalings the training starts.
    """
    init_key, train_key = random.split(key)
    start = previous.params if previous else flow.init(init_key, rows[0], rows[1])
    params, info = train(train_key, loss, start, rows, training, problem.deadline, problem.progress)
    constant = constant_columns(rows[1])
    if constant:
        info["constant_columns"] = ",".join(map(str, constant))
    return TruncatedPosterior(flow, params, problem, info, max_proposals)
