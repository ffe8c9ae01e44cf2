"""Data that pages load: a script that hands one value to the page, since files can't be fetched."""

from pathlib import Path

import msgspec


def script(path: Path, kind: str, name: str, value: object) -> None:
    """Write `SBI.KIND[NAME] = value` as a script; text in it is never markup."""
    path.parent.mkdir(parents=True, exist_ok=True)
    key, encoded = msgspec.json.encode(name).decode(), msgspec.json.encode(value).decode()
    path.write_text(
        f"(window.SBI ??= {{}}).{kind} ??= {{}};\nSBI.{kind}[{key}] = {encoded};\n", "utf-8"
    )
