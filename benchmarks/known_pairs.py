"""Pairs of distributions between which the best possible classifier is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp


@dataclass(frozen=True)
class Mixture:
    """Round Gaussians: means [k, d], deviations [k], weights [k]."""

    means: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray

    def sample(self, rng, n):
        k = rng.choice(len(self.weights), n, p=self.weights)
        noise = rng.normal(size=(n, self.means.shape[1]))
        return self.means[k] + self.deviations[k, None] * noise

    def log_prob(self, xs):
        squares = ((xs[:, None, :] - self.means) ** 2).sum(2)
        d = xs.shape[1]
        log_terms = np.log(self.weights) - d * np.log(self.deviations)
        return logsumexp(log_terms - squares / (2 * self.deviations**2), axis=1)


def mixture(means, deviation=1.0, weights=None, d=None):
    means = np.atleast_2d(np.asarray(means, float))
    if d is not None:
        means = np.pad(means, ((0, 0), (0, d - means.shape[1])))
    k = len(means)
    deviations = np.broadcast_to(np.asarray(deviation, float), (k,))
    return Mixture(means, deviations, np.full(k, 1 / k) if weights is None else np.array(weights))


def normal(d, shift=0.0, deviation=1.0):
    return mixture(np.full((1, d), shift), deviation)


def ring(k, radius):
    angles = 2 * np.pi * np.arange(k) / k
    return radius * np.stack([np.cos(angles), np.sin(angles)], 1)


PAIRS = {
    "d1 shift 0.2": (normal(1, 0.2), normal(1)),
    "d1 scale 1.3": (normal(1, 0, 1.3), normal(1)),
    "d1 two modes": (mixture([[-0.9], [0.9]], 0.44), normal(1)),
    "d2 shift 0.2": (normal(2, 0.2), normal(2)),
    "d2 scale 1.2": (normal(2, 0, 1.2), normal(2)),
    "d2 ring": (mixture(ring(8, 3), 0.5, [0.18, 0.07] * 4), mixture(ring(8, 3), 0.5)),
    "d5 shift 0.1": (normal(5, 0.1), normal(5)),
    "d5 scale 1.15": (normal(5, 0, 1.15), normal(5)),
    "d5 modes": (
        mixture([[-2.0], [2.0]], d=5),
        mixture([[-2.0], [2.0]], 1, [0.65, 0.35], d=5),
    ),
    "d10 shift 0.1": (normal(10, 0.1), normal(10)),
    "d10 scale 1.05": (normal(10, 0, 1.05), normal(10)),
    "d10 tails": (mixture(np.zeros((2, 10)), [0.8, 1.2]), normal(10)),
    "d10 two modes": (mixture([[-1.2], [1.2]], d=10), normal(10)),
    "d5 ring": (
        mixture(ring(6, 3), 0.7, [1 / 4, 1 / 12] * 3, d=5),
        mixture(ring(6, 3), 0.7, d=5),
    ),
    "d10 four modes": (
        mixture(ring(4, 2.5), 1, [0.3, 0.2] * 2, d=10),
        mixture(ring(4, 2.5), 1, d=10),
    ),
}


def optimum(p, q, n=500_000):
    """The accuracy of the likelihood ratio, by Monte Carlo: a standard error below 0.0005."""
    rng = np.random.default_rng(99)
    xs, ys = p.sample(rng, n), q.sample(rng, n)
    right = (p.log_prob(xs) > q.log_prob(xs)).mean() + (p.log_prob(ys) <= q.log_prob(ys)).mean()
    return right / 2
