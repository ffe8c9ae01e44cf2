"""The page of an algorithm: what it does, its settings, its results."""

import dataclasses
import operator
import typing
from typing import Any

from docstrings import attributes, cell, lead, of_module, table
from figures_beside import beside, labels

from sbibench.core import registry, settings
from sbibench.core.registry import Kind


def algorithm_page(kind: Kind, name: str) -> str:
    """Return the page of the algorithm of this name."""
    cls = kind.get(name)
    page = lead(of_module(f"{kind.folder}.{name}") or kind.describe(name), name)
    page += f'```python\nimport sbibench as sb\n\nalgorithm = sb.get_algorithm("{name}")\n```\n\n'
    page += f"```\nsbibench run two_moons {name} --budget 1000\n```\n\n"
    page += _settings(kind, name, cls)
    return page + "".join(beside("label", label) for label in labels(name))


def _settings(kind: Kind, name: str, cls: Any) -> str:
    leaves = settings.leaves(cls)
    if not leaves:
        return "It has no settings.\n\n"
    presets = {p: kind.preset(name, p) for p in registry.PRESETS}
    differ = presets["default"] != presets["paper"]
    rows: list[list[Any]] = []
    before = ""
    for path, of_type in leaves.items():
        values = {p: operator.attrgetter(path)(instance) for p, instance in presets.items()}
        row = [f"`--{name}.{path}`", cell(type_name(of_type)), f"`{values['default']}`"]
        if differ:
            same = values["paper"] == values["default"]
            row.append("" if same else f"`{values['paper']}`")
        said = cell(_said(cls, path))
        rows.append([*row, "*as above*" if said and said == before else said])
        before = said
    head = ["flag", "type", "default", *(["paper"] if differ else []), "what it is"]
    about = "`dataclasses.replace` changes them in Python, `settings` in a suite."
    if differ:
        about += " *paper* is what `--preset paper` has in place of the default, where it differs."
    return f"## Settings\n\n{about}\n\n{table(head, rows)}"


def type_name(of_type: Any) -> str:
    """Return a type as people write it."""
    plain = isinstance(of_type, type) and not typing.get_args(of_type)
    return of_type.__name__ if plain else str(of_type).replace("typing.", "")


def _said(cls: Any, path: str) -> str:
    """Return what the docstring of the dataclass that holds this setting says of it."""
    first, _, rest = path.partition(".")
    if not rest:
        return attributes(cls).get(first, "")
    hints = typing.get_type_hints(cls)
    return _said(hints[first], rest) if dataclasses.is_dataclass(hints[first]) else ""
