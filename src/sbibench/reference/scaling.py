"""Coordinates in which draws are centred and uncorrelated."""

from typing import NamedTuple

import numpy as np

from sbibench.core.errors import SamplingError


class Scaling(NamedTuple):
    """u = mean + factor v, where v has zero mean and unit covariance."""

    mean: np.ndarray
    factor: np.ndarray

    @classmethod
    def fit(cls, us: np.ndarray) -> "Scaling":
        """Return the scaling for rows u [n, d].

        Raises
        ------
        SamplingError
            If the rows lie in a subspace.
        """
        try:
            return cls(us.mean(0), np.linalg.cholesky(np.atleast_2d(np.cov(us.T))))
        except np.linalg.LinAlgError as error:
            raise SamplingError(
                f"{len(np.unique(us, axis=0))} different draws of the posterior do not span its "
                "dimensions: its mass was not found"
            ) from error

    def forward(self, us: np.ndarray) -> np.ndarray:
        """Return rows v [n, d] of rows u [n, d]."""
        return np.asarray(np.linalg.solve(self.factor, (us - self.mean).T).T)
