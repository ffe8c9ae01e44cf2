"""One file, one metric: each defines a function of arrays with the file's name, and `METRIC`."""

import importlib
import sys
from types import ModuleType
from typing import Any

from sbibench.core import registry


class _Metrics(ModuleType):
    """`sbibench.metrics.NAME` is the function of that name, loaded when it is first used.

    Python binds a submodule to its package under its own name; here the function of that name
    takes its place, so that it can be called whichever of the two was imported first.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in registry.METRICS.names():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{self.__name__}.{name}"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(
            name, getattr(value, name, value) if isinstance(value, ModuleType) else value
        )


sys.modules[__name__].__class__ = _Metrics
