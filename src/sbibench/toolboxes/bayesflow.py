"""BayesFlow as we use it: imported silently, its programs compiled once, its steps of one shape.

BayesFlow 2.0 on Keras 3 with the backend JAX; Radev et al. 2023.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.posterior import Info
from sbibench.core.problem import Problem
from sbibench.toolboxes.guest import guest, silent_import

os.environ.setdefault("KERAS_BACKEND", "jax")  # read when keras is imported
with silent_import():  # it tells its backend, and would make the whole process log
    import bayesflow
    import keras

WARM_UP, WARM_UP_FROM = 0.05, 0.1
"""The share of the epochs in which the learning rate rises, and from which share of it."""

WEIGHT_DECAY, CLIP = 5e-3, 1.5
"""Of AdamW; all of these are the toolbox's own choice for stored simulations."""


@contextlib.contextmanager
def keras_guest(key: PRNGKeyArray, info: Info) -> Iterator[keras.random.SeedGenerator]:
    """Let Keras run: as `guest`, its own generator seeded too; another one is what is yielded."""
    with guest(key, info) as seed, jax.numpy_rank_promotion("allow"):
        keras.utils.set_random_seed(seed)
        yield keras.random.SeedGenerator(seed)


@dataclass(frozen=True)
class Shapes:
    """What a compiled step depends on: d parameters, p data values, the flow, the minibatch."""

    d: int
    p: int
    depth: int
    batch_size: int


KEPT = 16
"""Steps of training that are kept; each keeps the network alive that it was made for."""

_STEPS: dict[Shapes, Any] = {}
"""A step of training for each; it takes all weights as arguments, so other networks can use it.

The last used comes last.
"""


def approximator(shapes: Shapes) -> Any:
    """Return an untrained network of BayesFlow's workflow, drawn from Keras's generator.

    Keras would compile a step anew for each network, which takes longer than to train it.

    Raises
    ------
    UsageError
        If Keras runs on another backend.
    """
    if keras.backend.backend() != "jax":
        raise UsageError(
            f"BayesFlow is used here on JAX, not {keras.backend.backend()}; set KERAS_BACKEND=jax"
        )
    made = bayesflow.BasicWorkflow(
        inference_network=bayesflow.networks.CouplingFlow(depth=shapes.depth),
        inference_variables=["u"],
        inference_conditions=["x"],
        standardize="all",
    ).approximator
    made.compile(optimizer=keras.optimizers.AdamW(weight_decay=WEIGHT_DECAY, clipnorm=CLIP))
    made.build(
        {
            "inference_variables": (shapes.batch_size, shapes.d),
            "inference_conditions": (shapes.batch_size, shapes.p),
        }
    )
    made.optimizer.build(made.trainable_variables)
    if shapes in _STEPS:
        made.train_function = _STEPS.pop(shapes)
    else:
        made.make_train_function()
    _STEPS[shapes] = made.train_function
    if len(_STEPS) > KEPT:
        del _STEPS[next(iter(_STEPS))]
    return made


class WholeBatches(bayesflow.datasets.OfflineDataset):  # type: ignore[misc]  # keras is untyped
    """Minibatches of one size: the rest of an epoch is left out, another one in each.

    A smaller one would need a program of its own.
    """

    @property
    def num_batches(self) -> int:
        """How many minibatches an epoch has."""
        return int(self.num_samples // self.batch_size)


class Watch(keras.callbacks.Callback):  # type: ignore[misc]  # untyped
    """Sets the learning rate of each epoch, reports it, and ends training when the time is over.

    Parameters
    ----------
    problem
        Its deadline is looked at after each minibatch.
    epochs
        How many there will be.
    rate
        The learning rate; as in the toolbox it rises linearly for 5 % of the epochs and then falls
        as a cosine, but from epoch to epoch.
    """

    def __init__(self, problem: Problem, epochs: int, rate: float) -> None:
        super().__init__()
        self._problem = problem
        self._epochs = epochs
        self._rate = rate
        self.done = 0
        self.stopped = False
        self.loss = np.nan

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch, counted from 0."""
        rising = int(WARM_UP * self._epochs)
        if epoch < rising:
            return self._rate * (WARM_UP_FROM + (1 - WARM_UP_FROM) * epoch / rising)
        part = (epoch - rising) / (self._epochs - rising)
        return self._rate * 0.5 * (1 + float(np.cos(np.pi * part)))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the learning rate."""
        del logs
        self.model.optimizer.learning_rate = self.rate(epoch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at the time."""
        del batch, logs
        if self._problem.deadline.passed:
            self.stopped = self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Report the epoch and keep its loss."""
        self.done = epoch + 1
        self.loss = float((logs or {}).get("loss", np.nan))
        self._problem.progress("training", self.done, self._epochs)
