"""Whether somebody's JAX function of one θ can be traced, and takes its randomness from its key.

NumPy's random numbers inside such a function are drawn once, while it is traced: all simulations
would have the same noise, and nothing would fail.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.whose import line_of

_HOW = (
    "write it as simulate(key, theta) with jax.numpy and jax.random, or pass NumPy: "
    "simulate_batch=f for many θ, simulate_batch=sb.simulators.rowwise(f) for one"
)


@functools.lru_cache(maxsize=256)
def check_traced(simulate: Callable[[Any, Any], Any], d: int) -> None:
    """Trace a simulator of θ [d] twice, once for all, and compare the numbers that it holds.

    Raises
    ------
    UsageError
        If it can't be traced, or draws numbers of its own.
    """
    if _numbers(simulate, d) != _numbers(simulate, d):
        raise UsageError(
            "the simulator draws random numbers of its own, which are the same in all simulations; "
            f"{_HOW}"
        )


def _numbers(simulate: Callable[[Any, Any], Any], d: int) -> list[bytes]:
    """Return the numbers in a trace of the simulator."""

    def fresh(key: Any, theta: Any) -> Any:  # another object each time, or jax keeps the trace
        return simulate(key, theta)

    try:
        traced = jax.make_jaxpr(fresh)(jax.random.key(0), np.zeros(d))
    except SbibenchError:
        raise
    except Exception as error:  # somebody's own code: whatever it raises is told
        what = f"{type(error).__name__} in {line_of(error) or 'a library'}"
        first = str(error).partition("\n")[0]
        raise UsageError(f"the simulator is no JAX function: {what}: {first}; {_HOW}") from error
    return list(_constants(traced))


def _constants(program: Any) -> Iterator[bytes]:
    """Yield the numbers in a program, with or without its constants, and in those inside it."""
    for constant in getattr(program, "consts", ()):
        if not jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
            yield np.asarray(constant).tobytes()
    for equation in getattr(program, "jaxpr", program).eqns:
        for v in equation.invars:
            if isinstance(v, Literal):
                yield np.asarray(v.val).tobytes()
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                if isinstance(part, Jaxpr | ClosedJaxpr):
                    yield from _constants(part)
