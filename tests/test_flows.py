import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sbibench.core.errors import UsageError
from sbibench.inference import coupling
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.density import DensityEstimator
from sbibench.inference.flows import Flow, conditional_flow
from sbibench.inference.maf import MaskedFlow
from sbibench.inference.spline import inverse_spline, spline


@pytest.fixture(params=[SplineFlow(hidden=16), MaskedFlow(hidden=16)], ids=["nsf", "maf"])
def architecture(request):
    return request.param


def _fresh(architecture, d, p, key, scale=3.0):
    rng = np.random.default_rng(0)
    thetas = (5 + scale * rng.normal(size=(400, d))).astype(np.float32)
    xs = rng.normal(size=(400, p)).astype(np.float32)
    flow = conditional_flow(architecture, d, p)
    params = flow.init(key, thetas, xs)
    # Random weights far from the identity, so that the tests see a real transformation.
    weights = jax.tree.map(
        lambda a: (
            a + 0.1 * jax.random.normal(key, a.shape, a.dtype)
            if jnp.issubdtype(a.dtype, jnp.floating)
            else a
        ),
        params.weights,
    )
    return flow, params._replace(weights=weights), thetas, xs


@pytest.mark.parametrize(("d", "p"), [(1, 1), (2, 3), (5, 2)])
def test_log_determinant_agrees_with_autodiff(architecture, key, d, p):
    flow, params, _, xs = _fresh(architecture, d, p, key)
    params = jax.tree.map(
        lambda a: jnp.asarray(a, float) if jnp.issubdtype(a.dtype, jnp.floating) else a, params
    )
    # The noise behind θ, by inverting the sampler: q(θ|x) = N(z; 0, I) / |det dθ/dz|.
    z = jax.random.normal(key, (d,))
    theta, log_det = flow.from_noise(params, xs[0], z)
    jacobian = jax.jacfwd(lambda v: flow.from_noise(params, xs[0], v)[0])(z)
    np.testing.assert_allclose(log_det, jnp.linalg.slogdet(jacobian)[1], atol=1e-4)
    expected = -0.5 * jnp.sum(z**2) - 0.5 * d * jnp.log(2 * jnp.pi)
    expected -= jnp.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(flow.log_prob(params, xs[0], theta), expected, atol=1e-4)


def test_density_integrates_to_one(architecture, key):
    flow, params, _, xs = _fresh(architecture, 1, 2, key)
    grid = np.linspace(-30, 40, 20_001, dtype=np.float32)[:, None]
    density = np.exp(jax.vmap(lambda t: flow.log_prob(params, xs[0], t))(grid))
    np.testing.assert_allclose(np.trapezoid(density, grid[:, 0]), 1.0, atol=1e-3)


def test_samples_follow_the_density(architecture, key):
    flow, params, _, xs = _fresh(architecture, 1, 2, key)
    samples = jax.vmap(lambda k: flow.sample(params, xs[0], k))(jax.random.split(key, 20_000))
    grid = np.linspace(-30, 40, 20_001, dtype=np.float32)[:, None]
    density = np.exp(jax.vmap(lambda t: flow.log_prob(params, xs[0], t))(grid))
    cdf = np.cumsum(density) * (grid[1, 0] - grid[0, 0])
    ranks = np.interp(np.sort(np.asarray(samples)[:, 0]), grid[:, 0], cdf)
    # Kolmogorov-Smirnov: exceeded by chance once in a thousand times at 1.95 / sqrt(n).
    assert np.abs(ranks - np.linspace(0, 1, len(ranks))).max() < 1.95 / np.sqrt(len(ranks))


@pytest.mark.parametrize(("d", "p"), [(2, 2), (10, 4)])
def test_networks_compute_in_float32(architecture, key, d, p):
    flow, params, thetas, xs = _fresh(architecture, d, p, key)

    def mean_loss(weights):
        return flow.loss(params._replace(weights=weights), key, thetas[:7], xs[:7]).mean()

    def sample(weights):
        return flow.sample(params._replace(weights=weights), xs[0], key)

    gradient = jax.grad(mean_loss, allow_int=True)
    for program in (
        jax.make_jaxpr(gradient)(params.weights),
        jax.make_jaxpr(sample)(params.weights),
    ):
        # Literal numbers are f64[] before they are converted; nothing with an axis may be.
        assert re.search(r"f32\[\d", str(program))
        assert not re.search(r"f64\[\d", str(program))


def test_a_masked_step_sees_only_the_coordinates_before(key):
    d, p = 5, 3
    flow = MaskedFlow(transforms=1, hidden=7)
    layers = flow.init(key, d, p)
    layers = eqx.tree_at(lambda s: s.order, layers, jnp.arange(d)[None])
    layers = eqx.tree_at(lambda s: s.matrices[-1], layers, layers.matrices[-1] * 100)
    v, x = jax.random.normal(key, (d, 1), jnp.float32), jnp.ones((p, 1), jnp.float32)
    by_v = jax.jacfwd(lambda v: flow.to_noise(layers, v, x)[0])(v)[:, 0, :, 0]
    by_x = jax.jacfwd(lambda x: flow.to_noise(layers, v, x)[0])(x)[:, 0, :, 0]
    np.testing.assert_array_equal(np.triu(by_v, 1), 0)
    assert (np.abs(np.diag(by_v)) > 0).all()
    assert (by_v[np.tril_indices(d, -1)] != 0).all()
    assert (by_x != 0).all()


@pytest.mark.parametrize("d", [3, 4, 7, 10])
def test_every_coordinate_is_bent_more_than_once(d):
    flow = SplineFlow(hidden=4, blocks=1, bins=4)
    for seed in range(20):
        layers = flow.init(jax.random.key(seed), d, 1)
        at, bent = np.arange(d), np.zeros(d, int)
        for order in np.asarray(layers.order):
            assert sorted(order) == list(range(d))
            bent[at[d // 2 :]] += 1
            at = at[order]
        assert bent.min() >= 2


@pytest.mark.parametrize("wrong", [{"transforms": 0}, {"hidden": 0}, {"bins": 1}, {"bound": 0.0}])
def test_impossible_architectures_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        DensityEstimator(**wrong)


def test_a_density_estimator_names_its_architecture():
    assert DensityEstimator(hidden=20).architecture == SplineFlow(hidden=20)
    assert DensityEstimator("maf", transforms=3).architecture == MaskedFlow(transforms=3)


def test_a_spline_agrees_with_flowjax():
    from flowjax.bijections import RationalQuadraticSpline
    from flowjax.utils import get_ravelled_pytree_constructor

    rng = np.random.default_rng(0)
    bins, n = 10, 300
    raw = rng.normal(size=(3 * bins - 1, n))
    x = rng.uniform(-5, 5, size=n)
    # flowjax floors sizes at 1e-3 absolutely where ours does at 1e-3 of the interval, and it has
    # slopes at both ends; with the interval [-1/2, 1/2] and slopes of 1 there the two agree.
    scalar = RationalQuadraticSpline(knots=bins - 1, interval=(-0.5, 0.5))
    make, size = get_ravelled_pytree_constructor(scalar, filter_spec=eqx.is_inexact_array)
    inner = raw[2 * bins :] - np.log(np.expm1(1 - 1e-3))  # flowjax adds its initial value
    both = np.concatenate([raw[: 2 * bins], np.zeros((1, n)), inner, np.zeros((1, n))])
    assert size == len(both)
    expected = [make(r).transform_and_log_det(v) for r, v in zip(both.T, x / 8, strict=True)]
    y, log_slope = spline(jnp.asarray(raw), jnp.asarray(x / 8), 0.5)
    np.testing.assert_allclose(y, [e[0] for e in expected], atol=1e-9)
    np.testing.assert_allclose(log_slope, [e[1] for e in expected], atol=1e-7)
    back, log_slope_back = inverse_spline(jnp.asarray(raw), y, 0.5)
    np.testing.assert_allclose(back, x / 8, atol=1e-9)
    np.testing.assert_allclose(log_slope_back, -log_slope, atol=1e-6)


@pytest.mark.parametrize("d", [1, 3, 4])
@pytest.mark.parametrize(("start", "within"), [(coupling.START, 0.2), (0.0, 1e-5)])
def test_fresh_spline_flows_are_near_the_identity(key, monkeypatch, d, start, within):
    monkeypatch.setattr(coupling, "START", start)
    x = np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32)
    thetas = np.random.default_rng(1).normal(size=(500, d)).astype(np.float32)
    flow = Flow(SplineFlow(), d, 6)
    params = flow.init(key, thetas, x)
    shuffled = params.theta.columns(thetas)[_order(params.weights.order)]
    z, _ = flow.to_noise(params, x, thetas)
    assert np.sqrt(np.mean((z - shuffled) ** 2)) < within


def _order(orders):
    at = np.arange(orders.shape[1])
    for order in np.asarray(orders):
        at = at[order]
    return at


def test_one_architecture_is_one_object():
    assert conditional_flow(SplineFlow(), 2, 2) is conditional_flow(SplineFlow(), 2, 2)
