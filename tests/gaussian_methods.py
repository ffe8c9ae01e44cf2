"""Algorithms for the toy task, whose posterior is N(0.8 x, 0.2 I): right, and wrong in one way."""

import time
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sbibench.core import priors
from sbibench.core.errors import SamplingError
from sbibench.core.keys import numpy_rng

FITS = []
"""The settings of all fits made so far."""


@dataclass(frozen=True)
class Gaussian:
    """A posterior as wide as the true one times `width`, which misses by `noise` deviations.

    `fails` says what goes wrong: "fit", "sample", "log_prob" or, at every fifth of the data,
    "some". `seconds` go by in the fit for each thousand simulations.
    """

    width: float = 1.0
    shrink: float = 0.8
    dense: bool = True
    amortized: bool = True
    fails: str = ""
    seconds: float = 0.0
    learns: bool = False
    twin: int = 0

    def fit(self, key, problem):
        FITS.append(self)
        if self.fails == "fit":
            raise ZeroDivisionError("it was never going to work")
        n = problem.simulator.left
        problem.simulator(key, priors.rows(problem.prior).sample(key, n))
        time.sleep(self.seconds * n / 1000)
        width = 1 + 100 / n if self.learns else self.width
        made = DensePosterior if self.dense else Posterior
        return made(self, width, np.asarray(problem.x_obs))


class Posterior:
    def __init__(self, settings, width, x_obs):
        self.info = {}
        self.amortized = settings.amortized
        self._settings, self._x_obs = settings, x_obs
        self._sd = width * np.sqrt(0.2)

    def _mean(self, x):
        return self._settings.shrink * (self._x_obs if x is None else x)

    def sample(self, key, n, x=None):
        fails = self._settings.fails
        if x is not None and (
            fails == "sample" or (fails == "some" and int(abs(x[0]) * 1e3) % 5 == 0)
        ):
            raise SamplingError("no way")
        drawn = self._mean(x) + self._sd * numpy_rng(key).normal(size=(n, 2))
        return drawn.astype(np.float32)


class DensePosterior(Posterior):
    def log_prob(self, thetas, x=None):
        if self._settings.fails == "log_prob":
            raise SamplingError("the density can't be normalised")
        return norm.logpdf(thetas, self._mean(x), self._sd).sum(1)
