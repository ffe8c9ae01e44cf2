"""Data that float32, in which algorithms see them, can't hold."""

import warnings

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st
from jax import random

import sbibench as sb
from sbibench.core import priors, registry
from sbibench.core.resolution import PrecisionWarning, unresolved, warn_of
from sbibench.core.run import RunSpec
from sbibench.runner import execute as module
from sbibench.runner.execute import execute

BOX = dist.Uniform(-2 * np.ones(2), 2 * np.ones(2)).to_event(1)


def shifted(rng, thetas):
    """Return one column with a large offset, and one without."""
    xs = thetas + 0.1 * rng.normal(size=thetas.shape)
    return xs + np.array([1e7, 0.0])


def task(**simulator):
    return sb.Task(name="mine", prior=BOX, x_obs=[1e7, 0.0], **simulator)


def jax_shifted(key, theta):
    return theta + 0.1 * random.normal(key, (2,)) + jnp.array([1e7, 0.0])


STORED = (
    thetas := np.random.default_rng(0).uniform(-2, 2, (100, 2)),
    shifted(np.random.default_rng(1), thetas),
)


@pytest.mark.parametrize(
    "simulator",
    [
        {"simulate_batch": shifted},
        {"simulate": jax_shifted},
        {"simulate_batch": sb.simulators.stored(STORED)},
    ],
    ids=["batched", "jax", "stored"],
)
def test_what_float32_rounds_away_is_warned_of_with_the_mend(key, simulator):
    mine = task(**simulator)
    problem = mine.problem(1, 100)
    with pytest.warns(PrecisionWarning, match=r"\[0\].*1e\+07.*Subtract a constant") as warned:
        problem.from_prior(key, key, 50)
    problem.from_prior(key, key, 50)  # said once
    assert len(warned) == 1
    assert problem.simulator.unresolved.tolist() == [True, False]


@pytest.mark.parametrize(("rows", "budget"), [(3, 60), (1, 10), (4, 60)])
def test_those_who_simulate_few_rows_at_a_time_are_warned_once(key, rows, budget):
    problem = task(simulate=jax_shifted).problem(1, budget)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        while problem.simulator.left >= rows:
            problem.from_prior(random.fold_in(key, problem.simulator.left), key, rows)
    assert [w.category for w in warned] == [PrecisionWarning]
    assert problem.simulator.unresolved.tolist() == [True, False]


def test_four_rows_do_not_decide_for_good(key):
    rows = np.random.default_rng(3).normal(size=(60, 1))
    xs = np.concatenate([np.full((4, 1), 0.0), 1e7 + rows])
    pairs = sb.simulators.stored((np.linspace(-1, 1, 64)[:, None], xs))
    problem = sb.Task(name="late", prior=st.uniform(-1, 2), simulate_batch=pairs, x_obs=[1e7])
    problem = problem.problem(1, 64)
    problem.simulator._order = np.arange(64)
    for n in (4, 20, 20):
        problem.from_prior(key, key, n)
    assert problem.simulator.unresolved.tolist() == [True]  # warned of when that is sure
    with pytest.warns(PrecisionWarning):
        problem.from_prior(key, key, 20)
    assert problem.simulator.unresolved.tolist() == [True]


def test_the_spread_that_is_told_is_the_one_that_was_judged():
    xs = np.where(np.arange(200) == 7, 1e12, 1e7 + NOISE)[:, None]
    told = float((np.quantile(xs, 0.75) - np.quantile(xs, 0.25)) / 1.35)
    with pytest.warns(PrecisionWarning, match=rf"spread {told:.2g}\)"):
        warn_of("data columns", np.array([True]), xs, "in the simulator")


def test_so_are_parameters_far_from_zero(key):
    far = dist.Normal(np.array([0.0, 2_460_000.0]), np.array([1.0, 10.0])).to_event(1)
    with pytest.warns(PrecisionWarning, match=r"parameters \[1\].*constant in the prior"):
        priors.rows(far).sample(key, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        priors.rows(far).sample(key, 100)  # once is enough
        priors.rows(dist.Normal(2000.0 * np.ones(1), 5.0).to_event(1)).sample(key, 100)


def test_the_record_names_the_columns(monkeypatch):
    monkeypatch.setattr(
        module.registry.TASKS.__class__, "get", _getting(task(simulate=jax_shifted))
    )
    spec = RunSpec(
        task="mine", task_version=1, algorithm="rej_abc", settings={}, label="rej_abc", budget=200,
        observation=1, seed=0, samples=10,
    )  # fmt: skip
    with pytest.warns(PrecisionWarning):
        record, _ = execute(spec, ())
    assert record.status == "done"
    assert record.info["unresolved_columns"] == "0"


def _getting(mine):
    get = module.registry.TASKS.__class__.get
    return lambda kind, name: mine if name == "mine" else get(kind, name)


RNG = np.random.default_rng(2)
NOISE = RNG.normal(size=200)


@pytest.mark.parametrize(
    ("column", "coarse"),
    [
        (1e7 + NOISE, True),
        (1e5 + NOISE, True),
        (1e3 + NOISE, False),
        (1e-8 * NOISE, False),
        (1e7 + RNG.poisson(9, 200), False),  # whole numbers are exact
        (1e9 + RNG.poisson(9, 200), True),  # these are not
        (np.full(200, 1e7 + 0.3), False),  # tells nothing anyway
        (1e7 + 0.5 * (NOISE > 1.5), True),  # most are one value
        (np.where(NOISE > 2, 1e12, 1e7 + NOISE), True),  # outliers are no spread
        (np.where(NOISE > 2, 1e12, NOISE), False),  # and no offset
        (10.0 ** (4 * NOISE), False),
        (RNG.poisson(0.3, 200).astype(float), False),
    ],
)
def test_which_columns_are_rounded_too_coarsely(column, coarse):
    assert unresolved(column[:, None]).tolist() == [coarse]


def test_few_rows_tell_nothing():
    assert unresolved(1e7 + np.arange(3.0)[:, None] / 10) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.TASKS.names())
def test_no_task_of_ours_is_coarse(name, key):
    problem = sb.get_task(name).problem(1, 50)
    problem.from_prior(key, key, 50)
    assert not problem.simulator.unresolved.any()
