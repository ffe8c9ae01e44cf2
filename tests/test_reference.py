"""Exact samplers against closed forms."""

import jax
import numpy as np
import pytest
import scipy.stats

from sbibench.core import priors, registry
from sbibench.core.errors import SamplingError
from sbibench.reference.gaussian import gaussian, truncated_gaussian
from sbibench.reference.rejection import rejection

KEY = jax.random.key(4)
EXACT = [n for n in registry.TASKS.names() if registry.TASKS.get(n).reference is not None]


@pytest.fixture(scope="module", params=EXACT)
def task(request):
    return registry.TASKS.get(request.param)


def test_there_are_exact_samplers():
    assert {"gaussian_linear", "gaussian_linear_uniform", "gaussian_mixture", "two_moons"} <= set(
        EXACT
    )


def test_samples_are_as_many_as_asked_for_and_depend_on_the_key(task):
    assert task.reference(KEY, task.observation(1), 3).shape == (3, task.d)
    other = task.reference(jax.random.key(5), task.observation(1), 3)
    assert not np.array_equal(task.reference(KEY, task.observation(1), 3), other)


@pytest.mark.parametrize("name", ["gaussian_linear_uniform", "gaussian_mixture"])
def test_observations_outside_the_box_have_a_posterior_too(name):
    task = registry.TASKS.get(name)
    for far in (1.5, 5.0):
        x = far * np.asarray(task.prior.base_dist.high)
        samples = task.reference(KEY, x, 1000)
        assert priors.rows(task.prior).inside(priors.rows(task.prior).single(samples)).all()


@pytest.mark.parametrize("name", [n for n in EXACT if registry.TASKS.get(n).d == 2])
def test_draws_in_the_plane_follow_prior_times_likelihood(name):
    """The share of draws on one side of a line is that of the likelihood, by quadrature."""
    task = registry.TASKS.get(name)
    x = task.observation(1)
    samples = task.reference(KEY, x, 10_000)
    low, high = samples.min(0), samples.max(0)
    grid = np.random.default_rng(1).uniform(low, high, (400_000, 2))
    log_density = jax.jit(jax.vmap(task.log_likelihood, in_axes=(0, None)))(grid, x)
    inside = priors.rows(task.prior).inside(grid)
    density = np.where(inside, np.exp(np.asarray(log_density)), 0.0)
    for q in (0.2, 0.5, 0.8):
        for axis in (0, 1):
            edge = np.quantile(samples[:, axis], q)
            share = density[grid[:, axis] < edge].sum() / density.sum()
            assert share == pytest.approx(q, abs=0.03)


def test_gaussian_moments():
    mean, scale = np.array([1.0, -3.0]), np.array([0.5, 2.0])
    samples = gaussian(KEY, mean, scale, 20_000)
    np.testing.assert_allclose((samples.mean(0) - mean) / scale, 0, atol=5 / np.sqrt(20_000))
    np.testing.assert_allclose(samples.std(0) / scale, 1, atol=5 / np.sqrt(40_000))


def test_truncated_gaussian_follows_its_law_however_far_the_box():
    mean = np.array([0.0, 0.9, 5.0, -30.0, 45.0, 0.0])
    scale = np.array([1.0, 0.3, 1.0, 0.5, 1.0, 1e-3])
    low, high = np.full(6, -1.0), np.full(6, 1.0)
    samples = truncated_gaussian(KEY, mean, scale, (low, high), 5000)
    assert ((samples >= -1) & (samples <= 1)).all()
    for j in range(6):
        law = scipy.stats.truncnorm(
            (low[j] - mean[j]) / scale[j], (high[j] - mean[j]) / scale[j], mean[j], scale[j]
        )
        assert scipy.stats.kstest(samples[:, j], law.cdf).pvalue > 1e-3


def test_gaussian_linear_posterior_in_closed_form():
    task = registry.TASKS.get("gaussian_linear")
    x = task.observation(2)
    z = (task.reference(KEY, x, 10_000) - x / 2) / np.sqrt(0.05)
    assert np.abs(z.mean(0)).max() < 5 / np.sqrt(10_000)
    assert np.abs(z.std(0) - 1).max() < 5 / np.sqrt(20_000)


def test_gaussian_mixture_cut_by_the_box_keeps_the_right_weights():
    task = registry.TASKS.get("gaussian_mixture")
    x = np.array([10.0, 0.0])  # at the edge: each component loses half
    samples = task.reference(KEY, x, 20_000)
    near = (np.abs(samples - x) < 0.3).all(1).mean()
    wide, narrow = (scipy.stats.norm(scale=s).cdf(0.3) * 2 - 1 for s in (1.0, 0.1))
    assert near == pytest.approx((wide**2 + narrow**2) / 2, abs=0.02)
    x = np.array([10.2, 0.0])  # outside: the narrow one keeps 2 %, the wide one 42 %
    samples = task.reference(KEY, x, 20_000)
    kept = np.array([scipy.stats.norm(scale=s).cdf(-0.2) for s in (1.0, 0.1)])
    far = (samples[:, 0] < 9.0).mean()
    assert far == pytest.approx(scipy.stats.norm.cdf(-1.2) / kept.sum(), abs=0.02)


def test_rejection_gives_up_at_its_cap():
    def hopeless(rng, m):
        return rng.standard_normal((m, 2)), np.zeros(m, bool)

    with pytest.raises(SamplingError, match="kept 0 of"):
        rejection(KEY, hopeless, 100, cap=20)
