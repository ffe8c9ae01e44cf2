"""Seconds by stage, with the time of compilation among them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import jax

_COMPILE_EVENTS = (
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
)
_compile_seconds = [0.0]


def _count_compilation(event: str, duration_secs: float, **_: str | int) -> None:
    if event in _COMPILE_EVENTS:
        _compile_seconds[0] += duration_secs


jax.monitoring.register_event_duration_secs_listener(_count_compilation)


class Stopwatch:
    """Seconds by stage; the time of compilation in all stages is counted on its own, too.

    Parameters
    ----------
    seconds
        What other stages took before.
    """

    def __init__(self, seconds: Mapping[str, float] | None = None) -> None:
        self.seconds = dict(seconds or {})

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time what happens inside."""
        start, compiled = time.perf_counter(), _compile_seconds[0]
        try:
            yield
        finally:
            self.seconds[stage] = time.perf_counter() - start
            compiled = _compile_seconds[0] - compiled
            self.seconds["compile"] = self.seconds.get("compile", 0.0) + compiled
