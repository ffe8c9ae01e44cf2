"""References that were made before, on disk, and new ones made on demand."""

from pathlib import Path

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
    found = references.certificate(cache(), task.name, observation)
    if found and _current(task, found) and found.x == task.observation(observation).tolist():
        return found, references.samples(cache(), found)
    made, samples = certify.certify(
        task, observation, calibrated(task, progress), progress=progress
    )
    demand(made)
    references.write(cache(), made, samples)
    return made, samples


def calibrated(task: Task, progress: Progress = silent) -> Calibration:
    """Return the calibration of a task's sampler: shipped, from the cache, or made now."""
    for folder in (references.SHIPPED, cache()):
        found = references.calibration(folder, task.name)
        if found and _current(task, found):
            return found
    made = certify.calibration(task, progress=progress)
    references.write(cache(), made, None)
    return made


def demand(certificate: Certificate) -> None:
    """Raise `NoReferenceError` if a check has failed."""
    if certificate.failed:
        what = "; ".join(f"{c.name}: {c.value:.4g}, not {c.wanted}" for c in certificate.failed)
        raise NoReferenceError(
            f"{certificate.task}, observation {certificate.observation} has no reference, because "
            f"its samples failed a check ({what})"
        )


def _current(task: Task, record: Certificate | Calibration) -> bool:
    """Return whether a record is of this model, and not of one that has changed since."""
    probe = certify.probe(task)
    same = record.version == task.version and len(record.probe) == len(probe)
    return same and bool(np.allclose(record.probe, probe, rtol=1e-3))
