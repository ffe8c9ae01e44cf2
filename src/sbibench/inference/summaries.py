"""Semi-automatic summaries: the posterior mean as a regression on simulations sees it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.standardize import Standardizer

Summaries = Literal["none", "semi_automatic"]
"""What the distance to the observation is measured between: the data, or their summaries."""


def _powers(z: np.ndarray, degree: int) -> np.ndarray:
    return np.column_stack([z**k for k in range(1, degree + 1)])


@dataclass(frozen=True)
class SemiAutomatic:
    """Summaries s(x) = powers of z-scored x, times coefficients [degree p, d]."""

    scaling: Standardizer
    degree: int
    coefficients: np.ndarray

    @classmethod
    def fit(cls, us: np.ndarray, xs: np.ndarray, degree: int) -> "SemiAutomatic":
        """Regress parameters u [n, d] in R^d on data x [n, p] by least squares.

        As in Fearnhead & Prangle 2012, section 3: the fitted value estimates the posterior mean,
        the summary that loses least about it. The features are the powers of each data value up to
        `degree`, without products of different values, of which 100 values would have 176 851 at
        degree 3. Parameters are z-scored, so that none counts for more by its unit. Constant
        columns get no coefficient, and of ambiguous ones the solution of smallest norm is taken.
        """
        scaling = Standardizer.fit(xs)
        z = Standardizer.fit(us).forward(us)
        features = _powers(scaling.forward(xs.astype(np.float64)), degree)
        centred = features - features.mean(0)
        return cls(scaling, degree, np.linalg.lstsq(centred, z)[0])

    def __call__(self, xs: np.ndarray) -> np.ndarray:
        """Return the summaries [n, d] of finite x [n, p], up to a constant shift."""
        powers = _powers(self.scaling.forward(xs.astype(np.float64)), self.degree)
        return np.asarray(powers @ self.coefficients)


def pilot(
    key: PRNGKeyArray, problem: Problem, size: int, degree: int, invalid: InvalidPolicy
) -> SemiAutomatic:
    """Fit summaries on `size` simulations from the prior, which are used for nothing else.

    Raises
    ------
    InvalidSimulationsError
        If no simulation is finite, or by the policy `invalid`.
    """
    prior_key, simulator_key = random.split(key)
    rows = priors.rows(problem.prior)
    simulations = problem.from_prior(prior_key, simulator_key, size).accept(invalid)
    us = rows.from_support(simulations.thetas.astype(np.float64))
    return SemiAutomatic.fit(us, simulations.xs, degree)


def features(summaries: SemiAutomatic | None, xs: np.ndarray) -> np.ndarray:
    """Return what distances are measured between [n, k]: summaries of x [n, p], or x itself."""
    return xs if summaries is None else summaries(xs)
