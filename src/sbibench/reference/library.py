"""References that were made before, on disk, and new ones made on demand."""

from pathlib import Path
from typing import Any

import numpy as np

from sbibench.core import references, registry
from sbibench.core.compilation import cache_root
from sbibench.core.errors import NoReferenceError, SamplingError
from sbibench.core.problem import Progress, silent
from sbibench.core.references import Calibration, Certificate
from sbibench.core.task import Task
from sbibench.reference import certify

Reference = tuple[Certificate, np.ndarray]
"""A certificate and its samples [n, d], float32."""


def cache() -> Path:
    """Return the folder of the references made on this machine."""
    return cache_root() / "references"


def obtain(task: Task, observation: int, progress: Progress = silent) -> Reference:
    """Return a reference that ships, that is in the cache, or is made now and kept there.

    Raises
    ------
    NoReferenceError
        If there is no way to sample the posterior, or a check failed: then there is no reference.
    """
    certify.sampler(task)  # says it at once if there is none
    for folder in (references.SHIPPED, cache()):
        found = certificate(task, observation, folder)
        if found:
            return found, references.samples(folder, found)
    calibration = calibrated(task, (references.SHIPPED, cache()))
    if calibration is None:
        calibration = certify.calibration(task, progress=progress)
        references.write_calibration(cache(), calibration)
    try:
        made, samples = make(task, observation, calibration, cache(), progress=progress)
    except SamplingError as error:
        raise NoReferenceError(
            f"{task.name}, observation {observation} has no reference: {error}"
        ) from error
    references.write(cache(), made, samples)
    return made, samples


def make(
    task: Task,
    observation: int,
    calibration: Calibration,
    folder: Path,
    seed: int = certify.SEED,
    progress: Progress = silent,
) -> Reference:
    """Draw and certify samples; those that another task shares are taken from this folder."""
    if task.posterior_of and observation <= len(task.observations):
        owner: Task = registry.TASKS.get(task.posterior_of)
        for home in (folder, references.SHIPPED):
            found = certificate(owner, observation, home)
            if found and (found.seed == seed or home == references.SHIPPED):
                owned = found, references.samples(home, found)
                return certify.share(task, observation, calibration, owned)
        raise NoReferenceError(
            f"{task.name} shares the posterior of {owner.name}: make that one first"
        )
    return certify.certify(task, observation, calibration, seed, progress)


def certificate(task: Task, observation: int, folder: Path) -> Certificate | None:
    """Return the certificate in a folder that belongs to this task as it is now, if any."""
    found = references.certificate(folder, task.name, observation)
    if found and found.x == task.observation(observation).tolist() and _current(task, found):
        return found
    return None


def calibrated(task: Task, folders: tuple[Path, ...]) -> Calibration | None:
    """Return the calibration that belongs to this task as it is now, if a folder has one.

    A task that shares its posteriors is content with the calibration of the other task: what both
    have in common is the sampler.
    """
    for folder in folders:
        found = references.calibration(folder, task.name)
        if found and _current(task, found):
            return found
    if task.posterior_of:
        return calibrated(registry.TASKS.get(task.posterior_of), folders)
    return None


def _current(task: Task, record: Certificate | Calibration) -> bool:
    """Return whether a record is of this model, and not of one that has changed since."""
    probe = certify.probe(task)
    same = record.version == task.version and len(record.probe) == len(probe)
    return same and bool(np.allclose(record.probe, probe, rtol=1e-3))


def row(found: Certificate) -> dict[str, Any]:
    """Return what a table says of a certificate."""
    return {
        "task": found.task,
        "observation": found.observation,
        "passed": not found.failed,
        "failed": [check.name for check in found.failed],
        "method": found.method,
        "acceptance_rate": found.facts.get("acceptance_rate"),
        "draws_since_m_was_raised": found.facts.get("draws_since_m_was_raised"),
        "log_evidence": found.facts.get("log_evidence"),
        "second_method": found.second_method,
        "r_hat": found.value("r_hat"),
        "effective_samples": found.value("effective_samples"),
        "c2st": found.value("agreement"),
        "fresh_observations": found.value("fresh"),
        "calibration_p_value": found.value("calibration"),
        "seed": found.seed,
        "seconds": round(found.seconds, 1),
    }
