"""Packages of files with one function each, `metrics` and `calibration`: called by the name."""

import importlib
import sys
from types import ModuleType
from typing import Any

from sbibench.core.registry import Kind


class _Functions(ModuleType):
    """`PACKAGE.NAME` is the function of that name, loaded when it is first used.

    Python binds a submodule to its package under its own name; here the function of that name
    takes its place, so that it can be called whichever of the two was imported first.
    """

    _kind: Kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._kind.names():
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{self.__name__}.{name}"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(
            name, getattr(value, name, value) if isinstance(value, ModuleType) else value
        )


def call_by_name(kind: Kind) -> None:
    """Let the package of this kind answer with the functions of its files."""
    package = sys.modules[kind.folder]
    package.__class__ = _Functions
    vars(package)["_kind"] = kind
