"""Classifier two-sample test: how well a network tells the samples from the reference.

1/2 means that it can't, 1 that it always can. Protocol of Lueckmann et al. 2021 (arXiv:2101.04653,
appendix A.4), whose classifier was scikit-learn's `MLPClassifier`; the training here has its rules:
Adam on batches of 200, shuffled every epoch, an L2 penalty of the weights, and a stop when the
training loss has stopped falling.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float32, PRNGKeyArray

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.metric import Evidence, checked_pair
from sbibench.inference.classifier import Fit, fit
from sbibench.inference.two_samples import of_equal_size, standardized


def cross_validate(
    key: PRNGKeyArray,
    samples: Float32[np.ndarray, "n d"],
    reference: Float32[np.ndarray, "n d"],
    *,
    folds: int,
    hidden: int,
    max_epochs: int,
    threads: int,
) -> list[Fit]:
    """Train once per fold on all other folds, each on a thread, and judge by that fold."""
    key_order, key_folds = jax.random.split(key)
    xs = np.concatenate([reference, samples])
    ys = np.repeat(np.array([False, True]), [len(reference), len(samples)])
    order = numpy_rng(key_order).permutation(len(xs))
    parts = np.array_split(order, folds)

    def one(i: int, key: PRNGKeyArray) -> Fit:
        rest = np.concatenate(parts[:i] + parts[i + 1 :])
        held_out = xs[parts[i]], ys[parts[i]]
        labels = ys[rest].astype(np.float32)
        done: Fit = fit(key, xs[rest], labels, held_out, hidden=hidden, max_epochs=max_epochs)
        jax.block_until_ready(done)
        return done

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(folds), jax.random.split(key_folds, folds)))


def c2st(
    key: PRNGKeyArray,
    samples: Any,
    reference: Any,
    *,
    folds: int = 5,
    units: int = 10,
    max_epochs: int = 1000,
    threads: int | None = None,
) -> float:
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
        may use. The value does not depend on it.

    Returns
    -------
    float
        Between 0 and 1. Below 1/2 where the two sets share rows.

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
    fits = cross_validate(
        key_folds,
        a,
        b,
        folds=folds,
        hidden=units * a.shape[1],
        max_epochs=max_epochs,
        threads=min(folds, threads or cores()),
    )
    if not all(np.isfinite(fit.loss) for fit in fits):
        raise SbibenchError("the classifier's training diverged")
    return float(np.mean([fit.accuracy for fit in fits]))


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class C2ST:
    """The accuracy of `c2st`, with its options."""

    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    folds: int = 5
    units: int = 10
    max_epochs: int = 1000
    threads: int | None = None

    def __call__(self, key: PRNGKeyArray, evidence: Evidence) -> float:
        """Return the accuracy between 0 and 1."""
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
