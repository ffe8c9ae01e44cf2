"""Data that pages load: a script that hands one value to the page, since files can't be fetched."""

from pathlib import Path
from typing import Any

import msgspec


def script(path: Path, kind: str, name: str, value: object) -> None:
    """Write `SBI.KIND[NAME] = value` as a script; text in it is never markup."""
    path.parent.mkdir(parents=True, exist_ok=True)
    key, encoded = msgspec.json.encode(name).decode(), msgspec.json.encode(value).decode()
    path.write_text(
        f"(window.SBI ??= {{}}).{kind} ??= {{}};\nSBI.{kind}[{key}] = {encoded};\n", "utf-8"
    )


def plain(chart: Any) -> dict[str, Any]:
    """Return a chart of altair as plain values.

    It is not validated again: that takes as long as all the rest, and tests do so for each kind.
    """
    made: dict[str, Any] = chart.to_dict(validate=False)
    return made
