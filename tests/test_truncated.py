import dataclasses
import time

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core.errors import SamplingError, UsageError
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.flows import conditional_flow
from sbibench.inference.truncated import TruncatedPosterior

LOW, HIGH = np.array([-0.5, -0.3]), np.array([1.0, 0.9])


def posterior(toy_task, key, centre=0.0, deviation=0.5, prior=None):
    """Return an untrained flow around `centre`, cut to a box that a good part of it leaves."""
    box = prior or dist.Uniform(LOW, HIGH).to_event(1)
    problem = dataclasses.replace(toy_task.problem(1, 10), prior=box)
    rng = np.random.default_rng(0)
    thetas = (centre + deviation * rng.normal(size=(300, 2))).astype(np.float32)
    flow = conditional_flow(SplineFlow(hidden=8), 2, 2)
    params = flow.init(key, thetas, rng.normal(size=(300, 2)).astype(np.float32))
    return TruncatedPosterior(flow, params, problem, {}, max_proposals=50_000)


@pytest.mark.parametrize("x", [None, [1.5, -0.5]])
def test_the_density_integrates_to_one_over_the_support(toy_task, key, x):
    cut = posterior(toy_task, key)
    n = 300
    a = LOW[0] + (HIGH - LOW)[0] * (np.arange(n) + 0.5) / n
    b = LOW[1] + (HIGH - LOW)[1] * (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(a, b), -1).reshape(-1, 2)
    total = np.exp(cut.log_prob(grid, x)).sum() * np.prod(HIGH - LOW) / n**2
    np.testing.assert_allclose(total, 1.0, atol=0.015)  # the mass inside comes from 100k draws
    leaked = 1 - np.exp(cut._log_mass[np.asarray(cut._x(x)).tobytes()])
    assert leaked > 0.05  # so the correction is no formality


def test_all_samples_are_inside_and_outside_has_no_density(toy_task, key):
    cut = posterior(toy_task, key)
    samples = cut.sample(key, 3000)
    assert samples.shape == (3000, 2)
    assert samples.dtype == np.float32
    assert ((samples >= LOW) & (samples <= HIGH)).all()
    assert cut.info["acceptance_rate"] < 0.8
    assert cut.log_prob(np.array([[2.0, 0.0]]))[0] == -np.inf


def test_sampling_gives_up_in_words_when_all_mass_is_outside(toy_task, key):
    cut = posterior(toy_task, key, centre=1000.0)
    start = time.monotonic()
    with pytest.raises(SamplingError, match="0 of 100 samples after 50000 draws"):
        cut.sample(key, 100)
    assert time.monotonic() - start < 60
    with pytest.raises(SamplingError, match="none of the estimate's mass"):
        cut.log_prob(np.zeros((1, 2)))


@pytest.mark.parametrize("x", [[1.0], [np.nan, 0.0], [[0.0, 0.0]]])
def test_a_wrong_x_is_refused(toy_task, key, x):
    with pytest.raises(UsageError):
        posterior(toy_task, key).sample(key, 10, x)


def test_equal_keys_give_equal_samples(toy_task, key):
    cut = posterior(toy_task, key)
    np.testing.assert_array_equal(cut.sample(key, 50), cut.sample(key, 50))
    assert not np.array_equal(cut.sample(key, 50), cut.sample(jax.random.key(1), 50))
