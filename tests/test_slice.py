"""Slice sampling against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from sbibench.core.errors import SamplingError, UsageError
from sbibench.inference.slice import SliceSampling, slice_chains
from sbibench.inference.slice_host import HostChains

FAST = SliceSampling(warmup=20, thinning=4)


def gaussian(x, u):
    return -0.5 * jnp.sum(((u - x) / jnp.array([1.0, 5.0, 0.1])) ** 2)


def exponential(u):
    return jnp.where(u[0] >= 0, -u[0], -jnp.inf)


def test_a_gaussian_far_from_where_it_starts(key):
    start = np.random.default_rng(0).normal(size=(200, 3))
    x = np.array([3.0, -20.0, 0.5])
    draws, info = slice_chains(key, gaussian, start, 20, FAST, fixed=(x,))
    assert draws.shape == (200, 20, 3)
    z = (draws[:, ::4].reshape(-1, 3) - x) / [1.0, 5.0, 0.1]
    for j in range(3):
        assert scipy.stats.kstest(z[:, j], "norm").pvalue > 1e-3
    assert info["evaluations"] < 15 * 200 * (20 + 4 * 20) * 3


def test_an_edge(key):
    draws, _ = slice_chains(key, exponential, np.full((200, 1), 0.5), 20, FAST)
    assert (draws >= 0).all()
    assert scipy.stats.kstest(draws[:, ::4].ravel(), "expon").pvalue > 1e-3


@pytest.mark.parametrize(("caps", "width"), [({"max_out": 4}, 0.05), ({"max_in": 3}, 50.0)])
def test_caps_are_reported_and_leave_the_distribution_as_it_is(key, caps, width):
    """Intervals far too short can't reach out, too long ones not in: slow, not wrong."""
    tight = SliceSampling(warmup=0, thinning=40, **caps)
    start = np.random.default_rng(1).normal(size=(500, 1))  # already distributed as it should be
    draws, info = slice_chains(
        key, lambda u: -0.5 * u[0] ** 2, start, 3, tight, width=np.array([width])
    )
    assert info["capped"] > 1000
    assert abs(np.corrcoef(start[:, 0], draws[:, -1, 0])[0, 1]) < 0.9  # they did move
    assert scipy.stats.kstest(draws[:, -1].ravel(), "norm").pvalue > 1e-3


def test_nothing_is_compiled_for_another_number_of_draws_or_observation(key, compilations):
    start = np.zeros((50, 3))
    width = np.ones(3)
    slice_chains(key, gaussian, start, 2, FAST, fixed=(np.zeros(3),), width=width)
    before = compilations()
    slice_chains(key, gaussian, start, 5, FAST, fixed=(np.ones(3),), width=width)
    assert compilations() == before


def test_same_key_same_draws(key):
    start = np.zeros((50, 3))
    first, second = (
        slice_chains(key, gaussian, start, 2, FAST, fixed=(np.zeros(3),))[0] for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    other = slice_chains(jax.random.key(1), gaussian, start, 2, FAST, fixed=(np.zeros(3),))[0]
    assert not np.array_equal(first, other)


def test_a_start_without_density_is_an_error_in_words(key):
    with pytest.raises(SamplingError, match="1 of 2 chains start where the density is 0"):
        slice_chains(key, exponential, np.array([[1.0], [-1.0]]), 1, FAST)


@pytest.mark.parametrize(("warmup", "thinning"), [(0, 1), (1, 1), (2, 1), (0, 3)])
def test_every_draw_is_one_however_short_the_chains(key, warmup, thinning):
    start = np.random.default_rng(0).normal(size=(400, 1))
    short = SliceSampling(warmup=warmup, thinning=thinning)
    draws, _ = slice_chains(key, lambda u: -0.5 * u[0] ** 2, start, 3, short)
    for i in range(3):
        assert scipy.stats.kstest(draws[:, i, 0], "norm").pvalue > 1e-3
    assert (draws[:, 0] != start).all()
    assert (draws[:, 1:] != draws[:, :-1]).all()


def test_no_sweep_between_draws_is_refused():
    with pytest.raises(UsageError, match="thinning is 1 sweep or more, not 0"):
        SliceSampling(thinning=0)


def _on_host(key, log_density, start, turns):
    chains = HostChains(key, start, log_density(start), SliceSampling())
    for turn in range(turns):
        chains.move(log_density(chains.places()), keep=turn >= 100)
    return chains


def test_chains_driven_from_outside_draw_the_same_distribution(key):
    start = np.random.default_rng(0).normal(size=(200, 3))
    scale, mean = np.array([1.0, 5.0, 0.1]), np.array([3.0, -20.0, 0.5])
    chains = _on_host(key, lambda us: -0.5 * (((us - mean) / scale) ** 2).sum(1), start, 1000)
    assert len(chains.draws) == chains.draws.shape[0] > 20
    z = (chains.draws[::8].reshape(-1, 3) - mean) / scale
    for j in range(3):
        assert scipy.stats.kstest(z[:, j], "norm").pvalue > 1e-3


def test_both_drivers_take_the_same_steps(key):
    start = np.random.default_rng(0).normal(size=(30, 2))
    once = SliceSampling(warmup=0, thinning=1)
    wanted, _ = slice_chains(key, lambda u: -0.5 * jnp.sum(u**2), start, 1, once)
    chains = _on_host(key, lambda us: -0.5 * (us**2).sum(1), start, 0)
    while chains.sweeps.min() < 1:
        chains.move(-0.5 * (chains.places() ** 2).sum(1), keep=True)
    np.testing.assert_allclose(chains.draws[0], wanted[:, 0])


def test_a_density_estimated_with_noise_is_drawn_by_its_mean(key):
    """Noise whose exponential has the mean 1 widens nothing."""
    rng, sd = np.random.default_rng(2), 0.7
    start = rng.normal(size=(400, 1))

    def noisy(us):
        return -0.5 * us[:, 0] ** 2 + sd * rng.normal(size=len(us)) - sd**2 / 2

    draws = _on_host(key, noisy, start, 800).draws
    np.testing.assert_allclose(draws.mean(), 0, atol=0.06)
    np.testing.assert_allclose(draws.std(), 1, atol=0.05)


def test_a_start_without_density_is_an_error_for_both_drivers(key):
    with pytest.raises(SamplingError, match="1 of 2 chains"):
        HostChains(key, np.zeros((2, 1)), np.array([0.0, -np.inf]), SliceSampling())


@pytest.mark.parametrize("wrong", [{"warmup": -1}, {"thinning": 0}, {"max_out": 0}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(UsageError):
        SliceSampling(**wrong)


def _correlated(u):
    return -0.5 * jnp.sum(jnp.linalg.solve(jnp.array([[1.0, 0.95], [0.95, 1.0]]), u) * u)


def _moons(u):
    """Log density of two crescents: thin arcs of radius 1 that open to the left and right."""
    arcs = [-0.5 * ((jnp.hypot(u[0] - c, u[1]) - 1) / 0.1) ** 2 for c in (-2.0, 2.0)]
    outer = [jnp.where(s * (u[0] - c) > 0, 0.0, -jnp.inf) for s, c in ((-1, -2.0), (1, 2.0))]
    return jnp.logaddexp(arcs[0] + outer[0], arcs[1] + outer[1])


def test_a_correlated_gaussian_keeps_its_moments(key):
    start = np.random.default_rng(0).normal(size=(200, 2))
    draws, _ = slice_chains(key, _correlated, start, 50, SliceSampling(50, 10))
    flat = draws.reshape(-1, 2)
    np.testing.assert_allclose(np.cov(flat.T), [[1, 0.95], [0.95, 1]], atol=0.08)
    np.testing.assert_allclose(flat.mean(0), 0, atol=0.08)


def test_crescents_keep_their_shape_and_both_their_halves(key):
    # Half the chains in each crescent, at the tips of their arcs.
    start = np.tile([[-3.0, 0.0], [3.0, 0.0]], (100, 1))
    draws, _ = slice_chains(key, _moons, start, 50, SliceSampling(50, 5))
    flat = draws.reshape(-1, 2)
    side = np.where(flat[:, 0] > 0, 2.0, -2.0)
    radius = np.hypot(flat[:, 0] - side, flat[:, 1])
    # By the polar volume the radius has the density r exp(-(r - 1)² / 0.02): mean 1.01.
    np.testing.assert_allclose(radius.mean(), 1.01, atol=0.01)
    np.testing.assert_allclose(radius.std(), 0.1, atol=0.01)
    angle = np.arctan2(flat[:, 1], (flat[:, 0] - side) * np.sign(side))
    np.testing.assert_allclose(angle.mean(), 0, atol=0.06)
    np.testing.assert_allclose(angle.std(), np.pi / np.sqrt(12), atol=0.05)
    assert 0.4 < (flat[:, 0] > 0).mean() < 0.6
