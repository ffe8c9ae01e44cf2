"""What every algorithm owes where a problem is hard: bad simulations, edges, odd shapes."""

import contextlib
import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from sbibench.contract.candidate import KEY, STEPWISE, Candidate
from sbibench.contract.points import Contract, demand, refusal
from sbibench.contract.toy import TOY
from sbibench.core.errors import (
    BudgetExceededError,
    EngineError,
    InvalidSimulationsError,
    NoReferenceError,
    SbibenchError,
    StoreError,
)

CONTRACT = Contract()


def _partly_invalid(key: Any, theta: Any) -> Any:
    x = theta + 0.5 * jax.random.normal(key, theta.shape)
    return jnp.where(theta[0] > 0.5, jnp.where(theta[1] > 0, jnp.nan, jnp.inf), x)


PARTLY_INVALID = dataclasses.replace(TOY, simulate=_partly_invalid)


@CONTRACT.owes(
    "drop simulations that are not finite, or raise InvalidSimulationsError: "
    "problem.simulator(key, thetas).accept(policy) does both, with a setting `invalid`"
)
def invalid_rows_are_dropped_or_refused(candidate: Candidate) -> None:
    """By choice, where there is a setting `invalid`."""
    candidate.fits()
    settings, budget = candidate.settings, candidate.budget
    problem = PARTLY_INVALID.problem(1, budget)
    if not hasattr(settings, "invalid"):
        samples = None
        with contextlib.suppress(SbibenchError):
            samples = settings.fit(KEY, problem).sample(KEY, 100)
        demand(samples is None or np.isfinite(samples).all(), "samples are not finite")
        return
    samples = dataclasses.replace(settings, invalid="drop").fit(KEY, problem).sample(KEY, 100)
    demand(np.isfinite(samples).all(), "samples are not finite")
    # A third of the prior's; algorithms that move away from the prior meet fewer of them or more.
    share = problem.simulator.invalid / problem.simulator.calls
    demand(0.1 < share < 0.7, f"the share of simulations that are not finite is {share:.2f}")
    refusing = dataclasses.replace(settings, invalid="refuse")
    again = PARTLY_INVALID.problem(1, budget)
    said = refusal(InvalidSimulationsError, refusing.fit, KEY, again)
    demand("not finite" in said, f"the refusal does not say that they are not finite: {said}")


ONE_PARAMETER = dataclasses.replace(
    TOY,
    prior=dist.Uniform(np.zeros(1), np.full(1, 0.7)).to_event(1),
    simulate=lambda key, theta: jnp.concatenate(
        [theta + 0.1 * jax.random.normal(key, (1,)), jnp.full(1, 3.0)]
    ),
    parameter_names=("a",),
    observations=np.array([[0.65, 3.0]]),
    thetas_true=np.array([[0.6]]),
)


@CONTRACT.owes(
    "let d be 1, let a data column be constant (its deviation is 0: do not divide by it), and keep "
    "samples inside the prior's support, in float32 too: core/priors.py, rows(prior).single"
)
def one_parameter_one_datum_and_a_constant_column(candidate: Candidate) -> None:
    """In a box whose edge is no float32 number."""
    candidate.infers()
    posterior = candidate.fit(ONE_PARAMETER)
    samples = posterior.sample(KEY, 500)
    if candidate.ours and candidate.name not in STEPWISE:
        told = posterior.info.get("constant_columns")
        demand(told == "1", f'info["constant_columns"] is {told!r}, not "1"')
    demand(samples.shape == (500, 1), f"samples have shape {samples.shape}, not (500, 1)")
    inside = (samples >= 0) & (samples.astype(float) <= 0.7)
    demand(inside.all(), f"{int((~inside).sum())} of 500 samples lie outside the box")
    demand(samples.mean() > 0.45, f"the mean is {samples.mean():.2f}, it should be near 0.6")


POSITIVE = dataclasses.replace(
    TOY,
    prior=dist.LogNormal(np.zeros(2), np.full(2, 0.5)).to_event(1),
    observations=np.array([[0.3, 1.0]]),
    thetas_true=np.ones((1, 2)),
)


@CONTRACT.owes("keep samples inside the prior's support: reject those outside, or map them into it")
def positive_parameters_stay_positive(candidate: Candidate) -> None:
    """Under a log-normal prior."""
    candidate.infers()
    samples = candidate.fit(POSITIVE).sample(KEY, 2000)
    out = int((~(samples > 0)).any(1).sum())
    demand(not out, f"{out} of 2000 samples are not positive")


LIMIT, LATEST = 20.0, 120.0
"""Seconds allowed, and after which it is too late: programs that compile look at no deadline."""

NO_REASONS = (BudgetExceededError, NoReferenceError, StoreError, EngineError)
"""Errors that tell of something else than data far away."""

FAR = dataclasses.replace(
    TOY,
    prior=dist.Uniform(-np.ones(2), np.ones(2)).to_event(1),
    observations=np.array([[50.0, 50.0]]),
    thetas_true=np.zeros((1, 2)),
)


@CONTRACT.owes(
    "give every loop that waits for acceptance a cap, look at problem.deadline, and raise an "
    "SbibenchError (SamplingError) that says why there are no samples"
)
def an_observation_far_from_everything_ends_with_samples_or_a_reason(candidate: Candidate) -> None:
    """Within the time limit, all but, and samples lie in the box."""
    candidate.infers()
    start = time.perf_counter()
    problem = FAR.problem(1, 300, time_limit=LIMIT)
    samples = None
    try:
        samples = candidate.settings.fit(KEY, problem).sample(KEY, 100)
    except SbibenchError as error:
        kind = type(error).__name__
        demand(
            not isinstance(error, NO_REASONS),
            f"{kind} does not say why there are no samples: {error}",
        )
        demand(bool(str(error).strip()), f"{kind} has no text that says why there are no samples")
    seconds = time.perf_counter() - start
    demand(
        seconds < LATEST, f"it took {seconds:.0f} s where problem.deadline was {LIMIT:.0f} s away"
    )
    demand(samples is None or (np.abs(samples) <= 1).all(), "samples lie outside the prior's box")
