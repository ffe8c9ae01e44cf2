import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sbibench.inference.flows import SplineFlow, conditional_flow


def _fresh(d, p, key, scale=3.0):
    rng = np.random.default_rng(0)
    thetas = (5 + scale * rng.normal(size=(400, d))).astype(np.float32)
    xs = rng.normal(size=(400, p)).astype(np.float32)
    flow = conditional_flow(SplineFlow(hidden=16), d, p)
    params = flow.init(key, thetas, xs)
    # Random weights far from the identity, so that the tests see a real transformation.
    weights = jax.tree.map(
        lambda a: a + 0.1 * jax.random.normal(key, a.shape, a.dtype)
        if jnp.issubdtype(a.dtype, jnp.floating)
        else a,
        params.weights,
    )
    return flow, params._replace(weights=weights), thetas, xs


@pytest.mark.parametrize(("d", "p"), [(1, 1), (2, 3), (5, 2)])
def test_log_determinant_agrees_with_autodiff(key, d, p):
    flow, params, _, xs = _fresh(d, p, key)
    params = jax.tree.map(
        lambda a: jnp.asarray(a, float) if jnp.issubdtype(a.dtype, jnp.floating) else a, params
    )
    # The noise behind θ, by inverting the sampler: q(θ|x) = N(z; 0, I) / |det dθ/dz|.
    z = jax.random.normal(key, (d,))
    theta = flow.from_noise(params, xs[0], z)
    jacobian = jax.jacfwd(lambda v: flow.from_noise(params, xs[0], v))(z)
    expected = -0.5 * jnp.sum(z**2) - 0.5 * d * jnp.log(2 * jnp.pi)
    expected -= jnp.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(flow.log_prob(params, theta, xs[0]), expected, atol=1e-4)


def test_density_integrates_to_one(key):
    flow, params, _, xs = _fresh(1, 2, key)
    grid = np.linspace(-30, 40, 20_001, dtype=np.float32)[:, None]
    density = np.exp(jax.vmap(lambda t: flow.log_prob(params, t, xs[0]))(grid))
    np.testing.assert_allclose(np.trapezoid(density, grid[:, 0]), 1.0, atol=1e-3)


def test_samples_follow_the_density(key):
    flow, params, _, xs = _fresh(1, 2, key)
    samples = jax.vmap(lambda k: flow.sample(params, xs[0], k))(jax.random.split(key, 20_000))
    grid = np.linspace(-30, 40, 20_001, dtype=np.float32)[:, None]
    density = np.exp(jax.vmap(lambda t: flow.log_prob(params, t, xs[0]))(grid))
    cdf = np.cumsum(density) * (grid[1, 0] - grid[0, 0])
    ranks = np.interp(np.sort(np.asarray(samples)[:, 0]), grid[:, 0], cdf)
    # Kolmogorov-Smirnov: exceeded by chance once in a thousand times at 1.95 / sqrt(n).
    assert np.abs(ranks - np.linspace(0, 1, len(ranks))).max() < 1.95 / np.sqrt(len(ranks))


@pytest.mark.parametrize(("d", "p"), [(2, 2), (10, 4)])
def test_networks_compute_in_float32(key, d, p):
    flow, params, thetas, xs = _fresh(d, p, key)
    rows = (params, key, thetas[:7], xs[:7])
    program = str(jax.make_jaxpr(jax.grad(lambda w, *r: flow.loss(params._replace(weights=w), *r).mean(), allow_int=True))(params.weights, *rows[1:]))
    # flowjax adds up the layers' log-determinants [7] in float64; nothing larger may be.
    wide = [line for line in program.splitlines() if "f64[7," in line and "50" in line]
    assert not wide
    assert flow.loss(*rows).dtype == jnp.float32
    assert flow.sample(params, xs[0], key).dtype == jnp.float32


def test_one_architecture_is_one_object():
    assert conditional_flow(SplineFlow(), 2, 2) is conditional_flow(SplineFlow(), 2, 2)
