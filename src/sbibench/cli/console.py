"""What all commands share: where they print, and options that mean the same everywhere."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

out = Console(emoji=False)
err = Console(stderr=True, emoji=False)

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON in place of a table.")
]


def _whole(said: str) -> int:
    """Return the whole number that somebody writes, as 10000, 10_000 or 1e4."""
    with contextlib.suppress(ValueError):
        return int(said)
    with contextlib.suppress(ValueError):
        if (number := float(said)).is_integer():
            return int(number)
    raise ValueError(f"{said!r} is no whole number")


def _number(_: Any, tokens: Sequence[Token]) -> int:
    return _whole(tokens[0].value)


def _numbers(_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    return tuple(_whole(token.value) for token in tokens)


Number = Annotated[int, Parameter(converter=_number)]
Numbers = Annotated[tuple[int, ...], Parameter(converter=_numbers, negative="")]
Directory = Annotated[Path, Parameter(name="--out", help="The directory of the results.")]


def print_json(rows: Any) -> None:
    """Print rows as JSON, whatever the width of the terminal."""
    sys.stdout.write(json.dumps(rows, indent=1, default=str) + "\n")


def bars(*, transient: bool = True) -> Progress:
    """Return bars of progress, to be entered; there are none where stderr is no terminal.

    They stay on stderr as it is now: outside toolboxes that work in this process replace it.
    """
    console = Console(file=sys.stderr, emoji=False)
    return Progress(console=console, transient=transient, disable=not console.is_terminal)


@contextlib.contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Show what is being done while it takes time: yield (stage, done, total) -> None."""
    with bars() as shown:
        bar = shown.add_task("starting", total=None)

        def report(stage: str, done: int, total: int | None) -> None:
            shown.update(bar, description=escape(stage), completed=done, total=total)

        yield report
