"""Finished simulations on disk: the same θ and seed are never simulated twice.

    folder/simulations.sqlite     one row for each simulation, written when it has ended

A row is there whole or not at all, whoever is killed meanwhile, and several processes of one
machine may fill one folder.
"""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sbibench.core.errors import StoreError, UsageError

_TABLES = """
CREATE TABLE IF NOT EXISTS simulations
    (key BLOB PRIMARY KEY, seed TEXT, theta BLOB, x BLOB, reason TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made_by (simulator TEXT);
"""

_WAIT = 60.0
"""Seconds to wait for another process that is writing."""

_AT_ONCE = 500
"""Keys in one question."""


class Ended(NamedTuple):
    """How a simulation ended: x [p], or None and the reason."""

    x: np.ndarray | None
    reason: str = ""


def key_of(seed: int, theta: np.ndarray) -> bytes:
    """Return what a simulation is known by."""
    what = seed.to_bytes(8, "little") + np.ascontiguousarray(theta, "<f8").tobytes()
    return hashlib.sha256(what).digest()[:16]


@contextlib.contextmanager
def opened(folder: Path, simulator: str) -> Iterator["Kept"]:
    """Open the simulations in a folder, which is made if need be.

    Raises
    ------
    UsageError
        If they are of another simulator.
    StoreError
        If the folder can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(
            sqlite3.connect(folder / "simulations.sqlite", timeout=_WAIT)
        ) as file:
            file.execute("PRAGMA journal_mode=WAL")
            file.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing
            file.executescript(_TABLES)
            _same(file, folder, simulator)
            yield Kept(file)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"simulations can't be kept in {folder}: {error}") from error


def _same(file: sqlite3.Connection, folder: Path, simulator: str) -> None:
    """Note which simulator this is, or check that it is the one that was noted."""
    with file:
        file.execute("BEGIN IMMEDIATE")
        known = file.execute("SELECT simulator FROM made_by").fetchone()
        if known is None:
            file.execute("INSERT INTO made_by VALUES (?)", (simulator,))
    if known is not None and known[0] != simulator:
        raise UsageError(
            f"{folder} holds simulations of another simulator, or of this one before it was "
            "changed; take another folder, or delete this one"
        )


class Kept:
    """The simulations of an open folder."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Ended]:
        """Return those of these simulations that have ended before."""
        found: dict[bytes, Ended] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            asked = f"SELECT key, x, reason FROM simulations WHERE key IN ({marks})"
            for key, x, reason in self._file.execute(asked, some):
                found[key] = Ended(None if x is None else np.frombuffer(x, "<f8"), reason)
        return found

    def keep(self, seed: int, theta: np.ndarray, ended: Ended) -> None:
        """Write how a simulation ended."""
        x = None if ended.x is None else np.ascontiguousarray(ended.x, "<f8").tobytes()
        row = (key_of(seed, theta), str(seed), theta.astype("<f8").tobytes(), x, ended.reason)
        with self._file:
            self._file.execute("INSERT OR REPLACE INTO simulations VALUES (?, ?, ?, ?, ?)", row)
