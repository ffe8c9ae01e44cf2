"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under a temporary name, flush it to disk and rename it.

    Parameters
    ----------
    path
        Where to; its folder is made, and what was there is replaced.
    write
        Gets the open file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".tmp", delete=False) as file:
        temporary = Path(file.name)
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:  # whatever ends it, Ctrl-C included, leaves no half file, and goes on
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
            raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
