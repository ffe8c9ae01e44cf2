"""From a task and an observation to reference samples with a certificate."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors, references, registry, settings
from sbibench.core.blocks import map_rows
from sbibench.core.errors import NoReferenceError, SbibenchError
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.core.references import Calibration, Certificate, Check
from sbibench.core.task import REFERENCE_SIZE, Task
from sbibench.core.versions import versions
from sbibench.inference.flows import SplineFlow
from sbibench.inference.training import Training
from sbibench.reference.agreement import c2st_trees
from sbibench.reference.calibration import calibrate
from sbibench.reference.chains import slices
from sbibench.reference.flow_rejection import FlowRejection
from sbibench.reference.grid import grid
from sbibench.reference.nuts import nuts
from sbibench.reference.target import Target
from sbibench.reference.tempering import Tempering

SEED = 1
"""What everything random in the shipped references comes from."""

SCHEME = FlowRejection()
LIGHT = FlowRejection(
    tempering=Tempering(accepted=1.0),
    draws=4000,
    flow=SplineFlow(transforms=3, hidden=32),
    training=Training(batch_size=200, learning_rate=2e-3, patience=3, max_epochs=10),
    quiet=5000,
    batch=5000,
    max_proposals=1_000_000,
)
"""A smaller flow, for the many posteriors of a calibration; the draws are exact all the same."""

TOLERANCE, DEVIATIONS = 0.02, 4.0
"""How far from 1/2 a classifier may come, and how many standard deviations of its accuracy."""
SECOND_DRAWS, EXACT_DRAWS, CHAIN_DRAWS = 10_000, 50_000, 5000
SIGNIFICANCE = 1e-3
R_HAT = 1.05
FRESH = {"exact": (4000, 60), "rejection": (200, 100)}
"""Observations and draws of a calibration."""

Draw = Callable[[PRNGKeyArray, np.ndarray, int, Progress], tuple[np.ndarray, Info]]
"""(key, x [p], n, progress) -> θ [n, d], float32, and facts."""


def sampler(task: Task, scheme: FlowRejection = SCHEME) -> tuple[str, dict[str, Any], Draw]:
    """Return name, settings and function of the sampler of a task's posterior.

    Raises
    ------
    NoReferenceError
        If the task has neither a sampler of its own nor a likelihood.
    """
    if task.reference is not None:
        exact = task.reference

        def draw(
            key: PRNGKeyArray, x: np.ndarray, n: int, progress: Progress
        ) -> tuple[np.ndarray, Info]:
            del progress
            return priors.rows(task.prior).single(exact(key, x, n)), {}

        return "exact", {}, draw
    if task.log_likelihood is None:
        raise NoReferenceError(
            f"{task.name} has no reference posterior: give it a log_likelihood, or a sampler of "
            "its posterior as `reference`"
        )
    return (
        "rejection",
        settings.as_dict(scheme),
        lambda key, x, n, progress: scheme.sample(key, Target(task, x), n, progress),
    )


def second(task: Task) -> str:
    """Return which independent method the samples of a task are compared with."""
    if task.log_likelihood is None:
        return "none"
    return task.second_method or ("grid" if task.d <= 2 else "slices")


def probe(task: Task) -> list[float]:
    """Return a few log likelihoods and exact draws: by these a changed model is recognised."""
    prior_key, key = jax.random.split(jax.random.key(0))
    thetas = map_rows(task.prior.sample, key=prior_key, n=8)
    xs = map_rows(task.simulate, thetas, key=key)
    values = [np.zeros(0)]
    if task.log_likelihood is not None:
        values.append(np.nan_to_num(map_rows(task.log_likelihood, thetas, xs)))
    if task.reference is not None:
        values.append(np.ravel(task.reference(key, task.observation(1), 2)))
    return [float(v) for v in np.concatenate(values)]


def calibration(task: Task, seed: int = SEED, progress: Progress = silent) -> Calibration:
    """Calibrate the sampler of a task over fresh observations."""
    start = time.perf_counter()
    method, options, draw = sampler(task, LIGHT)
    _, _, thorough = sampler(task)

    def sample(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
        try:
            return draw(key, x, n, silent)[0]
        except SbibenchError:  # too hard for the small flow
            return thorough(key, x, n, silent)[0]

    observations, draws = FRESH[method]
    done = calibrate(jax.random.key(seed), task, sample, observations, draws, progress)
    return Calibration(
        task=task.name,
        version=task.version,
        method=method,
        settings=options,
        seed=seed,
        observations=observations,
        draws=draws,
        p_value=done.p_value(),
        histogram=done.histogram(),
        probe=probe(task),
        seconds=time.perf_counter() - start,
        versions=versions(),
    )


def certify(
    task: Task,
    observation: int,
    calibrated: Calibration,
    seed: int = SEED,
    progress: Progress = silent,
    stored: tuple[Certificate, np.ndarray] | None = None,
) -> tuple[Certificate, np.ndarray]:
    """Draw reference samples, or take stored ones, and test them.

    Parameters
    ----------
    task, observation
        Whose posterior.
    calibrated
        The calibration of this task's sampler.
    seed
        Everything random comes from it.
    progress
        Called as (stage, done, total).
    stored
        A certificate and its samples [n, d], to be tested in place of new ones.

    Returns
    -------
    certificate, samples
        Look at `certificate.failed` before using the samples [n, d], float32.
    """
    start = time.perf_counter()
    x = task.observation(observation)
    draw_key, second_key, test_key = jax.random.split(
        jax.random.fold_in(jax.random.key(seed), observation), 3
    )
    method, options, draw = sampler(task)
    other = second(task)
    shared = task.posterior_of if observation <= len(task.observations) else None
    home = f"{shared or task.name}/{observation:02d}.npy"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_second, other, second_key, task, x)
        facts: Info = {}
        if stored is not None:
            facts, samples = stored[0].facts, stored[1]
        elif shared:
            owner: Task = registry.TASKS.get(shared)
            samples = owner.reference_samples(observation)
        else:
            samples, facts = draw(draw_key, x, REFERENCE_SIZE, progress)
        others, second_facts = waiting.result()
    tested = samples
    if method == "exact" and other == "grid":  # both cheap: a sharper comparison
        tested = draw(test_key, x, EXACT_DRAWS, progress)[0]
    checks = [
        *_sound(task, samples),
        *_trusted(facts, options),
        *_agreement(test_key, tested, others, second_facts),
        Check(
            f"calibration over {calibrated.observations} fresh observations, p-value",
            calibrated.p_value,
            f">= {SIGNIFICANCE}",
            calibrated.p_value >= SIGNIFICANCE,
        ),
    ]
    return (
        Certificate(
            task=task.name,
            version=task.version,
            observation=observation,
            x=x.tolist(),
            method=f"shared with {shared}" if shared else method,
            settings=options,
            seed=seed,
            facts=facts,
            second_method=other,
            second_facts=second_facts,
            checks=checks,
            n=len(samples),
            samples=home,
            sha256=references.digest(samples),
            probe=calibrated.probe,
            seconds=time.perf_counter() - start,
            versions=versions(),
        ),
        samples,
    )


def _second(name: str, key: PRNGKeyArray, task: Task, x: np.ndarray) -> tuple[np.ndarray, Info]:
    if name == "none":
        return np.zeros((0, task.d)), {}
    target = Target(task, x)
    if name == "grid":
        return grid(key, target, EXACT_DRAWS if task.reference is not None else SECOND_DRAWS)
    return {"slices": slices, "nuts": nuts}[name](key, target, CHAIN_DRAWS)


def _sound(task: Task, samples: np.ndarray) -> list[Check]:
    outside = int((~priors.rows(task.prior).inside(samples)).sum())
    duplicates = len(samples) - len(np.unique(samples, axis=0))
    return [
        Check("samples outside the support", outside, "0", outside == 0),
        Check("duplicates", duplicates, "0", duplicates == 0),
    ]


def _trusted(facts: Info, options: dict[str, Any]) -> list[Check]:
    if "draws_since_m_was_raised" not in facts:
        return []
    quiet, wanted = int(facts["draws_since_m_was_raised"]), int(options["quiet"])
    return [Check("draws since M was raised", quiet, f">= {wanted}", quiet >= wanted)]


def _agreement(
    key: PRNGKeyArray, samples: np.ndarray, others: np.ndarray, facts: Info
) -> list[Check]:
    if not len(others):
        return []
    checks = []
    if "r_hat" in facts:
        r_hat = float(facts["r_hat"])
        checks.append(Check("R-hat of the second method", r_hat, f"< {R_HAT}", r_hat < R_HAT))
    n = min(len(samples), len(others), int(facts.get("effective_samples", len(others))))
    accuracy = c2st_trees(key, samples, others)
    # The accuracy is a share of 2 n answers.
    most = 0.5 + min(TOLERANCE, DEVIATIONS * 0.5 / np.sqrt(2 * n))
    least = 0.5 - TOLERANCE
    checks.append(
        Check(
            f"C2ST against the second method, {len(others)} draws",
            accuracy,
            f"{least:.3f} to {most:.3f}",
            bool(least <= accuracy <= most),
        )
    )
    return checks
