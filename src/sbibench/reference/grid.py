"""Draws of a posterior of one or two parameters from a fine grid."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info
from sbibench.reference.target import Target

COARSE, FINE = 256, 640
"""Cells along each axis while the mass is being found, and in the end."""

NEGLIGIBLE = 30.0
"""Cells whose log density is this far below the highest are left out."""


def grid(key: PRNGKeyArray, target: Target, n: int) -> tuple[np.ndarray, Info]:
    """Draw n samples θ [n, d], d at most 2, as if the density were constant in each cell.

    The grid first spans the prior, then what is left of it around the mass.

    Raises
    ------
    SamplingError
        If the density is 0 everywhere on the grid.
    """
    prior_key, rng_key = jax.random.split(key)
    prior = target.prior_draws(prior_key, 20_000)
    low, high = prior.min(0), prior.max(0)
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    for cells in (COARSE, COARSE, COARSE, FINE):
        axes = [
            a + (b - a) * (np.arange(cells) + 0.5) / cells for a, b in zip(low, high, strict=True)
        ]
        us = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
        log_f = target.log_density(us)
        if not np.isfinite(log_f.max()):
            raise SamplingError("the density is 0 everywhere on the grid")
        size = (high - low) / cells
        mass = us[log_f > log_f.max() - NEGLIGIBLE]
        low, high = mass.min(0) - 1.5 * size, mass.max(0) + 1.5 * size
    probability = np.exp(log_f - log_f.max())
    rng = numpy_rng(rng_key)
    at = rng.choice(len(us), n, p=probability / probability.sum())
    drawn = us[at] + size * rng.uniform(-0.5, 0.5, (n, us.shape[1]))
    # A cell on an edge reaches over it: what falls outside goes back to where the density was read.
    outside = ~np.isfinite(target.log_density(drawn))
    drawn[outside] = us[at[outside]]
    return target.thetas(drawn), {"cells": len(us)}
