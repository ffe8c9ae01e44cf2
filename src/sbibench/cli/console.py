"""What all commands share: where they print, and options that mean the same everywhere."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

out = Console(emoji=False)
err = Console(stderr=True, emoji=False)

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print JSON in place of a table.")
]
Directory = Annotated[Path, Parameter(name="--out", help="The directory of the results.")]


def print_json(rows: Any) -> None:
    """Print rows as JSON, whatever the width of the terminal."""
    sys.stdout.write(json.dumps(rows, indent=1, default=str) + "\n")
