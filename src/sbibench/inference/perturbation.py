"""The proposal of population Monte Carlo: draw a particle by its weight and move it a little."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng

ROUND = 100_000
"""Draws at a time at most."""

MAX_DRAWS = 1000
"""How many draws may be spent on each proposal inside the support (and as for 1000 at least)."""

FLOOR = 1e-10
"""Least eigenvalue of the correlations: fewer particles than parameters span less than R^d."""


def effective_size(log_weights: np.ndarray) -> float:
    """Return 1 / Σ w² for log weights [m] of sum one (Kish's effective sample size)."""
    return float(np.exp(-logsumexp(2 * log_weights)))


def silverman(size: float, d: int) -> float:
    """Return Silverman's rule: the bandwidth in units of the deviation, for `size` points in R^d.

    Silverman 1986, section 4.3.2.
    """
    return float((4 / (size * (d + 2))) ** (1 / (d + 4)))


@dataclass(frozen=True)
class Perturbation:
    """The mixture Σ w_j N(θ; θ_j, R Rᵀ) around particles θ_j [m, d], with root R [d, d]."""

    centres: np.ndarray
    log_weights: np.ndarray
    root: np.ndarray

    @classmethod
    def fit(
        cls, thetas: np.ndarray, log_weights: np.ndarray, scale: float, *, weighted: bool
    ) -> "Perturbation":
        """Return the mixture with `scale` times the covariance of the particles, weighted or not.

        Raises
        ------
        SamplingError
            If the particles do not differ in some parameter.
        """
        thetas = thetas.astype(np.float64)
        weights = np.exp(log_weights) if weighted else np.full(len(thetas), 1 / len(thetas))
        centred = thetas - weights @ thetas
        deviations = np.sqrt(weights @ centred**2)
        if (deviations <= 1e-7 * np.abs(thetas).max(0)).any():
            raise SamplingError("all particles share the value of a parameter")
        z = centred / deviations
        values, vectors = np.linalg.eigh((weights * z.T) @ z)
        root = deviations[:, None] * vectors * np.sqrt(scale * np.maximum(values, FLOOR))
        return cls(thetas, log_weights, root)

    def propose(
        self, key: PRNGKeyArray, prior: Distribution, n: int, deadline: Deadline
    ) -> np.ndarray:
        """Draw n parameters [n, d], float32, inside the prior's support.

        A draw outside is replaced by one around another particle. So all draws share one
        normalising constant, and weights by `log_density` need no correction.

        Raises
        ------
        SamplingError
            If the cap on draws comes first.
        DeadlineError
            If the time is over.
        """
        rng, rows = numpy_rng(key), priors.rows(prior)
        weights = np.exp(self.log_weights)
        weights /= weights.sum()
        kept: list[np.ndarray] = []
        found = drawn = 0
        while found < n:
            if drawn >= MAX_DRAWS * max(n, 1000):
                raise SamplingError(f"{found} of {drawn} perturbed particles lie in the support")
            if drawn:
                deadline.check("perturbing particles")
            rate = found / drawn if found else 1.0
            size = min(max(math.ceil((n - found) / rate), drawn, 1000), ROUND)
            chosen = self.centres[rng.choice(len(weights), size=size, p=weights)]
            moved = chosen + rng.normal(size=chosen.shape) @ self.root.T
            kept.append(moved[rows.inside(moved)])
            found += len(kept[-1])
            drawn += size
        return rows.single(np.concatenate(kept)[:n])

    def log_density(self, thetas: np.ndarray) -> np.ndarray:
        """Return the log density [n] of the mixture at θ [n, d], not cut to any support."""
        inverse = np.linalg.inv(self.root).T
        centres = self.centres @ inverse
        constant = math.log(abs(np.linalg.det(self.root)))
        constant += self.root.shape[0] / 2 * math.log(2 * math.pi)
        blocks = [
            logsumexp(self.log_weights - cdist(block @ inverse, centres, "sqeuclidean") / 2, axis=1)
            for block in np.array_split(thetas.astype(np.float64), len(thetas) // 1000 + 1)
        ]
        return np.asarray(np.concatenate(blocks) - constant)
