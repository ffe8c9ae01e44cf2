"""References that were made before, on disk, and new ones made on demand."""

from pathlib import Path
from typing import Any

import numpy as np

from sbibench.core import references
from sbibench.core.compilation import cache_root
from sbibench.core.errors import NoReferenceError
from sbibench.core.problem import Progress, silent
from sbibench.core.references import Calibration, Certificate
from sbibench.core.task import Task
from sbibench.reference import certify


def cache() -> Path:
    """Return the folder of the references made on this machine."""
    return cache_root() / "references"


def obtain(
    task: Task, observation: int, progress: Progress = silent
) -> tuple[Certificate, np.ndarray]:
    """Return certificate and samples of a reference, from the cache or made now and kept there.

    Raises
    ------
    NoReferenceError
        If there is no way to sample the posterior, or a check failed: then there is no reference.
    """
    certify.sampler(task)  # says it at once if there is none
    found = _stored(task, observation, cache())
    if found:
        return found
    calibration = calibrated(task, cache(), progress)
    made, samples = certify.certify(task, observation, calibration, progress=progress)
    if made.failed:
        what = "; ".join(f"{c.name}: {c.value:.4g}, not {c.wanted}" for c in made.failed)
        raise NoReferenceError(
            f"{task.name}, observation {observation} has no reference: its samples failed a check "
            f"({what})"
        )
    references.write(cache(), calibration, None)
    references.write(cache(), made, samples)
    return made, samples


def stored(task: Task, observation: int, folder: Path) -> tuple[Certificate, np.ndarray] | None:
    """Return what the package or this folder has for a task and observation, if anything."""
    return _stored(task, observation, references.SHIPPED) or _stored(task, observation, folder)


def _stored(task: Task, observation: int, folder: Path) -> tuple[Certificate, np.ndarray] | None:
    found = references.certificate(folder, task.name, observation)
    if found and found.x == task.observation(observation).tolist() and _current(task, found):
        return found, references.samples(folder, found)
    return None


def calibrated(
    task: Task, folder: Path, progress: Progress = silent, *, again: bool = False
) -> Calibration:
    """Return the calibration of a task's sampler: shipped, from this folder, or made now."""
    for home in () if again else (references.SHIPPED, folder):
        found = references.calibration(home, task.name)
        if found and _current(task, found):
            return found
    return certify.calibration(task, progress=progress)


def _current(task: Task, record: Certificate | Calibration) -> bool:
    """Return whether a record is of this model, and not of one that has changed since."""
    probe = certify.probe(task)
    same = record.version == task.version and len(record.probe) == len(probe)
    return same and bool(np.allclose(record.probe, probe, rtol=1e-3))


def row(certificate: Certificate) -> dict[str, Any]:
    """Return what a table says of a certificate."""
    accuracy = [c.value for c in certificate.checks if c.name.startswith("C2ST")]
    calibration = [c.value for c in certificate.checks if c.name.startswith("calibration")]
    return {
        "task": certificate.task,
        "observation": certificate.observation,
        "passed": not certificate.failed,
        "failed": [check.name for check in certificate.failed],
        "method": certificate.method,
        "acceptance_rate": certificate.facts.get("acceptance_rate"),
        "draws_since_m_was_raised": certificate.facts.get("draws_since_m_was_raised"),
        "log_evidence": certificate.facts.get("log_evidence"),
        "second_method": certificate.second_method,
        "r_hat": certificate.second_facts.get("r_hat"),
        "effective_samples": certificate.second_facts.get("effective_samples"),
        "c2st": accuracy[0] if accuracy else None,
        "calibration_p_value": calibration[0] if calibration else None,
        "seed": certificate.seed,
        "seconds": round(certificate.seconds, 1),
    }
