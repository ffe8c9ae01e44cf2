"""Classifier two-sample test: how well a network tells the samples from the reference.

1/2 means that it can't, 1 that it always can. Protocol of Lueckmann et al. 2021 (arXiv:2101.04653,
appendix A.4), whose classifier was scikit-learn's `MLPClassifier`; the training here has its rules:
Adam on batches of 200, shuffled every epoch, an L2 penalty of the weights, and a stop when the
training loss has stopped falling.
"""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float32, PRNGKeyArray

from sbibench.core.cores import cores
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Estimate, Evidence, checked_pair
from sbibench.inference.classifier import State, advance, going, logits, start
from sbibench.inference.two_samples import (
    area,
    fold_error,
    of_equal_size,
    p_value,
    standardized,
)

TURN = 20
"""Epochs that a thread trains a fold for before it takes the next one."""


class Fold(NamedTuple):
    """A training on all other folds, and what it makes of the rows that were held out."""

    scores: Float32[np.ndarray, " k"]
    """Log odds that a row is one of the samples."""
    labels: Bool[np.ndarray, " k"]
    epochs: int
    loss: float
    """Training loss of the last epoch."""

    @property
    def accuracy(self) -> float:
        """The fraction of the held-out rows that are told right."""
        return float(np.mean((self.scores > 0) == self.labels))


def cross_validate(
    key: PRNGKeyArray,
    samples: Float32[np.ndarray, "n d"],
    reference: Float32[np.ndarray, "n d"],
    *,
    folds: int,
    hidden: int,
    max_epochs: int,
    threads: int,
) -> list[Fold]:
    """Train once per fold on all other folds, and judge by that fold.

    Threads take turns: whoever is free trains the fold that has waited longest for a while. So two
    threads end five folds in two and a half times the time of one, not in three times.
    """
    key_order, key_folds = jax.random.split(key)
    xs = np.concatenate([reference, samples])
    ys = np.repeat(np.array([False, True]), [len(reference), len(samples)])
    order = numpy_rng(key_order).permutation(len(xs))
    parts = np.array_split(order, folds)
    waiting: deque[tuple[int, PRNGKeyArray, State]] = deque()
    for i, key_fold in enumerate(jax.random.split(key_folds, folds)):
        key_network, key_batches = jax.random.split(key_fold)
        waiting.append((i, key_batches, start(key_network, xs.shape[1], hidden)))
    done: dict[int, Fold] = {}

    def train() -> None:
        while True:
            try:
                i, key_batches, state = waiting.popleft()
            except IndexError:
                return
            rest = np.concatenate(parts[:i] + parts[i + 1 :])
            until = min(int(state.epochs) + TURN, max_epochs)
            state = advance(state, key_batches, xs[rest], ys[rest].astype(np.float32), until)
            if going(state, max_epochs):
                waiting.append((i, key_batches, state))
            else:
                scores = np.asarray(logits(state.network, xs[parts[i]]))
                done[i] = Fold(scores, ys[parts[i]], int(state.epochs), float(state.loss))

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(train) for _ in range(threads)]:
            future.result()
    return [done[i] for i in range(folds)]


def c2st(
    key: PRNGKeyArray,
    samples: Any,
    reference: Any,
    *,
    folds: int = 5,
    units: int = 10,
    max_epochs: int = 1000,
    threads: int | None = None,
) -> Estimate:
    """Return the mean held-out accuracy of a network that tells the samples from the reference.

    Of two sets of unequal size a random part of the larger one is used, as many rows as the smaller
    one has: else the accuracy could not fall below the share of the larger one.

    Parameters
    ----------
    samples, reference
        [n, d] and [m, d]; both are standardised by the reference.
    folds
        Into how many parts the data are split for cross-validation.
    units
        Units of each of the two hidden layers, per dimension d.
    max_epochs
        Where training ends that has not stopped by itself.
    threads
        How many folds are trained at the same time; by default one on each core that the process
        may use, or OMP_NUM_THREADS. The value does not depend on it.

    Returns
    -------
    Estimate
        Between 0 and 1, with its standard error. Below 1/2 where the two sets share rows. Besides:
        `auc`, the mean area under the held-out ROC curves, and `p_value`, of the hypothesis that
        the sets are of one distribution: the permutation distribution of the held-out AUC.

    Raises
    ------
    UsageError
        If a set is not a finite matrix, has fewer rows than there are folds, or another d.
    SbibenchError
        If the training diverged.

    References
    ----------
    Lopez-Paz & Oquab 2017 (arXiv:1610.06545); Lueckmann et al. 2021 (arXiv:2101.04653).
    """
    if folds < 2 or units < 1 or max_epochs < 1 or (threads is not None and threads < 1):
        raise UsageError("c2st needs 2 folds and 1 of units, max_epochs and threads, or more")
    a, b = checked_pair(samples, reference, at_least=folds)
    key_part, key_folds = jax.random.split(key)
    a, b = of_equal_size(key_part, *standardized(a, b))
    found = cross_validate(
        key_folds,
        a,
        b,
        folds=folds,
        hidden=units * a.shape[1],
        max_epochs=max_epochs,
        threads=min(folds, threads or cores()),
    )
    if not all(np.isfinite(fold.loss) for fold in found):
        raise SbibenchError("the classifier's training diverged")
    return judged(found)


def judged(found: Sequence[Fold]) -> Estimate:
    """Return the mean accuracy of the folds, its standard error, the mean AUC and its p-value."""
    accuracy = float(np.mean([fold.accuracy for fold in found]))
    auc = float(np.mean([area(fold.scores, fold.labels) for fold in found]))
    return Estimate(
        accuracy,
        fold_error(accuracy, sum(len(fold.labels) for fold in found)),
        auc=auc,
        p_value=p_value(auc, [fold.labels for fold in found]),
    )


@dataclass(frozen=True, kw_only=True)
class C2ST:
    """The accuracy of `c2st`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    folds: int = 5
    units: int = 10
    max_epochs: int = 1000
    threads: int | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> Estimate:
        """Return the accuracy between 0 and 1, with `auc` and `p_value` besides."""
        return c2st(
            key,
            evidence.samples,
            evidence.reference,
            folds=self.folds,
            units=self.units,
            max_epochs=self.max_epochs,
            threads=self.threads,
        )


METRIC = C2ST
