"""From names and values, as in a file or on a command line, to a frozen dataclass of settings."""

import dataclasses
import numbers
import types
import typing
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown


def _fields(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


_NUMBERS: Mapping[Any, Any] = {
    bool: (bool, np.bool_),
    int: numbers.Integral,
    float: numbers.Real,
}
_WORDS = {bool: "True or False", int: "a whole number", float: "a number", type(None): "None"}


def check_types(settings: Any) -> None:
    """Raise `UsageError` if a field of a dataclass is of another type than it says, or no choice.

    A dataclass by itself takes anything; called when it is made, this tells before anything is
    simulated. NumPy's numbers are numbers.
    """
    for name, kind in _fields(type(settings)).items():
        value = getattr(settings, name)
        kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        if not any(_is(value, k) for k in kinds):
            raise UsageError(f"{name} is {' or '.join(map(_said, kinds))}, not {value!r}")


def _is(value: Any, kind: Any) -> bool:
    if typing.get_origin(kind) is typing.Literal:
        return isinstance(value, str) and value in typing.get_args(kind)
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, _NUMBERS.get(kind, kind))


def _said(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(kind)))
    return _WORDS.get(kind) or f"a {kind.__name__}"


def leaves(cls: Any, prefix: str = "") -> dict[str, Any]:
    """Return the dotted names of all settings of a dataclass and their types."""
    found: dict[str, Any] = {}
    for name, kind in _fields(cls).items():
        if dataclasses.is_dataclass(kind):
            found |= leaves(kind, f"{prefix}{name}.")
        else:
            found[prefix + name] = kind
    return found


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values under dotted names, such as `flow.hidden`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        key = prefix + name.replace("-", "_")
        found |= flat(value, f"{key}.") if isinstance(value, Mapping) else {key: value}
    return found


def build(
    cls: Any, values: Mapping[str, Any], what: str, *, base: Any = None, text: bool = False
) -> Any:
    """Return an instance of the dataclass `cls` with these settings.

    Parameters
    ----------
    cls
        A dataclass; its fields may be dataclasses in turn.
    values
        Nested or dotted names; the last part alone is enough where it is unique
        (`hidden` for `flow.hidden`).
    what
        Whose settings these are, for messages.
    base
        An instance of `cls` whose settings the values override.
    text
        Whether values are strings to be converted, as from a command line.

    Raises
    ------
    UsageError
        If a name is unknown or ambiguous, or a value is of the wrong type or out of range.
    """
    known = leaves(cls)
    nested: dict[str, Any] = as_dict(base) if base is not None else {}
    for name, value in flat(values).items():
        ends = [path for path in known if path == name or path.endswith(f".{name}")]
        if name not in known and len(ends) != 1:
            if ends:
                raise UsageError(f"{what}: {name!r} may be {' or '.join(ends)}; write it in full")
            raise unknown(f"setting of {what}", name, known)
        *parents, leaf = (name if name in known else ends[0]).split(".")
        at = nested
        for parent in parents:
            at = at.setdefault(parent, {})
        at[leaf] = value
    try:
        return msgspec.convert(nested, cls, strict=not text)
    except msgspec.ValidationError as error:
        message = str(error).replace(" - at `$.", " at `").replace(" - at `$`", "")
        message = message.replace("Expected `bool`, got `str`", "true or false is wanted")
        raise UsageError(f"settings of {what}: {message}") from error


def as_dict(settings: Any) -> dict[str, Any]:
    """Return all settings of a dataclass, nested, as plain values."""
    return {
        f.name: as_dict(value) if dataclasses.is_dataclass(value) else value
        for f in dataclasses.fields(settings)
        for value in [getattr(settings, f.name)]
    }


def label(name: str, settings: Any, base: Any = None) -> str:
    """Return a name for tables: the algorithm's, with what is not as in `base` or the default."""
    ours = flat(as_dict(settings))
    default = flat(as_dict(type(settings)() if base is None else base))
    changed = [f"{k.split('.')[-1]}={v}" for k, v in ours.items() if v != default[k]]
    return " ".join([name, *changed])
