"""From a few weighted parameters to any number of samples, smoothed or not."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.keys import numpy_rng
from sbibench.inference.kde import KDE


@dataclass(frozen=True)
class Particles:
    """Parameters θ [m, d] in the prior's support with weights [m] that sum to one.

    No weights mean equal ones. The kernel density estimate is made in unconstrained space, so no
    sample leaves the support; without one the particles themselves are drawn with replacement.
    """

    prior: Distribution
    thetas: np.ndarray
    weights: np.ndarray | None = None
    kde: KDE | None = None

    def smoothed(self, key: PRNGKeyArray, *, weighted: bool = True) -> "Particles":
        """Return these particles with a kernel density estimate around them, weighted or not.

        Raises
        ------
        UsageError
            If fewer than two have a weight above 0.
        """
        points = priors.rows(self.prior).from_support(self.thetas.astype(np.float64))
        return replace(self, kde=KDE.fit(key, points, self.weights if weighted else None))

    @property
    def bandwidth(self) -> float:
        """The bandwidth in units of the particles' deviations, 0 without an estimate."""
        return 0.0 if self.kde is None else self.kde.bandwidth

    def sample(self, key: PRNGKeyArray, n: int) -> np.ndarray:
        """Draw n samples [n, d], float32."""
        if self.kde is None:
            return self.thetas[numpy_rng(key).choice(len(self.thetas), size=n, p=self.weights)]
        rows = priors.rows(self.prior)
        return rows.single(rows.to_support(self.kde.sample(key, n)))
