"""Results on disk: one record and one sample file per run, each written once and never torn.

    results/records/ID.json     what came of the run
    results/samples/ID.npz      its samples, float32 [n, d]

ID is the hash of what was run; files of other names are nobody's.

A file is written under a temporary name, flushed to disk and renamed. The samples come first, so a
record is never without them. Two stores are merged by copying one into the other.
"""

import re
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import numpy as np

from sbibench.core.errors import StoreError, UsageError
from sbibench.core.files import write_whole
from sbibench.core.run import RunRecord

_ABANDONED = 3600.0
"""Seconds after which a half-written file is nobody's any more."""

NAME = re.compile(r"[0-9a-f]{16}\.json")
"""Names of the files of records. What people copied beside them, as `ID (1).json`, is none."""

_DECODER = msgspec.json.Decoder(RunRecord)


class Results:
    """The results in one directory.

    Parameters
    ----------
    path
        The directory; it is made when the first result is written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path} is a file; results need a directory")

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.path / "records"

    def _record(self, run_id: str) -> Path:
        return self.records / f"{run_id}.json"

    def samples_path(self, run_id: str) -> Path:
        """Return the file of the samples of a run."""
        return self.path / "samples" / f"{run_id}.npz"

    def prepare(self) -> None:
        """Make the directory, so that what can't be written is known before anything is run.

        Raises
        ------
        UsageError
            If it can't be made or written to.
        """
        try:
            self.records.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.records):
                pass
            for folder in ("records", "samples"):
                self._sweep(self.path / folder)
        except OSError as error:
            raise UsageError(f"can't write to {self.path}: {error.strerror or error}") from error

    def _sweep(self, folder: Path) -> None:
        """Remove what a process left behind that was killed while it wrote, some time ago."""
        for path in folder.glob(".tmp*"):
            with suppress(FileNotFoundError):  # another runner was first
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()

    def write(self, record: RunRecord, samples: np.ndarray | None) -> None:
        """Keep a record and its samples [n, d].

        What was kept of the same run before (a failure that was run again, a record without the
        metrics that are asked for now) is replaced.

        Raises
        ------
        StoreError
            If they can't be written. No file is torn then, and a run without a record has no
            samples; what was kept of it before may have lost them.
        """
        path = self.samples_path(record.spec.id)
        try:
            with _told(path):
                if samples is None:
                    path.unlink(missing_ok=True)
                else:
                    write_whole(path, lambda file: np.savez_compressed(file, samples=samples))
            self.update(record)
        except StoreError:
            if not self._record(record.spec.id).exists():
                path.unlink(missing_ok=True)  # samples of which nobody knows what they are
            raise

    def update(self, record: RunRecord) -> None:
        """Replace a record, and leave its samples as they are.

        Raises
        ------
        StoreError
            If it can't be written.
        """
        path = self._record(record.spec.id)
        encoded = msgspec.json.format(msgspec.json.encode(record), indent=1)
        with _told(path):
            write_whole(path, lambda file: file.write(encoded))

    def read(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, or None if there is none or it is damaged."""
        try:
            # No Path, which is slower: there are tens of thousands.
            with open(f"{self.records}/{run_id}.json", "rb", buffering=0) as file:  # noqa: PTH123
                return _DECODER.decode(file.read())
        except (OSError, msgspec.DecodeError):
            return None

    def samples(self, run_id: str) -> np.ndarray | None:
        """Return the samples [n, d] of a run, or None where there are none or they are damaged."""
        try:
            with self.samples_path(run_id).open("rb") as file, np.load(file) as arrays:
                return np.asarray(arrays["samples"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None

    def has_samples(self, run_id: str) -> bool:
        """Return whether there is a file of samples that was not cut short."""
        return zipfile.is_zipfile(self.samples_path(run_id))

    def __iter__(self) -> Iterator[RunRecord]:
        """Iterate over all records that can be read."""
        for path in sorted(self.records.glob("*.json")):
            record = self.read(path.stem) if NAME.fullmatch(path.name) else None
            if record is not None:
                yield record


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in one line what the file system refuses."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"can't write {path}: {error.strerror or error}; mend that, and the same command goes "
            "on from here"
        ) from error
