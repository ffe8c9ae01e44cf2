"""A suite read from its TOML file; whatever is wrong is said with the line it is in."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.runner.suite import Suite, SuiteError


def load(path: Path) -> Suite:
    """Return the suite in a TOML file, of which all runs can be made.

    Raises
    ------
    UsageError
        If the file can't be read, or says something that no run can be made of.
    """
    try:
        text = path.read_text()
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    try:
        _check_names(content)
        suite = msgspec.convert(content, Suite)
        suite.runs()
    except msgspec.ValidationError as error:
        message, at, entry = str(error).partition(" - at `$.")
        keys = [int(k) if k.isdigit() else k for k in re.findall(r"\w+", entry)]
        message += f" - at `{entry}" if at else ""
        hints = re.findall(r"`([^`]+)`", message)
        raise UsageError(f"{path}, line {line(text, keys, hints)}: {message}") from error
    except SuiteError as error:
        where = line(text, error.keys, _hints(str(error)))
        raise UsageError(f"{path}, line {where}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return suite


def _hints(message: str) -> list[str]:
    """Return what a message quotes, and then its words: the line to look at holds one of them."""
    return [*re.findall(r"['`]([^'`]+)['`]", message), *re.findall(r"\w+", message)]


def _check_names(content: dict[str, Any]) -> None:
    for name in content:
        if name not in Suite.__struct_fields__:
            said = unknown("entry of a suite", name, Suite.__struct_fields__)
            raise SuiteError(str(said), (name,))


def line(text: str, keys: Sequence[str | int], hints: Sequence[str] = ()) -> int:
    """Return the number of the line that keys lead to, as far as they can be followed.

    A name, or a value, is searched after what was found before it; the number i is the i-th table
    of an array of tables. Last comes the first of the hints that can be found there.
    """
    lines = text.splitlines()
    first, last = 0, len(lines)
    for before, key in zip([None, *keys], keys, strict=False):
        tables = [i for i, row in enumerate(lines) if row.strip() == f"[[{before}]]"]
        if isinstance(key, int) and 0 <= key < len(tables):
            first, last = tables[key], [*tables, len(lines)][key + 1]
            continue
        first = next((i for i in range(first, last) if _holds(lines[i], key)), first)
    for hint in hints:
        word = re.escape(hint)
        for i in range(first, last):
            if re.search(rf'(?<!\w){word}\s*=|"{word}"', lines[i]):
                return i + 1
    return first + 1


def _holds(row: str, word: str | int) -> bool:
    return re.search(rf"(?<!\w){re.escape(str(word))}(?!\w)", row) is not None
