"""Data that float32, in which algorithms see them, can't hold."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jax import random

import sbibench as sb
from sbibench.core import registry
from sbibench.core.resolution import PrecisionWarning, unresolved
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
    thetas := np.random.default_rng(0).uniform(-2, 2, (50, 2)),
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
    problem = mine.problem(1, 50)
    with pytest.warns(PrecisionWarning, match=r"\[0\].*1e\+07.*Subtract a constant") as warned:
        problem.from_prior(key, key, 25)
    problem.from_prior(key, key, 25)  # said once
    assert len(warned) == 1
    assert problem.simulator.unresolved.tolist() == [True, False]


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
