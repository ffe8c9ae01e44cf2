"""Draws and densities of an estimate at many x at once: what one x asks for fills no block."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import random
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from sbibench.core.blocks import map_rows
from sbibench.core.priors import Rows

MASS_DRAWS, HITS = 500, 100
"""Draws at a time for the mass inside the support, and how many of them inside are enough: one mass
is known to 10 % then or better, and the mean over many x much better."""

ROUNDS = 10
"""Times that what lies outside is drawn again."""


@functools.lru_cache(maxsize=64)
def _draw(density: Any) -> Any:
    """Return (params, key, row, number, x) -> one draw θ [d]."""

    def draw(params: Any, key: PRNGKeyArray, row: Array, number: Array, x: Array) -> Array:
        theta: Array = density.sample(params, x, random.fold_in(random.fold_in(key, row), number))
        return theta

    return draw


@dataclass(frozen=True)
class Many:
    """An estimate q(θ | x) with its parameters, and the prior that cuts it off."""

    density: Any
    params: Any
    prior: Rows

    def propose(
        self, key: PRNGKeyArray, xs: np.ndarray, rows: np.ndarray, first: int, each: int
    ) -> tuple[Float[np.ndarray, "n each d"], Bool[np.ndarray, "n each"]]:
        """Return draws number `first` and on at these rows of xs [N, p], and which are inside.

        A draw depends on the key, the number of its row and its own number alone.
        """
        at = np.repeat(rows, each)
        numbers = np.tile(np.arange(first, first + each), len(rows))
        thetas = map_rows(_draw(self.density), at, numbers, xs[at], fixed=(self.params, key))
        inside = self.prior.inside(thetas)
        return thetas.reshape(len(rows), each, -1), inside.reshape(len(rows), each)

    def sample(self, key: PRNGKeyArray, n: int, xs: np.ndarray) -> list[np.ndarray]:
        """Return up to n draws inside the support for each of xs; the last may have too few."""
        kept: list[np.ndarray] = [np.empty((0, *self.prior.prior.event_shape))] * len(xs)
        todo = np.arange(len(xs))
        for turn in range(ROUNDS):
            thetas, inside = self.propose(key, xs, todo, turn * n, n)
            for row, drawn, ok in zip(todo, thetas, inside, strict=True):
                kept[row] = np.concatenate([kept[row], drawn[ok]])[:n]
            todo = np.array([row for row in todo if len(kept[row]) < n], int)
            if not len(todo):
                break
        return kept

    def log_probs(self, thetas: np.ndarray, xs: np.ndarray) -> np.ndarray:
        """Return log q [N, L] of θ [N, L, d] at xs, not cut off; -inf outside the support."""
        n, each, d = thetas.shape
        flat = thetas.reshape(-1, d)
        log_q = map_rows(
            self.density.log_prob,
            np.repeat(xs, each, axis=0),
            flat.astype(np.float32),
            fixed=(self.params,),
        )
        return np.where(self.prior.inside(flat), log_q, -np.inf).reshape(n, each)

    def mass(self, xs: np.ndarray) -> np.ndarray:
        """Return the share of draws at each of xs that lie inside the support; it may be 0."""
        hits, draws = np.zeros(len(xs)), np.zeros(len(xs))
        for turn in range(ROUNDS):
            todo = np.flatnonzero(hits < HITS)
            if not len(todo):
                break
            # A fixed key: the density is a function, asked twice it answers the same.
            first = turn * MASS_DRAWS
            hits[todo] += self.propose(random.key(0), xs, todo, first, MASS_DRAWS)[1].sum(1)
            draws[todo] += MASS_DRAWS
        return hits / draws
