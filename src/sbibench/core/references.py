"""Reference samples on disk, each set with the certificate that says why it can be trusted."""

import hashlib
import io
import uuid
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from sbibench.core.errors import NoReferenceError

SHIPPED = Path(__file__).parents[1] / "data" / "references"
"""What comes with the package: one folder a task."""


class Check(msgspec.Struct, frozen=True):
    """One thing that was tested.

    Attributes
    ----------
    id, name
        What, for programs and for people: "agreement", "calibration", "mixing", ...
    value, wanted, passed
        What came out, what was wanted in words, and whether it was met.
    """

    id: str
    name: str
    value: float
    wanted: str
    passed: bool


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How the sampler of a task ranks the truth over fresh observations: flat if all is right.

    Attributes
    ----------
    left_out
        Observations at which the sampler gave up; others took their place.
    probe
        A few log likelihoods and exact draws: by these a changed model is recognised.
    histogram
        For each quantity, how many of the ranks fell into each of equal bins.
    """

    task: str
    version: int
    method: str
    settings: dict[str, Any]
    seed: int
    observations: int
    draws: int
    p_value: float
    left_out: int = 0
    histogram: dict[str, list[int]]
    probe: list[float]
    seconds: float
    versions: dict[str, str]


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about one set of reference samples.

    Attributes
    ----------
    x
        The observation.
    method, settings, seed, facts
        How the samples were drawn, and what the sampler said of it.
    second_method, second_facts
        The independent method that they were compared with.
    checks
        What was tested. A set with a failed check is no reference.
    samples, sha256
        The file that holds the samples, relative to the folder of all tasks, and its digest.
    seconds
        What it took, the second method and the tests included, the calibration apart.
    """

    task: str
    version: int
    observation: int
    x: list[float]
    method: str
    settings: dict[str, Any]
    seed: int
    facts: dict[str, float | int | str | bool]
    second_method: str
    second_facts: dict[str, float | int | str | bool]
    checks: list[Check]
    n: int
    samples: str
    sha256: str
    probe: list[float]
    seconds: float
    versions: dict[str, str]

    @property
    def failed(self) -> list[Check]:
        """The checks that were not met."""
        return [check for check in self.checks if not check.passed]

    def value(self, check_id: str) -> float | None:
        """Return what came out of a check, None where it was not made."""
        return next((check.value for check in self.checks if check.id == check_id), None)

    def demand(self) -> None:
        """Raise `NoReferenceError` if a check was not met."""
        if self.failed:
            what = "; ".join(f"{c.name}: {c.value:.4g}, not {c.wanted}" for c in self.failed)
            raise NoReferenceError(
                f"{self.task}, observation {self.observation} has no reference: its samples "
                f"failed a check ({what}); do simulator, likelihood and sampler belong together?"
            )


Record = TypeVar("Record", Certificate, Calibration)


def digest(samples: np.ndarray) -> str:
    """Return a digest of samples [n, d], float32."""
    return hashlib.sha256(np.ascontiguousarray(samples, "<f4").tobytes()).hexdigest()


def write_calibration(folder: Path, record: Calibration) -> None:
    """Write a calibration into the folder of all tasks."""
    _write(folder / record.task / "calibration.json", _json(record))


def write(folder: Path, record: Certificate, samples: np.ndarray) -> None:
    """Write a certificate with its samples into the folder of all tasks.

    Samples shared with another task stay in that task's file, which must be there.

    Raises
    ------
    NoReferenceError
        If a check has failed, or the shared file is missing.
    """
    record.demand()
    path = folder / record.samples
    if record.samples.startswith(f"{record.task}/"):
        file = io.BytesIO()
        np.save(file, np.ascontiguousarray(samples, "<f4"))
        _write(path, file.getvalue())
    elif not path.exists():
        raise NoReferenceError(f"{path} is missing: make that reference first")
    _write(folder / record.task / f"{record.observation:02d}.json", _json(record))


def _json(record: Certificate | Calibration) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whoever else is writing it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.write_bytes(content)
    temporary.replace(path)


def calibration(folder: Path, task: str) -> Calibration | None:
    """Return the stored calibration of a task, None if there is none that can be read."""
    return _read(folder / task / "calibration.json", Calibration)


def certificate(folder: Path, task: str, observation: int) -> Certificate | None:
    """Return the stored certificate of a task and observation, None if none can be read."""
    return _read(folder / task / f"{observation:02d}.json", Certificate)


def _read(path: Path, kind: type[Record]) -> Record | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def samples(folder: Path, found: Certificate) -> np.ndarray:
    """Return the samples [n, d], float32, that belong to a certificate.

    Raises
    ------
    NoReferenceError
        If a check has failed, or the file is missing or is not the one that was certified.
    """
    found.demand()
    path = folder / found.samples
    try:
        stored: np.ndarray = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise NoReferenceError(
            f"the reference samples {path} can't be read ({error}); delete the file's folder, or "
            "make them again with `sbibench reference`"
        ) from error
    if digest(stored) != found.sha256:
        raise NoReferenceError(
            f"the reference samples {path} are not those that were certified; delete the file's "
            "folder, or make them again with `sbibench reference`"
        )
    return stored.astype(np.float32)
