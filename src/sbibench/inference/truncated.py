"""A neural estimate of the posterior, cut to the prior's support."""

from typing import Any

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError
from sbibench.core.posterior import Info
from sbibench.core.problem import Problem, checked_x
from sbibench.inference.flows import Flow, FlowParams

PROPOSALS = 10_000
"""Draws at a time."""


class TruncatedPosterior:
    """q(θ | x) restricted to the prior's support and normalised there.

    A density estimate on R^d leaks mass out of the support. Draws outside are rejected, and the
    density inside is divided by the share of q's mass that lies inside (Greenberg et al. 2019,
    section 4 on leakage), estimated from draws of q.

    Parameters
    ----------
    flow, params
        The density estimate.
    problem
        Its prior, observation and deadline.
    info
        Facts about the fit; the acceptance rate of the last call of `sample` is added.
    max_proposals
        How many draws of q one call of `sample` may use.
    """

    amortized = True

    def __init__(
        self, flow: Flow, params: FlowParams, problem: Problem, info: Info, max_proposals: int
    ) -> None:
        self._flow = flow
        self._params = params
        self._rows = priors.rows(problem.prior)
        self._problem = problem
        self._max_proposals = max_proposals
        self._log_mass: dict[bytes, float] = {}
        self.info = info

    def _x(self, x: Any) -> np.ndarray:
        return self._problem.x_obs if x is None else checked_x(x, self._problem.x_obs)

    def _propose(self, key: PRNGKeyArray, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        thetas = map_rows(self._flow.sample, fixed=(self._params, x), key=key, n=n)
        return thetas, self._rows.inside(thetas)

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32, at x [p], by default the x_obs it was fitted for.

        Raises
        ------
        SamplingError
            If the cap on proposals or the deadline comes first; says how many were accepted.
        """
        x = self._x(x)
        kept: list[np.ndarray] = []
        accepted = proposed = 0
        while accepted < n:
            size = min(max(n, 1000), PROPOSALS)
            thetas, inside = self._propose(random.fold_in(key, proposed), x, size)
            kept.append(thetas[inside])
            accepted += int(inside.sum())
            proposed += size
            self._problem.progress("sampling", min(accepted, n), n)
            over = proposed >= self._max_proposals
            if accepted < n and (over or self._problem.deadline.passed):
                raise SamplingError(
                    f"{accepted} of {n} samples after {proposed} draws"
                    f"{'' if over else ' and the time limit'}: only {accepted / proposed:.2g} of "
                    "the estimate's mass lies inside the prior's support"
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
        thetas = np.asarray(thetas, np.float32)
        if x.tobytes() not in self._log_mass:
            # A fixed key: the density is a function, asked twice it answers the same.
            _, inside = self._propose(random.key(0), x, 10 * PROPOSALS)
            if not inside.any():
                raise SamplingError("none of the estimate's mass lies inside the prior's support")
            self._log_mass[x.tobytes()] = float(np.log(inside.mean()))
        log_q = (
            map_rows(self._flow.log_prob, thetas, fixed=(self._params, x))
            - self._log_mass[x.tobytes()]
        )
        return np.where(self._rows.inside(thetas), log_q, -np.inf)
