"""The one training loop: minibatches of fixed shape in chunks of fixed length, early stopping.

What is compiled depends on the loss, the batch size and the width of the rows, not on how many
rows there are, so that rounds, observations and budgets share one program. Between chunks the
host looks at the deadline, reports progress and decides whether to go on.
"""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from sbibench.core.deadline import FOREVER, Deadline
from sbibench.core.errors import DeadlineError, SbibenchError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info
from sbibench.core.precision import SINGLE
from sbibench.core.problem import Progress, silent
from sbibench.core.settings import check_types

CHUNK = 50
"""Minibatches per call of the compiled program, at most."""

LEAST_STEPS = 10
"""Steps of an epoch, at least: of fewer no progress can be seen."""

Loss = Callable[..., Any]
"""(params, key, *rows [n, ...]) -> losses [n]; params = (weights, ...), the weights are trained."""


@dataclass(frozen=True)
class Training:
    """Settings of the training loop.

    Attributes
    ----------
    batch_size
        Rows per step.
    learning_rate
        Of Adam (Kingma & Ba 2015).
    averaging
        The weights that are judged and returned are running means over the steps, in which a step
        counts 1 - averaging and its forerunners the rest (Polyak & Juditsky 1992); 0 takes those of
        the last step.
    clip_norm
        Gradients are scaled down to this global norm.
    validation_fraction
        Share of the rows that is held out to decide when to stop: with 0.1 every tenth row.
    patience
        Epochs without a better validation loss until training stops.
    max_epochs
        Training stops here in any case.
    """

    batch_size: int = 100
    learning_rate: float = 2e-3
    averaging: float = 0.99
    clip_norm: float = 5.0
    validation_fraction: float = 0.1
    patience: int = 15
    max_epochs: int = 2000

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("batch_size", "learning_rate", "clip_norm", "patience", "max_epochs"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be positive, not {getattr(self, name)!r}")
        if not 0 <= self.averaging < 1:
            raise UsageError(f"averaging lies from 0 up to below 1, not {self.averaging!r}")
        if not 0 < self.validation_fraction <= 0.5:
            raise UsageError(
                f"validation_fraction lies above 0, up to 0.5, not {self.validation_fraction!r}"
            )


@functools.lru_cache(maxsize=64)
def _programs(loss: Loss, settings: Training) -> tuple[Any, Any, Any, Any]:
    """Return (initial state, train a chunk, validate a chunk, averaged weights), compiled once."""
    # Flattened: one vector to update compiles to one loop in place of a dozen.
    adam = optax.flatten(
        optax.chain(
            optax.clip_by_global_norm(settings.clip_norm), optax.adam(settings.learning_rate)
        )
    )

    def split(weights: Any) -> tuple[Any, Any]:
        return eqx.partition(weights, eqx.is_inexact_array)

    def init(weights: Any) -> Any:
        moving = split(weights)[0]
        return adam.init(moving), moving

    def averaged(params: Any, state: Any) -> Any:
        """Return the parameters with the running means of the weights."""
        return type(params)(eqx.combine(state[1], split(params[0])[1]), *params[1:])

    def train(params: Any, state: Any, key: PRNGKeyArray, steps: Any, chunk: Any) -> Any:
        weights, others = split(params[0])

        def mean_loss(weights: Any, key: PRNGKeyArray, rows: Any) -> Any:
            whole = type(params)(eqx.combine(weights, others), *params[1:])
            return jnp.mean(loss(whole, key, *rows))

        def step(i: Any, carry: Any) -> Any:
            weights, (state, mean), total = carry
            rows = jax.tree.map(lambda a: a[i], chunk)
            value, gradient = jax.value_and_grad(mean_loss)(
                weights, jax.random.fold_in(key, i), rows
            )
            updates, state = adam.update(gradient, state, weights)
            weights = optax.apply_updates(weights, updates)
            share = 1 - settings.averaging
            mean = jax.tree.map(lambda m, w: m + share * (w - m), mean, weights)
            return weights, (state, mean), total + value

        start = (weights, state, jnp.zeros((), SINGLE))
        weights, state, total = jax.lax.fori_loop(0, steps, step, start)
        return type(params)(eqx.combine(weights, others), *params[1:]), state, total

    def validate(params: Any, key: PRNGKeyArray, steps: Any, chunk: Any, weight: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            rows = jax.tree.map(lambda a: a[i], chunk)
            losses = loss(params, jax.random.fold_in(key, i), *rows)
            return total + jnp.sum(jnp.where(weight[i] > 0, losses, 0.0))

        return jax.lax.fori_loop(0, steps, step, jnp.zeros((), SINGLE))

    return jax.jit(init), jax.jit(train), jax.jit(validate), averaged


def _chunks(
    order: np.ndarray, batch: int, rows: tuple[np.ndarray, ...]
) -> Iterator[tuple[int, tuple[np.ndarray, ...], np.ndarray]]:
    """Yield (steps, rows [CHUNK, batch, ...], weight [CHUNK, batch]) for the rows in this order.

    The last batch is filled up with the first rows, at weight 0.
    """
    steps = math.ceil(len(order) / batch)
    for first in range(0, steps, CHUNK):
        count = min(CHUNK, steps - first)
        at = np.arange(first * batch, (first + CHUNK) * batch)
        index = order[at % len(order)].reshape(CHUNK, batch)
        weight = (at < len(order)).astype(np.float32).reshape(CHUNK, batch)
        yield count, tuple(r[index] for r in rows), weight


def train(
    key: PRNGKeyArray,
    loss: Loss,
    params: Any,
    rows: tuple[np.ndarray, ...],
    settings: Training,
    deadline: Deadline = FOREVER,
    progress: Progress = silent,
) -> tuple[Any, Info]:
    """Minimise the mean loss over rows and return the best parameters and facts about the fit.

    Parameters
    ----------
    key
        Decides the split, the order of the rows and the randomness of the loss.
    loss
        (params, key, *rows) -> losses [n]. Pass the same object every time: it is compiled once.
    params
        A named tuple whose first field holds the weights; the other fields stay as they are.
    rows
        float32 arrays [n, ...] that share their first axis, n ≥ 2; their order means nothing.
    settings
        How to train.
    deadline
        When it has passed, training ends with what is there (`stopped` = "deadline").
    progress
        Called after each epoch.

    Raises
    ------
    UsageError
        If there are fewer than two rows.
    DeadlineError
        If the time is over before the first epoch is.
    SbibenchError
        If no validation loss was ever finite.
    """
    n = len(rows[0])
    if n < 2:
        raise UsageError(f"training needs 2 valid simulations or more, there are {n}")
    init, run, validate, averaged = _programs(loss, settings)
    order_key, step_key, validation_key = jax.random.split(key, 3)
    rng = numpy_rng(order_key)
    # Always the same rows, so that a network that learns on never has seen what judges it.
    period = round(1 / settings.validation_fraction)
    held_out = np.arange(1, n + 1) % min(period, n) == 0
    validation, training = np.flatnonzero(held_out), np.flatnonzero(~held_out)
    batch = settings.batch_size

    state = init(params[0])
    best, best_loss, best_epoch, stopped = params, math.inf, 0, "max_epochs"
    loss_train = math.nan
    epoch = 0
    for epoch in range(1, settings.max_epochs + 1):
        epoch_key = jax.random.fold_in(step_key, epoch)
        # An epoch is a whole number of full batches: the rows left over take their turn in the
        # next shuffle. It has some steps at least: a small set passes several times.
        passes = math.ceil(LEAST_STEPS * batch / len(training))
        shuffled = np.concatenate([rng.permutation(training) for _ in range(passes)])
        full = shuffled[: len(shuffled) // batch * batch]
        totals = []
        for i, (steps, chunk, _) in enumerate(_chunks(full, batch, rows)):
            params, state, total = run(
                params, state, jax.random.fold_in(epoch_key, i), steps, chunk
            )
            totals.append(total)
            total.block_until_ready()
            if deadline.passed:
                break
        loss_train = float(sum(totals)) / (len(full) // batch)
        if deadline.passed:
            stopped = "deadline"
            break
        # The same key every time: losses of different epochs compare.
        judged = averaged(params, state)
        sums = [
            float(validate(judged, jax.random.fold_in(validation_key, i), steps, chunk, weight))
            for i, (steps, chunk, weight) in enumerate(_chunks(validation, batch, rows))
        ]
        loss_validation = sum(sums) / len(validation)
        progress("training", epoch, None)
        if loss_validation < best_loss:
            best, best_loss, best_epoch = judged, loss_validation, epoch
        elif epoch - best_epoch >= settings.patience:
            stopped = "converged"
            break
        if not math.isfinite(loss_train):
            stopped = "diverged"
            break
    if not math.isfinite(best_loss):
        if stopped == "deadline":
            raise DeadlineError("the time limit was reached in the first epoch of training")
        raise SbibenchError("training diverged: no validation loss was finite")
    return best, {
        "epochs": epoch,
        "best_epoch": best_epoch,
        "loss_train": loss_train,
        "loss_validation": best_loss,
        "stopped": stopped,
    }
