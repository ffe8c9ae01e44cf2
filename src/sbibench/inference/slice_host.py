"""Slice-sampling chains for a density that is not JAX: the caller evaluates it turn by turn."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from sbibench.core.errors import SamplingError
from sbibench.inference import slice_steps
from sbibench.inference.slice import SliceSampling
from sbibench.inference.slice_steps import Chains


@jax.jit
def _places(key: PRNGKeyArray, s: Chains) -> Array:
    return slice_steps.places(s, slice_steps.noise(key, s))


@jax.jit
def _move(key: PRNGKeyArray, s: Chains, log_v: Array, widths: Array, caps: Array) -> Chains:
    active = jnp.ones(len(s.u), bool)
    return slice_steps.move(s, slice_steps.noise(key, s), log_v, active, widths, caps)


_begin = jax.jit(slice_steps.begin)


class HostChains:
    """Many chains that go on turn by turn: ask `places`, evaluate, tell `move`.

    No chain ever waits, so every value that is asked for is used. The density may be an estimate
    with noise of its own at each evaluation: a chain keeps the value of the place where it is, and
    so draws from the mean of the estimates, the pseudo-marginal argument of Andrieu & Roberts 2009
    (given the noise at all other places, an update is one of plain slice sampling).

    Parameters
    ----------
    start, log_f
        The first place of each chain [c, d] and its log density [c].
    settings
        Of these the caps; warm-up and thinning are the caller's.

    Raises
    ------
    SamplingError
        If a chain starts where the density is 0 or not a number.
    """

    def __init__(
        self, key: PRNGKeyArray, start: np.ndarray, log_f: np.ndarray, settings: SliceSampling
    ) -> None:
        nowhere = int((~np.isfinite(log_f)).sum())
        if nowhere:
            raise SamplingError(f"{nowhere} of {len(start)} chains start where the density is 0")
        self._key = key
        self._caps = np.array([settings.max_out, settings.max_in])
        self._widths = slice_steps.spread(start)
        self._chains = _begin(key, start, log_f, self._widths, self._caps)
        self._kept = np.empty((16, *start.shape))
        self._count = np.zeros(len(start), int)

    @property
    def us(self) -> np.ndarray:
        """Where the chains are, [c, d]."""
        return np.asarray(self._chains.u)

    @property
    def sweeps(self) -> np.ndarray:
        """How many sweeps over all axes each chain has made, [c]."""
        done: np.ndarray = np.asarray(self._chains.updates) // self._chains.u.shape[1]
        return done

    @property
    def capped(self) -> int:
        """How many updates have hit a cap."""
        return int(self._chains.capped.sum())

    def rescale(self) -> None:
        """Make the first length of new intervals four times the spread of the chains."""
        self._widths = slice_steps.spread(self.us)

    def places(self) -> np.ndarray:
        """Return where the chains ask for the density next, [c, d]."""
        return np.asarray(_places(self._key, self._chains))

    def move(self, log_v: np.ndarray, *, keep: bool) -> None:
        """Take the log densities [c] at `places`; keep the places where a chain ends a sweep."""
        before = self.sweeps
        self._chains = _move(self._key, self._chains, log_v, self._widths, self._caps)
        if not keep:
            return
        ended = self.sweeps > before
        if self._count.max() == len(self._kept):
            self._kept = np.concatenate([self._kept, np.empty_like(self._kept)])
        self._kept[self._count[ended], ended] = self.us[ended]
        self._count += ended

    @property
    def draws(self) -> np.ndarray:
        """What was kept, [draws, c, d]: of each chain as many as the slowest has made.

        More of the fast ones would favour places where an update takes few evaluations.
        """
        return self._kept[: self._count.min()]
