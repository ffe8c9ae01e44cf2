"""Docstrings in numpy convention become Markdown."""

import ast
import inspect
import re
from importlib import util
from pathlib import Path
from typing import Any


def of_module(name: str) -> str:
    """Return the docstring of a module that is not imported for it."""
    spec = util.find_spec(name)
    if spec is None or spec.origin is None:
        return ""
    return ast.get_docstring(ast.parse(Path(spec.origin).read_text())) or ""


def sections(text: str) -> dict[str, str]:
    """Return the parts of a docstring by heading; "" for what comes first."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": parts[0].strip()} | {
        heading: body.strip("\n") for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def entries(body: str) -> dict[str, str]:
    """Return the texts of a section by name: several names on one line share a text."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in body.splitlines():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.split(":")[0].split(",")]
            found |= dict.fromkeys(names, "")
        else:
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def attributes(cls: Any) -> dict[str, str]:
    """Return what the docstring of a class says of its attributes."""
    return entries(sections(inspect.getdoc(cls) or "").get("Attributes", ""))


def plain(text: str) -> str:
    """Return text in which nothing but code is markup, as docstrings are meant."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_\[\]#])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2]]
    return "".join(parts)


def cell(value: Any) -> str:
    """Return text for one cell of a table."""
    return " ".join(plain(str(value)).split()).replace("|", "&#124;")


def table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a table whose cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines) + "\n"


def lead(text: str, title: str) -> str:
    """Return a page's beginning: its title, then a docstring without its headings."""
    return f"# {title}\n\n{plain(sections(text)[''])}\n\n"
