"""What every check of calibration owes: a finding for what is right, refusals, JSON."""

import dataclasses
import json
from typing import Any

import jax
import numpy as np

from sbibench.contract.gaussian_pairs import gaussian_pairs
from sbibench.contract.metrics import Judge, demand_values_and_known_needs
from sbibench.contract.points import Contract, demand, refusal
from sbibench.core.calibration import Pairs
from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding

KEY = jax.random.key(0)
FIELDS = {field.name for field in dataclasses.fields(Pairs)} - {"names", "facts"}
PAIRS = gaussian_pairs(n=60, draws=30)
SIZES = ((1, 5, 2), (5, 1, 2), (30, 20, 1), (2, 2, 1))
"""Numbers of pairs, draws and parameters that are few."""

PLAIN = {"statistic", "p_value", "passed", "level", "verdict", "values", "arrays"}

CONTRACT = Contract()


def judged(judge: Judge, pairs: Pairs) -> Finding | str:
    """Return what is found, or in which words it is refused."""
    try:
        found = judge.made(KEY, pairs)
    except UsageError as error:
        return str(error)
    demand(isinstance(found, Finding), f"it returns {type(found).__name__}, no Finding")
    assert isinstance(found, Finding)
    return found


def few(judge: Judge, n: int, draws: int, d: int) -> Finding | str:
    """Return what is found in few pairs without fault; raise `BrokenError` if it is no answer."""
    found = judged(judge, gaussian_pairs(n=n, draws=draws, d=d))
    if isinstance(found, Finding):
        what = f"{n} pairs of {draws} draws in {d} dimensions"
        demand(np.isfinite(found.statistic), f"the statistic of {what} is {found.statistic}")
        fault = found.p_value is not None and found.p_value <= 0.01
        demand(not fault, f"{what} without fault have p = {found.p_value}")
    return found


def ties(judge: Judge) -> Finding | str:
    """Return what is found in whole numbers, which tie often; the second parameter is 3 always."""
    rng = np.random.default_rng(1)
    pool = np.stack([rng.poisson(rng.gamma(2, 2, (150, 1)), (150, 41)), np.full((150, 41), 3)], 2)
    pool = pool.astype(float)
    pairs = Pairs(
        thetas=pool[:, 0],
        xs=rng.integers(2, size=(150, 1)),
        draws=pool[:, 1:],
        log_probs_true=np.round(-pool[:, 0, 0]),
        log_probs=np.round(-pool[:, 1:, 0]),
        log_priors_true=np.full(150, -50.0),
        prior_draws=pool.reshape(-1, 2),
        x_obs=np.ones(1),
        draws_at_x_obs=pool[:20, 1:].reshape(-1, 2),
    )
    found = judged(judge, pairs)
    if isinstance(found, Finding):
        demand(found.passed is not False, f"ties are taken for a fault: {found.verdict}")
    return found


@CONTRACT.owes(
    "decorate it with @dataclass(frozen=True), with hashable options, and write "
    "needs: ClassVar[tuple[str, ...]] = (...)"
)
def it_is_a_frozen_dataclass_with_defaults_and_known_needs(judge: Judge) -> None:
    """Look for the needs among the fields of Pairs."""
    demand_values_and_known_needs(judge, FIELDS)


@CONTRACT.owes(
    "return a Finding with finite numbers, a p-value exactly where there is a level, and a verdict "
    "without a full stop; a posterior that is right has to pass"
)
def a_posterior_without_fault_gives_a_finding_that_says_so(judge: Judge) -> None:
    """Exact draws of a Gaussian model."""
    found = judge.made(KEY, PAIRS)
    demand(isinstance(found, Finding), f"it returns {type(found).__name__}, no Finding")
    demand(np.isfinite(found.statistic), f"the statistic is {found.statistic}")
    demand(found.passed is not False, f"it finds fault with exact draws: {found.verdict}")
    demand((found.p_value is None) == (found.level is None), "p-value and level go together")
    demand(found.p_value is None or 0 < found.p_value <= 1, f"the p-value is {found.p_value}")
    demand(found.verdict, "there is no verdict")
    demand(not found.verdict.endswith("."), "the verdict ends with a full stop")
    for name, values in {**found.values, **found.arrays}.items():
        demand(np.isfinite(values).all(), f"{name} is not finite")


@CONTRACT.owes("draw what is random from the key, and let all values be numbers or arrays")
def the_same_key_gives_the_same_finding_and_json_holds_all_of_it(judge: Judge) -> None:
    """Without NaN."""
    first, second = (judge.made(KEY, PAIRS).plain() for _ in range(2))
    demand(first == second, "the same key gave another finding")
    demand(json.loads(json.dumps(first, allow_nan=False)) == first, "JSON does not hold all of it")
    demand(set(first) == PLAIN, f"plain() has {', '.join(first)}")


@CONTRACT.owes(
    "look at what comes in: `checked_draws`, `checked_densities` of sbibench.core.calibration, "
    "`present`, `checked` of sbibench.core.metric"
)
def what_it_needs_and_does_not_get_or_gets_as_nan_is_refused(judge: Judge) -> None:
    """By a UsageError."""
    check = judge.made
    for field in check.needs:
        spoilt = np.array(getattr(PAIRS, field))
        spoilt.flat[0] = np.nan
        wrongs: tuple[Any, ...] = (None, spoilt, np.empty((0, 2)))
        for wrong in wrongs:
            refusal(UsageError, check, KEY, dataclasses.replace(PAIRS, **{field: wrong}))


@CONTRACT.owes("raise a UsageError that says how many are needed")
def few_of_anything_are_judged_or_refused_in_words(judge: Judge) -> None:
    """One pair, one draw, one parameter."""
    for size in SIZES:
        few(judge, *size)


@CONTRACT.owes("spread ranks at random over ties; do not divide by a deviation of 0")
def ties_and_a_constant_parameter_are_no_fault(judge: Judge) -> None:
    """They may be refused."""
    ties(judge)
