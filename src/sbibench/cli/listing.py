"""`sbibench tasks | algorithms | metrics | checks`: what there is."""

import operator
from typing import Any

from rich.markup import escape
from rich.table import Column, Table

from sbibench.cli.console import Json, out, print_json
from sbibench.core import registry, settings


def _list(kind: registry.Kind, *, as_json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {"name": name, "description": kind.describe(name)} for name in kind.names()
    ]
    if kind.adapters:
        for row in rows:
            row["toolbox"] = kind.toolbox(row["name"])
            row["missing"] = kind.missing(row["name"])
    if as_json:
        return print_json(rows)
    shown = Table()
    shown.add_column("name", no_wrap=True)
    shown.add_column("description")
    for row in rows:
        needs = f" ({row['missing']})" if row.get("missing") else ""
        shown.add_row(escape(row["name"]), escape(row["description"] + needs))
    return out.print(shown)


def tasks(*, as_json: Json = False) -> None:
    """List the tasks."""
    _list(registry.TASKS, as_json=as_json)


def metrics(*, as_json: Json = False) -> None:
    """List the metrics."""
    _list(registry.METRICS, as_json=as_json)


def checks(*, as_json: Json = False) -> None:
    """List the checks of calibration, which `sbibench diagnose` makes."""
    _list(registry.CHECKS, as_json=as_json)


def algorithms(name: str | None = None, *, as_json: Json = False) -> None:
    """List the algorithms, or the settings of one: its default and those of the paper.

    Parameters
    ----------
    name
        The algorithm whose settings are listed.
    as_json
        Print JSON in place of a table.
    """
    if name is None:
        return _list(registry.ALGORITHMS, as_json=as_json)
    cls = registry.ALGORITHMS.get(name)
    presets = {p: registry.ALGORITHMS.preset(name, p) for p in registry.PRESETS}
    rows: list[dict[str, Any]] = []
    for path, kind in settings.leaves(cls).items():
        values = {p: operator.attrgetter(path)(instance) for p, instance in presets.items()}
        shown_kind = kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "")
        rows.append({"flag": f"--{name}.{path}", "type": shown_kind} | values)
    if as_json:
        return print_json(rows)
    whole, folded = Column("flag", no_wrap=True), Column("type", overflow="fold")
    shown = Table(whole, folded, *presets, title=registry.ALGORITHMS.describe(name))
    for row in rows:
        shown.add_row(row["flag"], *(escape(str(row[c])) for c in ("type", *presets)))
    return out.print(shown)
