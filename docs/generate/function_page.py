"""The pages of a metric and of a check: both are a function of arrays, and a class of options."""

import dataclasses
import inspect
import sys
from typing import Any

from algorithm_page import type_name
from docstrings import cell, entries, lead, of_module, plain, sections, table

from sbibench.core.registry import Kind


def metric_page(kind: Kind, name: str) -> str:
    """Return the page of the metric of this name."""
    cls = kind.get(name)
    page = lead(of_module(f"{kind.folder}.{name}") or kind.describe(name), name)
    page += _function(cls, name, "sb.metrics")
    page += f'In a suite: `metrics = ["{name}"]`; in `sbibench run`: `--metric {name}`. '
    page += f"Of a run it needs {_needs(cls)}.\n\n"
    return page + _options(cls, name)


def check_page(kind: Kind, name: str) -> str:
    """Return the page of the check of this name."""
    cls = kind.get(name)
    page = lead(of_module(f"{kind.folder}.{name}") or kind.describe(name), name)
    page += _function(cls, name, "sb.calibration")
    page += f"On the command line: `sbibench diagnose POSTERIOR TASK --check {name}`. "
    page += f"Of the pairs it needs {_needs(cls)}.\n\n"
    return page + _options(cls, name)


def _needs(cls: Any) -> str:
    return ", ".join(f"`{need}`" for need in cls.needs)


def _function(cls: Any, name: str, package: str) -> str:
    function = getattr(sys.modules[cls.__module__], name, None)
    if not inspect.isfunction(function):
        return ""
    parts = sections(inspect.getdoc(function) or "")
    names = [
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(function).parameters.values()
    ]
    page = f"## The function\n\n```text\n{package}.{name}({', '.join(names)})\n```\n\n"
    page += plain(parts.pop("")) + "\n\n"
    for heading, body in parts.items():
        if heading == "References":
            page += f"**References.** {plain(body)}\n\n"
            continue
        rows = [[f"`{entry}`", cell(text)] for entry, text in entries(body).items()]
        page += f"**{heading}**\n\n" + table(["", ""], rows)
    return page


def _options(cls: Any, name: str) -> str:
    fields = dataclasses.fields(cls)
    if not fields:
        return ""
    function = getattr(sys.modules[cls.__module__], name, None)
    said = entries(sections(inspect.getdoc(function) or "").get("Parameters", ""))
    said |= entries(sections(inspect.getdoc(cls) or "").get("Attributes", ""))
    default = cls()
    rows = [
        [f"`{f.name}`", cell(type_name(f.type)), f"`{getattr(default, f.name)}`",
         cell(said.get(f.name, ""))]
        for f in fields
    ]  # fmt: skip
    return "## Options\n\n" + table(["name", "type", "default", "what it is"], rows)
