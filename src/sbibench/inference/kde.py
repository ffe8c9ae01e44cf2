"""Kernel density estimation: from few weighted points to any number of samples."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.spatial.distance import cdist

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng

BANDWIDTHS = np.concatenate(
    [np.linspace(0.01, 0.09, 9), np.linspace(0.1, 0.5, 21), np.linspace(0.55, 1.5, 20)]
)
"""Candidates, in units of the points' deviation per coordinate. From 0.1 to 0.5 they are the range
that the public code of Lueckmann et al. 2021 searches, also by 20-fold cross-validation, in units
of the deviation of all coordinates together. Posteriors with modes that are narrow for the distance
between them need less, a hundred points in ten dimensions more (Scott's rule says 0.72)."""


def _deviations(points: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the deviation of each column of points [m, d]; 1 for one that is constant."""
    mean = np.average(points, axis=0, weights=weights)
    deviations = np.sqrt(np.average((points - mean) ** 2, axis=0, weights=weights))
    return np.where(deviations <= 1e-12 * np.abs(points).max(0), 1.0, deviations)


def _log_likelihoods(
    z: np.ndarray, weights: np.ndarray, held_out: np.ndarray, rest: np.ndarray
) -> np.ndarray:
    """Return for each bandwidth the weighted log likelihood of some points [m, d] given others."""
    squares = cdist(z[held_out], z[rest], "sqeuclidean")
    # Relative to the nearest point, whose term is then 1: nothing underflows to log 0.
    nearest = squares.min(1)
    farther = squares - nearest[:, None]
    others, own = weights[rest] / weights[rest].sum(), weights[held_out]
    return np.array(
        [
            own @ (np.log(np.exp(farther / (-2 * h**2)) @ others) - nearest / (2 * h**2))
            - own.sum() * z.shape[1] * np.log(h)
            for h in BANDWIDTHS
        ]
    )


@dataclass(frozen=True)
class KDE:
    """A mixture of Gaussians of one shape around points [m, d], with deviations [d].

    The weights [m] of the points sum to one; none means that all points weigh the same.
    """

    points: np.ndarray
    deviations: np.ndarray
    bandwidth: float
    weights: np.ndarray | None = None

    @classmethod
    def fit(
        cls,
        key: PRNGKeyArray,
        points: np.ndarray,
        weights: np.ndarray | None = None,
        folds: int = 20,
    ) -> "KDE":
        """Return the estimate for points [m, d] with the bandwidth of best held-out likelihood.

        Each coordinate is measured in units of its own deviation, so that parameters of different
        scale get bandwidths of different scale. With weights [m], which are 0 or more, a point
        counts by its weight in the deviations, in the likelihood and in the mixture.

        Raises
        ------
        UsageError
            If there are fewer than two points, or fewer with a weight above 0.
        """
        if weights is not None:
            points, weights = points[weights > 0], weights[weights > 0] / weights.sum()
        if len(points) < 2:
            raise UsageError(f"a kernel density estimate needs 2 points or more, not {len(points)}")
        deviations = _deviations(points.astype(np.float64), weights)
        z = points / deviations
        # By hand: importing scikit-learn takes longer than a whole fit.
        held_out = np.array_split(numpy_rng(key).permutation(len(z)), min(folds, len(z)))
        equal = np.ones(len(z)) if weights is None else weights
        total = sum(
            _log_likelihoods(z, equal, part, np.setdiff1d(np.arange(len(z)), part))
            for part in held_out
        )
        bandwidth = float(BANDWIDTHS[np.argmax(total)])
        return cls(points, bandwidth * deviations, bandwidth, weights)

    def sample(self, key: PRNGKeyArray, n: int) -> np.ndarray:
        """Draw n samples [n, d], float64."""
        rng = numpy_rng(key)
        centres = self.points[rng.choice(len(self.points), size=n, p=self.weights)]
        return centres + self.deviations * rng.normal(size=centres.shape)
