"""From a task and an observation to reference samples with a certificate."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import msgspec
import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors, references, settings
from sbibench.core.blocks import map_rows
from sbibench.core.errors import NoReferenceError, SamplingError
from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.core.references import Calibration, Certificate
from sbibench.core.task import REFERENCE_SIZE, Task
from sbibench.core.versions import versions
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.training import Training
from sbibench.reference import checks
from sbibench.reference.calibration import calibrate
from sbibench.reference.chains import slices
from sbibench.reference.flow_rejection import FlowRejection
from sbibench.reference.grid import grid
from sbibench.reference.nuts import nuts
from sbibench.reference.target import Target, density
from sbibench.reference.tempering import Tempering

SEED = 1
"""What everything random in the shipped references comes from."""

SCHEME = FlowRejection()
LIGHT = FlowRejection(
    tempering=Tempering(accepted=1.0),
    draws=10_000,
    flow=SplineFlow(transforms=3, hidden=32),
    training=Training(batch_size=200, learning_rate=2e-3, averaging=0, patience=3, max_epochs=12),
    quiet=5000,
    batch=5000,
    max_proposals=300_000,
)
"""A smaller flow and a shorter search for M, for the many posteriors of a calibration."""

SECOND_DRAWS, EXACT_DRAWS, CHAIN_DRAWS = 10_000, 50_000, 5000
FRESH = {"exact": (4000, 60), "rejection": (200, 50)}
"""Observations and draws of a calibration."""

Draw = Callable[[PRNGKeyArray, np.ndarray, int, Progress], tuple[np.ndarray, Info]]
"""(key, x [p], n, progress) -> θ [n, d], float32, and facts."""


class Sampler(NamedTuple):
    """How a posterior is sampled: by which method, with which settings, and the function."""

    method: str
    settings: dict[str, Any]
    draw: Draw


def sampler(task: Task, scheme: FlowRejection | None = None) -> Sampler:
    """Return the sampler of a task's posterior: its own, or the scheme (by default `SCHEME`).

    Raises
    ------
    NoReferenceError
        If the task has neither a sampler of its own nor a likelihood.
    """
    scheme = scheme or SCHEME
    if task.log_likelihood is not None:
        density(task)
    if task.reference is not None:
        exact = task.reference

        def draw(
            key: PRNGKeyArray, x: np.ndarray, n: int, progress: Progress
        ) -> tuple[np.ndarray, Info]:
            del progress
            drawn = np.asarray(exact(key, x, n))
            if drawn.shape != (n, task.d) or not np.isfinite(drawn).all():
                raise SamplingError(
                    f"`reference` of {task.name} must return finite numbers [{n}, {task.d}]; it "
                    f"returned shape {drawn.shape}, {np.isfinite(drawn).mean():.0%} finite"
                )
            return priors.rows(task.prior).single(drawn), {}

        return Sampler("exact", {}, draw)
    if task.log_likelihood is None:
        raise NoReferenceError(
            f"{task.name} has no reference posterior: give it a log_likelihood, or a sampler of "
            "its posterior as `reference`"
        )
    return Sampler(
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
    xs = task.forward(key, thetas)
    values = [np.zeros(0)]
    if task.log_likelihood is not None:
        values.append(np.nan_to_num(map_rows(task.log_likelihood, thetas, xs)))
    else:
        values.append(np.nan_to_num(np.ravel(xs)))
    if task.reference is not None:
        values.append(np.ravel(task.reference(key, task.observation(1), 2)))
    return [float(v) for v in np.concatenate(values)]


def calibration(task: Task, seed: int = SEED, progress: Progress = silent) -> Calibration:
    """Calibrate the sampler of a task over fresh observations."""
    start = time.perf_counter()
    method, options, draw = sampler(task, LIGHT)

    def sample(key: PRNGKeyArray, x: np.ndarray, n: int) -> np.ndarray:
        return draw(key, x, n, silent)[0]

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
        left_out=done.left_out,
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
    # `calibrate` divides the key of the seed in four: the fifth branch is for references.
    branch = jax.random.fold_in(jax.random.key(seed), 4)
    draw_key, second_key, test_key, sharp_key = jax.random.split(
        jax.random.fold_in(branch, observation), 4
    )
    method, options, draw = sampler(task)
    facts: Info = {}
    name = second(task)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_second, name, second_key, task, x)
        if stored is not None:
            before, samples = stored
            method, options, facts = before.method, before.settings, before.facts
        else:
            samples, facts = draw(draw_key, x, REFERENCE_SIZE, progress)
        others, second_facts = waiting.result()
    made = [
        *checks.sound(task, samples),
        *checks.bounded(method, facts, options),
        *checks.mixed(second_facts),
        *checks.agreement("agreement", test_key, samples, others),
        *checks.calibration(calibrated),
    ]
    if task.reference is not None and name == "grid":  # both are cheap: a sharper comparison
        many = draw(sharp_key, x, EXACT_DRAWS, progress)[0]
        made += checks.agreement("sharper agreement", test_key, many, others)
    return (
        Certificate(
            task=task.name,
            version=task.version,
            observation=observation,
            x=x.tolist(),
            method=method,
            settings=options,
            seed=seed,
            facts=facts,
            second_method=name,
            second_facts=second_facts,
            checks=made,
            n=len(samples),
            samples=f"{task.name}/{observation:02d}.npy",
            sha256=references.digest(samples),
            probe=probe(task),
            seconds=time.perf_counter() - start,
            versions=versions(),
        ),
        samples,
    )


def share(
    task: Task, observation: int, calibrated: Calibration, owned: tuple[Certificate, np.ndarray]
) -> tuple[Certificate, np.ndarray]:
    """Certify samples of another task with the same posterior, by this task's own model."""
    of, samples = owned
    certificate, _ = certify(task, observation, calibrated, of.seed, stored=owned)
    method = f"{of.method}, shared with {of.task}"
    return msgspec.structs.replace(certificate, method=method, samples=of.samples), samples


def _second(name: str, key: PRNGKeyArray, task: Task, x: np.ndarray) -> tuple[np.ndarray, Info]:
    if name == "none":
        return np.zeros((0, task.d)), {}
    target = Target(task, x)
    if name == "grid":
        return grid(key, target, EXACT_DRAWS if task.reference is not None else SECOND_DRAWS)
    return {"slices": slices, "nuts": nuts}[name](key, target, CHAIN_DRAWS)
