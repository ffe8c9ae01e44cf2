"""Results on disk: one record and one sample file per run, each written once and never torn.

    results/records/ID.json     what came of the run
    results/samples/ID.npz      its samples, float32 [n, d]

A file is written under a temporary name, flushed to disk and renamed. The samples come first, so a
record is never without them. Two stores are merged by copying one into the other.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from sbibench.core.errors import UsageError
from sbibench.core.files import write_whole
from sbibench.core.run import RunRecord


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

    def _record(self, run_id: str) -> Path:
        return self.path / "records" / f"{run_id}.json"

    def _samples(self, run_id: str) -> Path:
        return self.path / "samples" / f"{run_id}.npz"

    def prepare(self) -> None:
        """Make the directory, so that what can't be written is known before anything is run.

        Raises
        ------
        UsageError
            If it can't be made or written to.
        """
        try:
            (self.path / "records").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path / "records"):
                pass
        except OSError as error:
            raise UsageError(f"can't write to {self.path}: {error.strerror or error}") from error

    def write(self, record: RunRecord, samples: np.ndarray | None) -> None:
        """Keep a record and its samples [n, d].

        What was kept of the same run before (a failure that was run again, a record without the
        metrics that are asked for now) is replaced.
        """
        if samples is None:
            self._samples(record.spec.id).unlink(missing_ok=True)
        else:
            write_whole(
                self._samples(record.spec.id),
                lambda file: np.savez_compressed(file, samples=samples),
            )
        encoded = msgspec.json.format(msgspec.json.encode(record), indent=1)
        write_whole(self._record(record.spec.id), lambda file: file.write(encoded))

    def read(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, or None if there is none or it is damaged."""
        try:
            return msgspec.json.decode(self._record(run_id).read_bytes(), type=RunRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def samples(self, run_id: str) -> np.ndarray | None:
        """Return the samples [n, d] of a run, or None where there are none."""
        try:
            with np.load(self._samples(run_id)) as file:
                return np.asarray(file["samples"])
        except FileNotFoundError:
            return None

    def damaged(self) -> list[Path]:
        """Return the record files that can't be read; their runs count as not yet run."""
        return [p for p in self._paths() if self.read(p.stem) is None]

    def _paths(self) -> list[Path]:
        return sorted((self.path / "records").glob("[!.]*.json"))

    def __iter__(self) -> Iterator[RunRecord]:
        """Iterate over all records that can be read."""
        for path in self._paths():
            record = self.read(path.stem)
            if record is not None:
                yield record
