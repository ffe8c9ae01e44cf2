import time

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core.errors import SamplingError, UsageError
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.features import Features
from sbibench.inference.flows import conditional_flow
from sbibench.inference.truncated import TruncatedPosterior

LOW, HIGH = np.array([-0.5, -0.3]), np.array([1.0, 0.9])


def posterior(toy_task, key, centre=0.0, deviation=0.5, prior=None):
    """Return an untrained flow around `centre`, cut to a box that a good part of it leaves."""
    box = prior or dist.Uniform(LOW, HIGH).to_event(1)
    x_obs = toy_task.problem(1, 10).x_obs
    rng = np.random.default_rng(0)
    thetas = (centre + deviation * rng.normal(size=(300, 2))).astype(np.float32)
    flow = conditional_flow(SplineFlow(hidden=8), 2, 2)
    xs = rng.normal(size=(300, 2)).astype(np.float32)
    params = flow.init(key, thetas, xs)
    features = Features.fit(xs, log_data=True)
    return TruncatedPosterior(flow, params, features, box, x_obs, {}, max_proposals=50_000)


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
    with pytest.raises(SamplingError, match="none of 50000 draws"):
        cut.sample(key, 100)
    assert time.monotonic() - start < 60
    with pytest.raises(SamplingError, match="none of the estimate's mass"):
        cut.log_prob(np.zeros((1, 2)))


def test_chains_take_over_where_draws_are_rare(toy_task, key):
    cut = posterior(toy_task, key, centre=0.3, deviation=0.2)
    wanted = cut.sample(key, 4000)
    rare = posterior(toy_task, key, centre=0.3, deviation=0.2)
    rare._max_proposals = 1
    short = rare._prolonged(key, rare._x(None), wanted[:30], 4000, 10_000)
    assert rare.info["chains"] == 100
    assert ((short >= LOW) & (short <= HIGH)).all()
    assert len(np.unique(short, axis=0)) == 4000
    np.testing.assert_allclose(short.mean(0), wanted.mean(0), atol=0.03)
    np.testing.assert_allclose(short.std(0), wanted.std(0), rtol=0.1)


@pytest.mark.parametrize("x", [[1.0], [np.nan, 0.0], [[0.0, 0.0]]])
def test_a_wrong_x_is_refused(toy_task, key, x):
    with pytest.raises(UsageError):
        posterior(toy_task, key).sample(key, 10, x)


def test_equal_keys_give_equal_samples(toy_task, key):
    cut = posterior(toy_task, key)
    np.testing.assert_array_equal(cut.sample(key, 50), cut.sample(key, 50))
    assert not np.array_equal(cut.sample(key, 50), cut.sample(jax.random.key(1), 50))
