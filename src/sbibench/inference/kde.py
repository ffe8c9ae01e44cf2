"""Kernel density estimation: from few weighted points to any number of samples."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.inference.standardize import Standardizer

BANDWIDTHS = np.linspace(0.1, 0.5, 21)
"""Candidates, in units of the points' deviation per coordinate: the range that the public code of
Lueckmann et al. 2021 searches, also by 20-fold cross-validation."""


@dataclass(frozen=True)
class KDE:
    """A mixture of Gaussians of one shape around points [m, d], with deviations [d]."""

    points: np.ndarray
    deviations: np.ndarray
    bandwidth: float

    @classmethod
    def fit(cls, key: PRNGKeyArray, points: np.ndarray, folds: int = 20) -> "KDE":
        """Return the estimate for points [m, d] with the bandwidth of best held-out likelihood.

        Each coordinate is measured in units of its own deviation, so that parameters of different
        scale get bandwidths of different scale.

        Raises
        ------
        UsageError
            If there are fewer than two points.
        """
        if len(points) < 2:
            raise UsageError(f"a kernel density estimate needs 2 points or more, not {len(points)}")
        scaling = Standardizer.fit(points)
        z = scaling.forward(points.astype(np.float64))
        split = KFold(
            min(folds, len(z)),
            shuffle=True,
            random_state=int(numpy_rng(key).integers(2**31)),
        )
        search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=split)
        search.fit(z)
        bandwidth = float(search.best_params_["bandwidth"])
        return cls(points, bandwidth * np.asarray(scaling.scale, np.float64), bandwidth)

    def sample(self, key: PRNGKeyArray, n: int) -> np.ndarray:
        """Draw n samples [n, d], float64."""
        rng = numpy_rng(key)
        centres = self.points[rng.integers(len(self.points), size=n)]
        return centres + self.deviations * rng.normal(size=centres.shape)
