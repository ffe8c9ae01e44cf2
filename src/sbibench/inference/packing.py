"""What posteriors are made of, as a tree for JSON and arrays beside it; nothing is pickled.

Plain values, dicts and tuples stay what they are. Arrays, keys, priors, frozen dataclasses and
named tuples of this package, and what `_MAKERS` list, become dicts that say with $ what they are.
"""

import dataclasses
import importlib
import re
from typing import Any

import jax
import numpy as np
from numpyro.distributions import Distribution

from sbibench.core.described import describe, rebuild
from sbibench.core.errors import UsageError

_ADDRESS = re.compile(r"(core|inference|algorithms)(\.\w+)+:\w+")
"""Where classes are looked for: in folders whose import does nothing but define things."""

_MAKERS = {
    "flow": "inference.flows:conditional_flow",
    "likelihood_flow": "inference.estimator:likelihood_flow",
    "ratio": "inference.ratio:ratio",
    "mixture": "inference.mixture:mixture_over",
}
"""Functions that return the same object always: it keeps as `made` the name and the arguments."""


def address(cls: type) -> str:
    """Return where this class of the package is, as `folder.module:Class`.

    Raises
    ------
    UsageError
        If it is not of this package.
    """
    package, _, module = cls.__module__.partition(".")
    found = f"{module}:{cls.__qualname__}"
    if package != "sbibench" or not _ADDRESS.fullmatch(found):
        raise UsageError(
            f"{cls.__module__}.{cls.__qualname__} can't be saved: no class of sbibench"
        )
    return found


def at(where: str) -> Any:
    """Return what is at `folder.module:name` in this package.

    Raises
    ------
    UsageError
        If there is nothing, or it lies where nothing is looked for.
    """
    module, _, name = where.partition(":")
    if _ADDRESS.fullmatch(where):
        try:
            return getattr(importlib.import_module(f"sbibench.{module}"), name)
        except (ModuleNotFoundError, AttributeError):
            pass
    raise UsageError(f"this version of sbibench has no {where!r}")


def _named(cls: Any) -> bool:
    """Return whether this is a class of named fields that can be made from them."""
    if not isinstance(cls, type):
        return False
    # mypy does not know the parameters that every dataclass carries
    frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return frozen or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def pack(value: Any, arrays: dict[str, np.ndarray], name: str = "") -> Any:
    """Return a tree of plain values; the arrays in it are added to `arrays` under dotted names.

    Raises
    ------
    UsageError
        If something in it can't be described.
    """
    if value is None or type(value) in {bool, int, float, str}:
        return value
    if isinstance(value, np.ndarray | np.generic):
        arrays[name] = np.asarray(value)
        return {"$array": name}
    mark, value = _described(value)
    if isinstance(value, dict):
        inner = f"{name}." if name else ""
        tree: Any = {str(key): pack(part, arrays, f"{inner}{key}") for key, part in value.items()}
    elif isinstance(value, list | tuple):
        tree = [pack(part, arrays, f"{name}.{i}") for i, part in enumerate(value)]
    elif mark:
        tree = pack(value, arrays, name)
    else:
        raise UsageError(f"{name} can't be saved: {type(value).__name__} is no plain value")
    return mark | {"$": tree} if mark else tree


def _described(value: Any) -> tuple[dict[str, str], Any]:
    """Return what is said of a value, and what it is made from; nothing of a container."""
    if isinstance(value, Distribution):
        return {"$is": "prior"}, describe(value)
    if isinstance(value, jax.Array):
        key = jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)
        data = jax.random.key_data(value) if key else value
        return {"$is": "key" if key else "array"}, np.asarray(data)
    if hasattr(value, "made"):
        return {"$is": "made", "by": value.made[0]}, value.made[1]
    if _named(type(value)):
        fields = getattr(value, "_fields", None) or [f.name for f in dataclasses.fields(value)]
        parts = {field: getattr(value, field) for field in fields}
        return {"$is": "class", "at": address(type(value))}, parts
    return {}, value


def unpack(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return what was packed; lists come back as tuples.

    Raises
    ------
    UsageError
        If it is made of something that this version does not have.
    """
    if isinstance(tree, list):
        return tuple(unpack(part, arrays) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if "$array" in tree:
        array = arrays[tree["$array"]]
        return array if array.ndim else array[()]
    if "$is" in tree:
        return _rebuilt(tree, unpack(tree["$"], arrays))
    return {key: unpack(part, arrays) for key, part in tree.items()}


def _rebuilt(mark: dict[str, Any], parts: Any) -> Any:
    """Return what was described."""
    match mark["$is"]:
        case "prior":
            return rebuild(parts)
        case "key":
            return jax.random.wrap_key_data(jax.numpy.asarray(parts))
        case "array":
            return jax.numpy.asarray(parts)
        case "made":
            return at(_MAKERS[mark["by"]])(*parts)
    cls = at(mark["at"])
    if not _named(cls):
        raise UsageError(f"{mark['at']} is no class of named fields")
    return cls(**parts)


def kept(made: Any, params: Any) -> Any:
    """Return the parameters of what `made` lists: those of a network as leaves by their paths."""
    return _leaves(params) if hasattr(made, "init") else params


def _leaves(params: Any) -> dict[str, np.ndarray]:
    found = jax.tree_util.tree_flatten_with_path(params)[0]
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf)
        for path, leaf in found
    }


def refilled(made: Any, params: Any) -> Any:
    """Return the parameters that were `kept`: a fresh network's, with their leaves.

    Raises
    ------
    UsageError
        If names, shapes or types of the leaves are not those of such a network.
    """
    if not hasattr(made, "init"):
        return params
    d, p = made.made[1][1:]
    fresh = made.init(jax.random.key(0), np.zeros((2, d), np.float32), np.zeros((2, p), np.float32))
    wanted = _leaves(fresh)
    ours, theirs = (
        {name: (leaf.shape, leaf.dtype) for name, leaf in leaves.items()}
        for leaves in (wanted, params)
    )
    if ours != theirs:
        different = sorted(k for k in ours | theirs if ours.get(k) != theirs.get(k))
        raise UsageError(f"the weights {', '.join(different[:3])} are not those of its network")
    return jax.tree.unflatten(jax.tree.structure(fresh), [params[name] for name in wanted])
