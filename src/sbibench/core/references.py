"""Reference samples on disk, each set with the certificate that says why it can be trusted."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sbibench.core.errors import NoReferenceError

SHIPPED = Path(__file__).parents[1] / "data" / "references"
"""What comes with the package: one folder a task."""


class Check(msgspec.Struct, frozen=True):
    """One thing that was tested: what, its value, what was wanted, and whether it was met."""

    name: str
    value: float
    wanted: str
    passed: bool


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How the sampler of a task ranks the truth over fresh observations: flat if all is right.

    Attributes
    ----------
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


def digest(samples: np.ndarray) -> str:
    """Return a digest of samples [n, d], float32."""
    return hashlib.sha256(np.ascontiguousarray(samples, "<f4").tobytes()).hexdigest()


def write(folder: Path, record: Certificate | Calibration, samples: np.ndarray | None) -> Path:
    """Write a record, and the samples where they are its own; return the record's file."""
    home = folder / record.task
    home.mkdir(parents=True, exist_ok=True)
    name = "calibration" if isinstance(record, Calibration) else f"{record.observation:02d}"
    if isinstance(record, Certificate) and samples is not None:
        _replace(folder / record.samples, samples)
    path = home / f"{name}.json"
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    temporary.replace(path)
    return path


def _replace(path: Path, samples: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.save(file, np.ascontiguousarray(samples, "<f4"))
    temporary.replace(path)


def calibration(folder: Path, task: str) -> Calibration | None:
    """Return the stored calibration of a task, if there is one."""
    path = folder / task / "calibration.json"
    return msgspec.json.decode(path.read_bytes(), type=Calibration) if path.exists() else None


def certificate(folder: Path, task: str, observation: int) -> Certificate | None:
    """Return the stored certificate of a task and observation, if there is one."""
    path = folder / task / f"{observation:02d}.json"
    return msgspec.json.decode(path.read_bytes(), type=Certificate) if path.exists() else None


def samples(folder: Path, found: Certificate) -> np.ndarray:
    """Return the samples [n, d], float32, that belong to a certificate.

    Raises
    ------
    NoReferenceError
        If the file is missing or is not the one that was certified.
    """
    path = folder / found.samples
    try:
        stored: np.ndarray = np.load(path)
    except (OSError, ValueError) as error:
        raise NoReferenceError(f"the reference samples {path} can't be read: {error}") from error
    if digest(stored) != found.sha256:
        raise NoReferenceError(f"the reference samples {path} are not those that were certified")
    return stored.astype(np.float32)
