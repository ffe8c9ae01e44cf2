"""A batched simulator put to the test with few simulations, before any budget is spent.

What can go wrong in a batch goes unnoticed in results: noise that all rows share, rows that depend
on each other, a function of one θ that happens to broadcast. Each has a sign in a handful of calls.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import NoneSucceededError, SbibenchError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.outputs import ROWWISE, matrix
from sbibench.core.whose import told

_KEY = 20_210_101
"""The seed of all probes: the same θ and generators always, so that what is kept serves again."""

_BATCHES = 3
"""Batches of one θ; as many again if the first raise a suspicion that chance could explain."""

_APART = (4, 8, 24)
"""Rows of a simulator whose rows are apart: the next are tried if all before have failed."""

Simulator = Callable[[np.random.Generator, np.ndarray], Any]


class ProbeWarning(UserWarning):
    """A simulator does something odd that may be meant."""


def probe(simulator: Simulator, prior: Distribution, x_obs: np.ndarray) -> None:
    """Run a batched simulator on about 30 parameters.

    Where rows are apart anyway 4 are enough, unless all of them fail: then more are tried.

    Parameters
    ----------
    simulator
        (rng, θ [n, d]) -> x [n, p].
    prior
        Where θ are drawn from.
    x_obs
        An observation [p].

    Raises
    ------
    UsageError
        If shapes are wrong or depend on the number of rows, if all rows share their noise, or if a
        row depends on other rows.

    Warns
    -----
    ProbeWarning
        If data are constant or without noise, if the generator is not what they are random by, if θ
        is modified, or if no simulation is finite.
    """
    run = _Calls(simulator, len(x_obs))
    (d,) = prior.event_shape
    # Numbers of rows that can't be taken for the number of parameters or of data.
    few, more = [n for n in range(4, 12) if n not in {d, len(x_obs)}][:2]
    n = max(more, sum(_APART))
    thetas = priors.rows(prior).sample(jax.random.key(_KEY), n).astype(np.float64)
    if run.apart:
        seen = [_until_one_succeeds(run, thetas)]
    else:
        thetas = thetas[:more]
        xs = run(0, thetas[:few])
        seen = [xs, run(0, thetas[:1])]
        repeats = _shared_noise(run, np.tile(thetas[:1], (more, 1)))
        seen += repeats
        _mixed_rows(run, thetas[:few], thetas[-1], xs)
    _odd_data(np.concatenate(seen), x_obs)
    if run.modified:
        _warn("it modifies its argument; start with thetas = thetas.copy()")


def _until_one_succeeds(run: "_Calls", thetas: np.ndarray) -> np.ndarray:
    """Return data of the first rows of θ among which one is finite; of all if none is."""
    seen: list[np.ndarray] = []
    start = 0
    for number, n in enumerate(_APART):
        rows = slice(start, start + n)
        start += n
        try:
            seen.append(run(number, thetas[rows]))
        except NoneSucceededError:
            if not seen and start == sum(_APART):
                raise
            continue
        if np.isfinite(seen[-1]).all(1).any():
            break
    return np.concatenate(seen)


def _warn(what: str) -> None:
    warnings.warn(f"simulate_batch: {what}", ProbeWarning, stacklevel=2)


class _Calls:
    """Calls with generators by number, and whether one has modified its argument."""

    def __init__(self, simulator: Simulator, p: int) -> None:
        self._simulator = simulator
        self._p = p
        self.apart = bool(getattr(simulator, "rows_apart", False))
        self.modified = False
        self.state: Any = None

    def __call__(self, number: int, thetas: np.ndarray) -> np.ndarray:
        """Return x [n, p] of θ [n, d]; the same number is the same generator."""
        rng = numpy_rng(jax.random.fold_in(jax.random.key(_KEY), number))
        given = thetas.copy()
        try:
            value = self._simulator(rng, given)
        except SbibenchError:
            raise
        except Exception as error:  # somebody's own code: whatever it raises is told
            if self.apart:  # each row is a call of its own already
                raise UsageError(
                    f"the simulator failed on one of {len(thetas)} parameters: {told(error)}"
                ) from error
            raise UsageError(
                f"simulate_batch failed on an array of {len(thetas)} parameters "
                f"{thetas.shape}: {told(error)}; {ROWWISE}"
            ) from error
        self.modified |= not np.array_equal(given, thetas)
        self.state = rng.bit_generator.state
        return np.array(matrix(value, len(thetas), self._p))


def _shared_noise(run: _Calls, thetas: np.ndarray) -> list[np.ndarray]:
    """Return the data of batches of one θ, if each row has noise of its own."""
    batches = [run(1 + i, thetas) for i in range(_BATCHES)]
    if _suspects(batches).any():
        # Counts and switches may agree by chance, in one column of many.
        batches += [run(1 + _BATCHES + i, thetas) for i in range(_BATCHES)]
        shared = _suspects(batches)
        if shared.any():
            raise UsageError(
                f"simulate_batch gives {len(thetas)} equal parameters noise that all rows share "
                f"(data column {np.flatnonzero(shared)[0]}, counted from 0): draw noise for each "
                f"row, as rng.normal(size=(len(thetas), {len(shared)})); {ROWWISE}"
            )
    same = all(_equal(batch, batches[0]).all() for batch in batches)
    if same and _all_rows_equal(batches).all() and np.isfinite(batches[0]).all():
        _warn("equal parameters give equal data: is it meant to be without noise?")
    return batches


def _suspects(batches: list[np.ndarray]) -> np.ndarray:
    """Return the columns that are random, but in which the rows of a batch go together, bool [p].

    That is: all rows are equal in each batch, but batches differ; or all values differ, and the
    rows move from batch to batch along one line.
    """
    together = _all_rows_equal(batches) & ~np.all([_equal(b, batches[0]) for b in batches], (0, 1))
    values = np.stack(batches)  # [batch, row, column]
    for column in np.flatnonzero(np.isfinite(values).all((0, 1))):
        moves = values[1:, :, column] - values[0, :, column]
        if len(np.unique(values[:, :, column])) < values[:, :, column].size:
            continue
        scales = np.linalg.svd(moves, compute_uv=False)
        together[column] |= scales[1] < 1e-6 * scales[0]
    return np.asarray(together)


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return where values are equal or both NaN."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _all_rows_equal(batches: list[np.ndarray]) -> np.ndarray:
    """Return the columns in which all rows of each batch are equal, bool [p]."""
    return np.asarray(np.all([_equal(batch, batch[:1]).all(0) for batch in batches], 0))


def _mixed_rows(run: _Calls, thetas: np.ndarray, other: np.ndarray, xs: np.ndarray) -> None:
    """Look whether rows stay as they are when the last one is exchanged.

    With the same generator they do, unless its draws depend on θ: then it ends elsewhere, and
    nothing can be said.
    """
    if not _equal(run(0, thetas), xs).all():
        _warn("the same generator gives other data: take all randomness from rng")
        return
    ended = copy.deepcopy(run.state)
    changed = run(0, np.concatenate([thetas[:-1], other[None]]))
    # What solves many rows as one system takes common steps: its rows differ in the last digits.
    same = np.isclose(changed[:-1], xs[:-1], rtol=1e-5, atol=0, equal_nan=True)
    if not same.all() and str(run.state) == str(ended):
        raise UsageError(
            "simulate_batch mixes its rows: data of one θ change with another row's θ; compute "
            f"along axis 1 only, with no sum or mean over thetas as a whole; {ROWWISE}"
        )


def _odd_data(xs: np.ndarray, x_obs: np.ndarray) -> None:
    """Warn of data that are not finite, and of columns that are constant."""
    finite = np.isfinite(xs).all(1)
    if not finite.any():
        _warn(f"none of {len(xs)} simulations is finite; is NaN meant?")
        return
    constant = np.flatnonzero((xs[finite] == xs[finite][:1]).all(0))
    if len(constant) and finite.sum() > 1:
        elsewhere = constant[xs[finite][0, constant] != x_obs[constant]]
        more = f"; x_obs has another value in {elsewhere.tolist()}" if len(elsewhere) else ""
        _warn(
            f"data columns {constant.tolist()} (counted from 0) are constant in {finite.sum()} "
            f"simulations and tell nothing{more}; leave them out unless that is meant"
        )
