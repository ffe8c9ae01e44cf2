"""NPE of the toolbox BayesFlow: its coupling flow q(θ | x) with its own training, on JAX.

Radev et al. 2023. Parameters are trained in unconstrained space, to which we map them, so that no
sample leaves the prior's support. A coupling flow splits them in two, so that a single parameter
gets a column of noise beside it, and then there is no density.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import random
from jaxtyping import Array, PRNGKeyArray

from sbibench.core import priors
from sbibench.core.blocks import map_rows
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count
from sbibench.core.problem import Problem, checked_x
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.standardize import note_constant
from sbibench.toolboxes.bayesflow import Shapes, Watch, WholeBatches, approximator, keras_guest

BLOCK = 1000
"""Rows that are drawn, or whose density is asked for, at once: one shape for all."""


@dataclass(frozen=True)
class BayesflowNPE:
    """Settings of BayesFlow's workflow; the names and values are its own.

    Attributes
    ----------
    depth
        Transforms of the coupling flow.
    epochs
        How often training goes through the simulations.
    batch_size
        Rows of a minibatch; fewer where there are fewer simulations.
    initial_learning_rate
        The highest learning rate, from which a cosine decay starts.
    invalid
        What to do with simulations that are not finite: "drop" them, which is unbiased, or
        "refuse".
    """

    depth: int = 6
    epochs: int = 100
    batch_size: int = 32
    initial_learning_rate: float = 5e-4
    invalid: InvalidPolicy = "drop"

    def __post_init__(self) -> None:
        for name in ("depth", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is 1 or more, not {getattr(self, name)}")
        if not self.initial_learning_rate > 0:
            raise UsageError(f"initial_learning_rate is above 0, not {self.initial_learning_rate}")

    def fit(self, key: PRNGKeyArray, problem: Problem) -> "BayesflowPosterior":
        """Simulate from the prior until the budget is used, and train.

        Raises
        ------
        UsageError
            If Keras runs on another backend than JAX.
        InvalidSimulationsError
            If no simulation is finite, or by the policy `invalid`.
        SamplingError
            If training diverges.
        """
        prior_key, simulator_key, noise_key, train_key = random.split(key, 4)
        data = problem.from_prior(prior_key, simulator_key, problem.simulator.left)
        data = data.accept(self.invalid)
        info: Info = {}
        note_constant(info, data.xs)
        us = priors.rows(problem.prior).from_support(data.thetas).astype(np.float32)
        if problem.d == 1:
            noise = numpy_rng(noise_key).standard_normal((len(us), 1))
            us = np.concatenate([us, noise.astype(np.float32)], 1)
        size = min(self.batch_size, len(us))
        watch = Watch(problem, self.epochs, self.initial_learning_rate)
        with keras_guest(train_key, info):
            network = approximator(Shapes(us.shape[1], problem.p, self.depth, size))
            rows = WholeBatches({"u": us, "x": data.xs}, size, network.adapter)
            network.fit(dataset=rows, epochs=self.epochs, callbacks=[watch], verbose=0)
        info |= {"epochs": watch.done, "loss": watch.loss}
        if not np.isfinite(watch.loss):
            raise SamplingError(
                "BayesFlow's training diverged, its loss is not finite; lower initial_learning_rate"
            )
        if watch.stopped:
            info["stopped"] = "deadline"
        cls = BayesflowPosterior if problem.d == 1 else DensityPosterior
        return cls(network, problem, info)


class BayesflowPosterior:
    """The trained network; it answers for any x."""

    amortized = True

    def __init__(self, network: Any, problem: Problem, info: Info) -> None:
        self._network = network
        self._rows = priors.rows(problem.prior)
        self._d = problem.d
        self._x_obs = problem.x_obs
        self.info = info

    def _at(self, x: Any) -> np.ndarray:
        return self._x_obs if x is None else checked_x(x, self._x_obs)

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Draw n samples [n, d], float32."""
        check_count(n)
        at = {"x": self._at(x)[None]}
        with keras_guest(key, self.info) as seeds:
            blocks = [
                self._network.sample(conditions=at, num_samples=BLOCK, seed=seeds)["u"][0]
                for _ in range(0, n, BLOCK)
            ]
        us = np.concatenate(blocks)[:n, : self._d].astype(np.float64)
        return self._rows.single(self._rows.to_support(us))


class DensityPosterior(BayesflowPosterior):
    """The same with a density."""

    def log_prob(self, thetas: Any, x: Any = None) -> np.ndarray:
        """Return log densities [n] of rows θ [n, d], -inf outside the prior's support."""
        us = self._rows.from_support(thetas)
        inside = self._rows.inside(thetas) & np.isfinite(us).all(1)
        rows = np.where(inside[:, None], us, 0.0).astype(np.float32)
        at = np.broadcast_to(self._at(x), (BLOCK, len(self._x_obs)))
        logs = []
        with keras_guest(random.key(0), self.info):
            for start in range(0, len(rows), BLOCK):
                block = np.resize(rows[start : start + BLOCK], (BLOCK, rows.shape[1]))
                logs.append(self._network.log_prob({"u": block, "x": at}))
        density = np.concatenate(logs)[: len(rows)].astype(np.float64)
        density -= map_rows(_log_volume(self._rows), np.where(inside[:, None], us, 0.0))
        return np.where(inside, density, -np.inf)


@functools.lru_cache(maxsize=64)
def _log_volume(rows: priors.Rows) -> Callable[[Array], Array]:
    """Return u -> log |dθ/du|, the same object for the same prior, so that it compiles once."""
    return lambda u: priors.log_volume(rows.prior, u)


ALGORITHM = BayesflowNPE
