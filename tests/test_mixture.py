import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sbibench.inference.mdn import MixtureDensity, mixture_density
from sbibench.inference.mixture import WIDEST, Gaussian, Mixture, divide, draw, log_density


def _mixture(rng, k, d, precision=5.0):
    roots = rng.normal(size=(k, d, d))
    return Mixture(
        rng.normal(size=k),
        rng.normal(size=(k, d)),
        roots @ roots.transpose(0, 2, 1) + precision * np.eye(d),
    )


def _log_gaussian(us, gaussian):
    z = us - gaussian.mean
    return -0.5 * np.einsum("ni,ij,nj->n", z, gaussian.precision, z)


def test_density_integrates_to_one():
    mixture = _mixture(np.random.default_rng(0), 3, 2)
    axis = np.linspace(-8, 8, 401)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = np.exp(jax.vmap(lambda u: log_density(mixture, u))(grid))
    np.testing.assert_allclose(density.sum() * (axis[1] - axis[0]) ** 2, 1.0, atol=1e-3)


def test_draws_have_the_moments_of_the_mixture(key):
    mixture = _mixture(np.random.default_rng(1), 3, 2)
    us = np.asarray(
        jax.vmap(lambda k: draw(jax.tree.map(jnp.asarray, mixture), k))(
            jax.random.split(key, 40_000)
        )
    )
    w = np.exp(mixture.log_weights) / np.exp(mixture.log_weights).sum()
    mean = w @ mixture.means
    second = np.einsum(
        "k,kij->ij",
        w,
        np.linalg.inv(mixture.precisions) + np.einsum("ki,kj->kij", mixture.means, mixture.means),
    )
    np.testing.assert_allclose(us.mean(0), mean, atol=0.02)
    np.testing.assert_allclose(us.T @ us / len(us), second, atol=0.03)


@pytest.mark.parametrize("uniform", [True, False])
def test_division_agrees_with_the_densities(uniform):
    rng = np.random.default_rng(2)
    mixture = _mixture(rng, 4, 2)
    proposal = Gaussian(rng.normal(size=2), np.array([[2.0, 0.3], [0.3, 1.0]]))
    prior = Gaussian(rng.normal(size=2), np.zeros((2, 2)) if uniform else np.diag([0.5, 0.8]))
    quotient, mended = divide(mixture, proposal, prior)
    assert mended == 0
    us = rng.normal(size=(50, 2))
    got = jax.vmap(lambda u: log_density(quotient, u))(us)
    wanted = jax.vmap(lambda u: log_density(mixture, u))(us)
    wanted = wanted + _log_gaussian(us, prior) - _log_gaussian(us, proposal)
    np.testing.assert_allclose(np.ptp(np.asarray(got - wanted)), 0, atol=1e-9)


def test_a_component_wider_than_the_proposal_is_mended_in_that_direction_alone():
    mixture = Mixture(np.zeros(1), np.zeros((1, 2)), np.diag([1.0, 8.0])[None])
    proposal = Gaussian(np.full(2, 0.5), np.diag([2.0, 4.0]))
    flat = Gaussian(np.zeros(2), np.zeros((2, 2)))
    quotient, mended = divide(mixture, proposal, flat)
    assert mended == 1
    np.testing.assert_allclose(quotient.precisions[0], np.diag([1 / WIDEST, 4.0]), atol=1e-12)
    np.testing.assert_allclose(quotient.means[0], [0.0, -0.5], atol=1e-12)


def test_a_network_s_loss_is_the_density_of_its_mixture(key):
    mdn = mixture_density(MixtureDensity(components=3, hidden=8), 2, 4)
    rng = np.random.default_rng(3)
    us = (3 + 2 * rng.normal(size=(30, 2))).astype(np.float32)
    xs = rng.normal(size=(30, 4)).astype(np.float32)
    params = mdn.init(key, us, xs)
    losses = mdn.loss(params, key, us, xs)
    for u, x, loss in zip(us[:5], xs[:5], losses[:5], strict=True):
        value = log_density(mdn.at(params, x), u.astype(float))
        np.testing.assert_allclose(value, -loss, atol=1e-4)


def test_a_grown_network_starts_as_the_small_one(key):
    small = mixture_density(MixtureDensity(components=1, hidden=8), 2, 2)
    large = mixture_density(MixtureDensity(components=5, hidden=8), 2, 2)
    rows = np.random.default_rng(4).normal(size=(40, 2)).astype(np.float32)
    params = small.init(key, rows, rows)
    grown = large.grown(key, params)
    before, after = (
        np.asarray(m.loss(p, key, rows, rows)).mean() for m, p in ((small, params), (large, grown))
    )
    np.testing.assert_allclose(after, before, rtol=0.05)
