"""How many programs JAX has compiled, or loaded from disk, in this process."""

from collections.abc import Callable
from typing import Any

import jax

from sbibench.contract.points import BrokenError, demand

_EVENT = "/jax/core/compile/backend_compile_duration"
_HEARD = {"compiled": 0, "compiled or traced": 0}


def _listen(event: str, duration_secs: float, **_: Any) -> None:
    del duration_secs
    _HEARD["compiled"] += event == _EVENT
    _HEARD["compiled or traced"] += "compile" in event


jax.monitoring.register_event_duration_secs_listener(_listen)


def compilations(*, traced: bool = False) -> int:
    """Return how many there were since this was imported; with what leads to them, if `traced`."""
    return _HEARD["compiled or traced" if traced else "compiled"]


def demand_none(function: Callable[[], Any], doing: str, *, traced: bool = False) -> None:
    """Raise `BrokenError` if calling the function compiles anything, or traces it for that.

    Also if compiling something afterwards is not counted: then nothing can be said.
    """
    before = compilations(traced=traced)
    function()
    after = compilations(traced=traced)
    jax.jit(lambda x: x + before)(1.0)
    if compilations(traced=traced) == after:
        raise BrokenError("compilations make no event that is heard here")
    demand(after == before, f"{doing} compiled something: {after - before} events of JAX")
