"""What tells one simulator, or one task of somebody's own, from another, or from itself edited.

Functions are known by their code, constants, defaults and what they use of their module and of the
functions around them; values by what they hold. Of other packages only names count.
"""

import functools
import hashlib
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

_FOREIGN = {"builtins", "jax", "jaxlib", "numpy", "numpyro", "sbibench", "scipy", "torch"}
"""Packages whose classes are known by their names."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def fingerprint(*things: Any) -> str:
    """Return 16 hexadecimal digits that change when one of these changes.

    Editing comments, or another function of the same file, changes nothing. An attribute `identity`
    says what counts of an object in place of its public attributes.
    """
    digest = hashlib.sha256()
    for part in _parts(things, "", {}):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _parts(thing: Any, module: str, seen: dict[int, Any]) -> Iterator[str]:
    """Yield what a thing is made of; functions of `module` are looked into, once each.

    `seen` holds the things themselves: the address of one that is gone may be another's.
    """
    if isinstance(thing, _PLAIN):
        yield repr(thing)
        return
    if isinstance(thing, np.ndarray | np.generic | jax.Array):
        array = np.asarray(thing)
        yield f"{array.dtype}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"
        return
    yield type(thing).__qualname__
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, types.FunctionType):
        yield from _of_function(thing, module, seen)
    elif isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType):
        yield getattr(thing, "__qualname__", thing.__name__)
    else:
        for item in _inside(thing):
            yield from _parts(item, module, seen)
        cls = type(thing)
        if hasattr(thing, "__dict__") and cls.__module__.partition(".")[0] not in _FOREIGN:
            yield from _of_class(cls, module, seen)


def _inside(thing: Any) -> Iterator[Any]:
    """Yield what is inside a thing."""
    if isinstance(thing, tuple | list):
        yield from thing
    elif isinstance(thing, dict):
        for key in sorted(thing, key=repr):
            yield from (repr(key), thing[key])
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, types.MethodType):
        yield from (thing.__func__, thing.__self__)
    elif hasattr(thing, "__wrapped__"):  # by jax.jit, say
        yield thing.__wrapped__
    elif hasattr(thing, "identity"):
        yield thing.identity
    elif hasattr(thing, "__dict__"):
        yield {k: v for k, v in vars(thing).items() if not k.startswith("_")}


def _of_class(cls: type, module: str, seen: dict[int, Any]) -> Iterator[str]:
    """Yield what the methods of somebody's own class do."""
    for name, found in sorted(vars(cls).items()):
        if isinstance(found, types.FunctionType | staticmethod | classmethod):
            yield name
            yield from _parts(getattr(found, "__func__", found), module, seen)


def _of_function(function: types.FunctionType, module: str, seen: dict[int, Any]) -> Iterator[str]:
    """Yield what a function does: not where it stands."""
    home = function.__module__ or ""
    if module and home != module:
        yield f"{home}:{function.__qualname__}"
        return
    yield from _of_code(function.__code__)
    yield from _parts((function.__defaults__, function.__kwdefaults__), home, seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name
            yield from _parts(function.__globals__[name], home, seen)
    for cell in function.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, home, seen)
        except ValueError:  # a cell that is empty as yet
            yield "empty"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}


def _of_code(code: types.CodeType) -> Iterator[str]:
    for inner in _codes(code):
        yield inner.co_code.hex()
        yield repr(inner.co_names)
        for constant in inner.co_consts:
            if isinstance(constant, frozenset):  # whose order is another in each process
                yield repr(sorted(constant, key=repr))
            elif not isinstance(constant, types.CodeType):
                yield repr(constant)
