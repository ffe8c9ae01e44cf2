"""x of many θ at once: one value that runs a batch, whichever way a simulator is written.

A simulator is either a pure JAX function of one θ, vmapped here, or a function of many in NumPy,
called in blocks. Whoever needs simulations calls a `Forward` and never the function itself.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core.blocks import BLOCK, row_blocks
from sbibench.core.errors import SbibenchError, SimulationError, UsageError
from sbibench.core.given_pairs import check_pairs
from sbibench.core.keys import numpy_rng
from sbibench.core.outputs import matrix
from sbibench.core.probe import probe
from sbibench.core.traced import check_traced
from sbibench.core.whose import told

NO_SIMULATOR = (
    "there are stored simulations and no simulator, so no new parameters can be simulated; take a "
    "method that draws from the prior alone: npe, nle, nre, rej_abc, rf_abc"
)

Simulate = Callable[[Any, Any], Any]
"""(key, θ [d]) -> x [p], pure JAX."""

SimulateBatch = Callable[[np.random.Generator, np.ndarray], Any]
"""(rng, θ [n, d] float64) -> x [n, p], NumPy in and out."""

Blocks = Generator[np.ndarray, None, None]
"""Data [m, p] of some rows after the other; closing it ends what it has started."""


class Forward(ABC):
    """(key, θ [n, d]) -> x [n, p], float64."""

    pairs: tuple[np.ndarray, np.ndarray] | None = None
    """θ [n, d] from the prior and x [n, p] that are there in place of a simulator."""

    @abstractmethod
    def blocks(self, key: PRNGKeyArray, thetas: np.ndarray) -> Blocks:
        """Yield the data of all rows in their order, some rows at a time, perhaps none."""

    def __call__(self, key: PRNGKeyArray, thetas: np.ndarray) -> np.ndarray:
        """Return x [n, p] of θ [n, d].

        Raises
        ------
        UsageError
            If the simulator does not do what it should.
        """
        return np.concatenate(list(self.blocks(key, np.asarray(thetas, np.float64))))


class Vmapped(Forward):
    """A pure JAX function of one θ; row i depends on the key, i and θ_i alone."""

    def __init__(self, simulate: Simulate, p: int) -> None:
        self._simulate = simulate
        self._p = p

    def blocks(self, key: PRNGKeyArray, thetas: np.ndarray) -> Blocks:
        """Yield the data of all rows in blocks of 1000.

        Raises
        ------
        UsageError
            If the function returns another shape, is not written in JAX, or draws random numbers of
            its own.
        """
        check_traced(self._simulate, thetas.shape[1])
        for block in row_blocks(self._simulate, thetas, key=key):
            if block.shape[1:] != (self._p,):
                raise UsageError(
                    f"the simulator returned x of shape {block.shape[1:]} for one θ, "
                    f"not ({self._p},)"
                )
            yield np.asarray(block)


class Batched(Forward):
    """A function of many θ in NumPy, called in blocks of 1000 rows at most.

    Block b has a generator of its own, derived from the key and b. The function gets copies, so
    what it does to its argument harms nobody. Before its first block it is probed: `core/probe.py`.

    A simulator may have a method `stream(rng, thetas)` that yields its rows in pieces, in their
    order, none at times: between two pieces the deadline is looked at, and what it started can be
    ended when the generator is closed. With `rows_apart = True` it says that rows can't mix, since
    each is simulated by a call of its own; the probe is shorter then. With `probed = False` it
    isn't probed, and `pairs` are simulations that there are in its place.
    """

    def __init__(self, simulate_batch: SimulateBatch, prior: Distribution, x: np.ndarray) -> None:
        self.simulator = simulate_batch
        self._prior = prior
        self._x = x
        self._probed = not getattr(simulate_batch, "probed", True)
        self.pairs = getattr(simulate_batch, "pairs", None)
        if self.pairs is not None:
            thetas, xs = self.pairs
            check_pairs(thetas, xs, prior, len(x))

    def probe(self) -> None:
        """Look for mistakes in how the function treats a batch; once, with few simulations.

        Raises
        ------
        UsageError
            If there is one: what is wrong and how to mend it.
        """
        if not self._probed:
            probe(self.simulator, self._prior, self._x)
            self._probed = True

    def _simulated(self, rng: np.random.Generator, block: np.ndarray) -> Any:
        try:
            return self.simulator(rng, block)
        except SbibenchError:
            raise
        except Exception as error:  # somebody's own code: whatever it raises is told
            raise SimulationError(
                f"the simulator failed on some of {len(block)} parameters: {told(error)}; mend it, "
                "return NaN for these rows, or let sb.simulators.parallel call it row by row, "
                "where one that fails costs only itself"
            ) from error

    def blocks(self, key: PRNGKeyArray, thetas: np.ndarray) -> Blocks:
        """Yield the data of all rows.

        Raises
        ------
        SimulationError
            If the simulator raises one of its own.
        """
        self.probe()
        stream, p = getattr(self.simulator, "stream", None), len(self._x)
        for number, start in enumerate(range(0, len(thetas), BLOCK)):
            rng = numpy_rng(jax.random.fold_in(key, number))
            block = np.array(thetas[start : start + BLOCK], np.float64)
            n = len(block)
            if stream is None:
                yield matrix(self._simulated(rng, block), n, p)
                continue
            done = 0
            with contextlib.closing(stream(rng, block)) as pieces:
                for piece in pieces:
                    done += len(piece)
                    yield matrix(piece, len(piece), p) if len(piece) else np.empty((0, p))
            if done != n:
                raise UsageError(f"the simulator returned {done} rows for {n} parameters")


def forward(simulate: Simulate | Forward, p: int) -> Forward:
    """Return a `Forward` of a JAX function of one θ, or what is one already."""
    return simulate if isinstance(simulate, Forward) else Vmapped(simulate, p)
