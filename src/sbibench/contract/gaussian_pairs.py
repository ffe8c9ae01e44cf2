"""Pairs of a Gaussian model whose posterior is known, and posteriors that are wrong in one way.

θ ~ N(0, I), x ~ N(θ, I), so the posterior is N(x / 2, I / 2).
"""

from typing import Literal

import numpy as np
from scipy.stats import norm

from sbibench.core.calibration import Pairs

SD = np.sqrt(0.5)


Kind = Literal["exact", "shifted", "narrow", "wide", "prior", "local"]
"""What is wrong with a posterior."""


def _wrong(kind: Kind, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of a posterior of this kind for xs [n, d]."""
    mean, deviation = xs / 2, np.full_like(xs, SD)
    match kind:
        case "shifted":
            mean = mean + 0.6 * SD
        case "narrow":
            deviation = 0.65 * deviation
        case "wide":
            deviation = 1.35 * deviation
        case "prior":
            mean, deviation = np.zeros_like(xs), np.ones_like(xs)
        case "local":  # wrong where x_1 is large, right elsewhere
            mean = mean + 1.2 * SD * (xs[:, :1] > 0.7)
    return mean, deviation


def gaussian_pairs(
    kind: Kind = "exact",
    n: int = 200,
    draws: int = 100,
    d: int = 2,
    seed: int = 0,
    x_obs: float = 0.5,
    at_x_obs: int = 500,
) -> Pairs:
    """Return pairs with the posterior of this kind."""
    rng = np.random.default_rng(seed)
    thetas = rng.normal(size=(n, d))
    xs = thetas + rng.normal(size=(n, d))
    mean, deviation = (a[:, None] for a in _wrong(kind, xs))
    drawn = mean + deviation * rng.normal(size=(n, draws, d))
    observed = np.full((1, d), float(x_obs))
    mean_o, deviation_o = _wrong(kind, observed)
    return Pairs(
        thetas=thetas,
        xs=xs,
        draws=drawn,
        log_probs_true=norm.logpdf(thetas, mean[:, 0], deviation[:, 0]).sum(1),
        log_probs=norm.logpdf(drawn, mean, deviation).sum(2),
        log_priors_true=norm.logpdf(thetas).sum(1),
        prior_draws=rng.normal(size=(5000, d)),
        x_obs=observed[0],
        draws_at_x_obs=mean_o + deviation_o * rng.normal(size=(at_x_obs, d)),
        names=tuple(f"theta_{i + 1}" for i in range(d)),
    )
