"""Classifier two-sample test by a classifier that doesn't overfit; not the one of the tables.

`c2st` follows the published protocol, which trains until the training loss is flat, and falls short
of the best classifier where distributions are close or have many dimensions. Here a logistic
regression on quadratic functions comes first, and a network corrects it for as long as rows held
out agree.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float32, Float64, Int, PRNGKeyArray
from scipy.special import ndtri
from scipy.stats import rankdata

from sbibench.core.cores import cores
from sbibench.core.errors import UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.correction import corrected, rows
from sbibench.inference.quadratic import functions, kinds, log_odds_weights
from sbibench.inference.two_samples import (
    area,
    of_equal_size,
    p_value,
    standardized,
)

JUDGES = 10
"""One in this many rows that are not held out judges the training."""
FARTHEST, FARTHEST_WHITE = 30.0, 10.0
"""Where columns end, in deviations of the reference and, whitened, in those of both sets: the
squares of farther ones would hide all else."""


def whitened(xs: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n d"]:
    """Map to mean 0 and covariance 1, turning the axes no more than needed.

    Directions without any spread become 0.
    """
    xs = xs - xs.mean(0)
    values, vectors = np.linalg.eigh(xs.T @ xs / len(xs))
    wide = values > 1e-9 * max(values.max(), 1e-9)
    scales = np.where(wide, 1 / np.sqrt(np.where(wide, values, 1)), 0)
    mapped: Float64[np.ndarray, "n d"] = xs @ (vectors * scales) @ vectors.T
    ends: Float64[np.ndarray, "n d"] = np.clip(mapped, -FARTHEST_WHITE, FARTHEST_WHITE)
    return ends


def inputs(
    plain: Float64[np.ndarray, "n d"], white: Float64[np.ndarray, "n d"]
) -> Float64[np.ndarray, "n f"]:
    """Return what the network sees: whitened columns and normal scores, and the squares of both.

    Scores show what is narrow beside something wide; squares make distances easy to learn.
    """
    scores = ndtri((rankdata(plain, axis=0) - 0.5) / len(plain))
    both = np.concatenate([white, scores], 1)
    seen: Float64[np.ndarray, "n f"] = np.concatenate([both, both**2 - 1], 1)
    return seen


def units(d: int) -> int:
    """Return the size of each hidden layer: small where a second would be too long."""
    return min(8 + 8 * d, 32)


def held_out_log_odds(
    key: PRNGKeyArray,
    samples: Float32[np.ndarray, "n d"],
    reference: Float32[np.ndarray, "n d"],
    fold: Int[np.ndarray, " m"],
) -> Float64[np.ndarray, " m"]:
    """Return the log odds of each row, reference first, by classifiers that didn't see its fold."""
    # None of these maps looks at the labels.
    plain = np.clip(np.concatenate([reference, samples]).astype(np.float64), -FARTHEST, FARTHEST)
    white = whitened(plain)
    d = white.shape[1]
    terms, kind, seen = functions(white), kinds(d), inputs(plain, white)
    ys = np.repeat(np.array([0.0, 1.0]), [len(reference), len(samples)])

    def one(k: int, key: PRNGKeyArray) -> np.ndarray:
        key_order, key_network = jax.random.split(key)
        asked = np.flatnonzero(fold == k)
        rest = numpy_rng(key_order).permutation(np.flatnonzero(fold != k))
        judge, learn = np.split(rest, [-(-len(rest) // JUDGES)])
        given = terms @ log_odds_weights(terms[learn], ys[learn], kind)
        parts = (rows(seen[p], ys[p], given[p]) for p in (learn, judge, asked))
        odds = corrected(key_network, *parts, hidden=units(d))
        return np.asarray(odds)[: len(asked)]

    folds = int(fold.max()) + 1
    log_odds = np.empty(len(fold))
    with ThreadPoolExecutor(min(folds, cores())) as pool:
        for k, odds in enumerate(pool.map(one, range(folds), jax.random.split(key, folds))):
            log_odds[fold == k] = odds
    return log_odds


def c2st_tuned(key: PRNGKeyArray, samples: Any, reference: Any, *, folds: int = 5) -> Estimate:
    """Return the mean held-out accuracy of a classifier that comes near the best possible one.

    Of two sets of unequal size a random part of the larger one is used, as many rows as the smaller
    one has.

    Parameters
    ----------
    samples, reference
        [n, d] and [m, d]. Both are standardised with the reference's mean and standard deviation.
    folds
        Parts of the data, each held out once; each is told by a classifier of its own, which learns
        from nine tenths of the others and is judged by the last tenth.

    Returns
    -------
    Estimate
        Around 1/2 for equal distributions, 1 for those that never overlap. `error` is
        the binomial one, which the spread over fresh sets agrees with. Besides: `auc`, the mean
        area under the held-out ROC curves, and `p_value`, of the hypothesis that the sets are of
        one distribution.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer rows than there are folds, or another d.

    References
    ----------
    Lopez-Paz & Oquab 2017 (arXiv:1610.06545), for the test; the classifier is our own.
    """
    if folds < 2:
        raise UsageError(f"c2st_tuned needs 2 folds or more, not {folds}")
    a, b = checked_pair(samples, reference, at_least=folds)
    key_part, key_folds, key_train = jax.random.split(key, 3)
    a, b = of_equal_size(key_part, *standardized(a, b))
    n, rng = len(a), numpy_rng(key_folds)
    # As many rows of each set in every fold: else a guess of the set that has more rows among those
    # learned from would be wrong more often than not.
    fold = np.concatenate([rng.permutation(n) % folds for _ in range(2)])
    log_odds = held_out_log_odds(key_train, a, b, fold)
    truth = np.arange(2 * n) >= n
    value = float(((log_odds > 0) == truth).mean())
    labels = [truth[fold == k] for k in range(folds)]
    auc = float(np.mean([area(log_odds[fold == k], own) for k, own in enumerate(labels)]))
    error = (value * (1 - value) / (2 * n)) ** 0.5
    return Estimate(value, error, auc=auc, p_value=p_value(auc, labels))


@dataclass(frozen=True, kw_only=True)
class C2STTuned:
    """The accuracy of `c2st_tuned`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    folds: int = 5

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the accuracy between 0 and 1, its error and the area under the curve."""
        return c2st_tuned(key, evidence.samples, evidence.reference, folds=self.folds)


METRIC = C2STTuned
