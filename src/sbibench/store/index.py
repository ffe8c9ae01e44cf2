"""All records of a store as one table, read quickly: from an index, and what has changed since.

    results/index.parquet     the table of `table`, with time and size of each record's file

The records are the truth. The index is a copy that is made again wherever it differs from them: a
file that is new, gone, or has another time or size, an index that is damaged, of another version,
or copied from another store.
"""

import contextlib
import os
from pathlib import Path

import polars as pl

from sbibench.core.errors import UsageError
from sbibench.core.files import write_whole
from sbibench.store.results import NAME, Results
from sbibench.store.table import COLUMNS, ORDER, table

_FILE = {"id": pl.String, "file.time": pl.Int64, "file.size": pl.Int64}


def everything(results: Results) -> tuple[pl.DataFrame, list[Path]]:
    """Return the `table` of all records, and the record files that can't be read."""
    present = _present(results.records)
    index = _read(results.path / "index.parquet")
    known = index.join(present, on=list(_FILE), how="semi")
    new = present.join(known, on="id", how="anti")
    read = {name: results.read(name) for name in new["id"]}
    found = {name: record for name, record in read.items() if record is not None}
    damaged = [results.records / f"{name}.json" for name in read if name not in found]
    if found or len(known) < len(index):
        fresh = table([*found.values()], [*found]).join(new, on="id")
        known = pl.concat([known, fresh], how="diagonal")
        known = known.select(c for c in known if c.name in COLUMNS or c.null_count() < len(known))
        with contextlib.suppress(OSError):  # it is needed by nobody
            write_whole(results.path / "index.parquet", known.write_parquet)
    return _tidy(known), damaged


def strangers(results: Results) -> list[Path]:
    """Return the files beside the records that are none by their names, as copies of some."""
    return [path for path in sorted(results.records.glob("[!.]*")) if not NAME.fullmatch(path.name)]


def read(path: Path | str) -> pl.DataFrame:
    """Return all runs of a directory of results as one table, a row per run.

    Columns: task, algorithm, label, budget, observation, seed, settings (JSON), status, reason,
    `metric.*`, `error.*` (standard errors), `seconds.*`, and others that tell what was run.

    Raises
    ------
    UsageError
        If there are no results.
    """
    runs, _ = everything(Results(path))
    if not len(runs):
        raise UsageError(f"there are no results in {path}")
    return runs


def _tidy(runs: pl.DataFrame) -> pl.DataFrame:
    measured = sorted(set(runs.columns) - set(COLUMNS) - set(_FILE))
    return runs.select(*COLUMNS, *measured).sort(ORDER)


def _present(folder: Path) -> pl.DataFrame:
    """Return name, time and size of the files of all records."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):  # gone in the meantime
                    s = entry.stat()
                    found.append((entry.name.removesuffix(".json"), s.st_mtime_ns, s.st_size))
    return pl.DataFrame(found, _FILE, orient="row")


def _read(path: Path) -> pl.DataFrame:
    """Return the index, or an empty one where there is none that is of use."""
    columns = _FILE | COLUMNS
    try:
        index = pl.read_parquet(path.read_bytes())
        if all(index.schema.get(name) == kind for name, kind in columns.items()):
            return index
    except (OSError, pl.exceptions.PolarsError):
        pass
    return pl.DataFrame(schema=columns)
