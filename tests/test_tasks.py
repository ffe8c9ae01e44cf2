"""What every task keeps to, and what is particular to some."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from contract import kept, points
from sbibench.contract.tasks import Model
from sbibench.core import priors, registry
from sbibench.core.blocks import map_rows
from sbibench.core.models import bernoulli_glm as glm
from sbibench.core.models import slcp
from sbibench.tasks import bernoulli_glm_raw, sir, slcp_distractors, two_moons

KEY = jax.random.key(20)


@pytest.fixture(scope="module", params=registry.TASKS.names())
def model(request):
    return Model(request.param)


@points("task")
def test_the_contract_is_kept(model, point):
    kept(point, model)


# --------------------------------------------------------------------- particular laws

model_of = functools.cache(Model)


def prior_draws(task):
    return model_of(task.name).thetas


def repeat(task, key, theta, n):
    """Return n draws of x at one θ, in float64."""
    return model_of(task.name).repeat(key, theta, n)


def within(values, expected, errors=5.0):
    """Whether the mean over rows is the expected one to a few standard errors."""
    error = values.std(0, ddof=1) / np.sqrt(len(values))
    return (np.abs(values.mean(0) - expected) <= errors * error + 1e-12).all()


@pytest.mark.parametrize("name", ["gaussian_linear", "gaussian_linear_uniform"])
def test_the_noise_of_gaussian_linear_has_variance_a_tenth(name):
    theta = np.linspace(-0.9, 0.9, 10)
    noise = repeat(registry.TASKS.get(name), KEY, theta, 10_000) - theta
    assert within(noise, 0.0)
    assert within(noise**2, 0.1)
    assert within(noise[:, :5] * noise[:, 5:], 0.0)


def test_the_prior_of_gaussian_linear_has_variance_a_tenth():
    thetas = priors.rows(registry.TASKS.get("gaussian_linear").prior).sample(KEY, 10_000)
    assert within(thetas**2, 0.1)


def test_every_row_of_a_gaussian_mixture_draws_its_component():
    xs = repeat(registry.TASKS.get("gaussian_mixture"), KEY, np.array([3.0, -2.0]), 1000)
    xs = xs - np.array([3.0, -2.0])
    assert within(xs**2, 0.505)
    near = (xs**2).sum(1) < 0.3**2  # P = 1 - exp(-r²/2s²) in each component
    expected = 0.5 * (1 - np.exp(-(0.3**2) / 0.02)) + 0.5 * (1 - np.exp(-(0.3**2) / 2))
    assert within(near[:, None].astype(float), expected)


@pytest.mark.parametrize("theta", [[0.7, -2.9, -1.0, -0.9, 0.6], [0.0, 1.0, 2.0, 0.1, -3.0]])
def test_slcp_has_the_covariance_it_says(theta):
    theta = np.array(theta)
    points = repeat(registry.TASKS.get("slcp"), KEY, theta, 10_000).reshape(-1, 2) - theta[:2]
    s1, s2, rho = theta[2] ** 2, theta[3] ** 2, np.tanh(theta[4])
    products = np.stack([points[:, 0] ** 2, points[:, 1] ** 2, points.prod(1)], axis=1)
    assert within(products, [s1**2 + 1e-6, s2**2 + 1e-6, rho * s1 * s2])


def test_slcp_likelihood_is_the_gaussian_one():
    thetas, x = prior_draws(registry.TASKS.get("slcp")), np.linspace(-2, 2, 8)
    for theta in thetas[:20]:
        s1, s2, rho = theta[2] ** 2, theta[3] ** 2, np.tanh(theta[4])
        S = np.array([[s1**2, rho * s1 * s2], [rho * s1 * s2, s2**2]]) + 1e-6 * np.eye(2)
        expected = scipy.stats.multivariate_normal(theta[:2], S).logpdf(x.reshape(4, 2)).sum()
        np.testing.assert_allclose(slcp.log_likelihood(theta, x), expected, rtol=1e-6)


def test_distractors_hide_the_observations_of_slcp():
    full, small = registry.TASKS.get("slcp_distractors"), registry.TASKS.get("slcp")
    np.testing.assert_array_equal(full.observations[:, slcp_distractors.WHERE], small.observations)
    np.testing.assert_array_equal(full.thetas_true, small.thetas_true)


def test_distractors_are_one_draw_of_a_mixture_of_student_t():
    # Of 10 values, since the whole scale factors are too ill-conditioned to be undone.
    n, d = 5000, 10
    noise = map_rows(slcp_distractors.noise, key=KEY, n=n)[:, :d]
    factors = slcp_distractors.FACTORS[:, :d, :d]
    centred = noise[None] - slcp_distractors.LOCATIONS[:, None, :d]
    squares = (np.linalg.solve(factors, np.moveaxis(centred, 2, 1)) ** 2).sum(1)
    determinants = np.log(np.abs(np.linalg.det(factors)))
    density = -determinants[:, None] - (2 + d) / 2 * np.log1p(squares / 2)
    # A component drawn given the noise has, with the noise, the law that they had at first.
    gumbel = np.random.default_rng(0).gumbel(size=density.shape)
    component = (density + gumbel).argmax(0)
    # Of a t with 2 degrees of freedom in d dimensions, |whitened|²/d has the law F(d, 2).
    radius = squares[component, np.arange(n)] / d
    assert scipy.stats.kstest(radius, scipy.stats.f(d, 2).cdf).pvalue > 1e-3
    counts = np.bincount(component, minlength=20)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_the_statistics_of_bernoulli_glm_are_those_of_the_spikes():
    summary, raw = (registry.TASKS.get(n) for n in ("bernoulli_glm", "bernoulli_glm_raw"))
    np.testing.assert_allclose(raw.observations @ glm.DESIGN, summary.observations, atol=1e-4)
    np.testing.assert_array_equal(raw.thetas_true, summary.thetas_true)
    thetas = prior_draws(raw)
    spikes = map_rows(raw.simulate, thetas, key=KEY)
    assert set(np.unique(spikes)) == {0.0, 1.0}
    np.testing.assert_allclose(
        map_rows(summary.simulate, thetas, key=KEY), spikes @ glm.DESIGN, atol=1e-9
    )
    for theta, y in zip(thetas[:5], spikes[:5], strict=True):
        p = scipy.special.expit(glm.DESIGN @ theta)
        expected = scipy.stats.bernoulli(p).logpmf(y).sum()
        np.testing.assert_allclose(raw.log_likelihood(theta, y), expected, rtol=1e-8)
        np.testing.assert_allclose(
            summary.log_likelihood(theta, y @ glm.DESIGN), expected, rtol=1e-8
        )


def test_bernoulli_glm_raw_knows_what_is_impossible():
    y = np.full(glm.BINS, 0.5)
    value, gradient = jax.value_and_grad(bernoulli_glm_raw.log_likelihood)(jnp.zeros(10), y)
    assert value == -np.inf
    assert np.isfinite(gradient).all()


def test_the_prior_of_bernoulli_glm():
    M = glm.FILTER
    D = np.eye(M) - np.eye(M, k=-1)
    F = D @ D + np.diag([np.sqrt(i / 9) for i in range(M)])
    covariance = np.asarray(glm.PRIOR.covariance_matrix)
    np.testing.assert_allclose(covariance[1:, 1:] @ F.T @ F, np.eye(M), atol=1e-6)
    assert covariance[0, 0] == pytest.approx(2.0)
    assert not covariance[0, 1:].any()


def test_two_moons_likelihood_integrates_to_one():
    theta = np.array([0.3, -0.6])
    grid = np.linspace(-1, 1, 1001) * 0.2
    x0, x1 = np.meshgrid(0.25 + grid + 1e-5, grid, indexing="ij")
    shift = np.asarray(two_moons.shift(jnp.array(theta)))
    xs = np.stack([x0.ravel(), x1.ravel()], axis=1) + shift
    density = np.exp(model_of("two_moons").likelihood_of_many(theta, xs))
    assert density.sum() * (grid[1] - grid[0]) ** 2 == pytest.approx(1, abs=2e-3)


def test_two_moons_likelihood_behind_the_crescent():
    value, gradient = jax.value_and_grad(two_moons.log_likelihood)(
        jnp.array([0.0, 0.0]), jnp.array([0.2, 0.0])
    )
    assert value == -np.inf
    assert np.isfinite(gradient).all()


def test_sir_draws_are_binomial():
    p = np.array([0.0, 1e-9, 1e-3, 0.3, 0.5, 0.5000001, 0.9, 1.0])
    u = np.random.default_rng(0).uniform(size=(2000, len(p)))
    k = map_rows(sir.binomial, u, np.tile(p, (2000, 1)))
    np.testing.assert_array_equal(
        k[:, p <= 0.5], scipy.stats.binom(1000, p[p <= 0.5]).ppf(u[:, p <= 0.5]).clip(0)
    )
    mirrored = 1000 - scipy.stats.binom(1000, 1 - p[p > 0.5]).ppf(u[:, p > 0.5]).clip(0)
    np.testing.assert_array_equal(k[:, p > 0.5], mirrored)
    tails = np.array([1e-12, 1 - 1e-12])
    k = sir.binomial(jnp.array(tails), jnp.array([0.5, 0.5]))
    np.testing.assert_array_equal(k, scipy.stats.binom(1000, 0.5).ppf(tails))
    assert np.isnan(sir.binomial(jnp.array([0.5]), jnp.array([jnp.nan]))).all()


def test_sir_likelihood_is_binomial():
    task = registry.TASKS.get("sir")
    theta, x = task.true_parameters(1), task.observation(1)
    p = np.exp(map_rows(sir.log_infected, theta[None])[0])
    expected = scipy.stats.binom(1000, p).logpmf(x).sum()
    values = model_of(task.name).likelihood_of_many(theta, np.stack([x, x + 0.5, x - 1, x + 1000]))
    assert values[0] == pytest.approx(expected, rel=1e-6)
    assert (values[1:] == -np.inf).all()


@pytest.mark.parametrize("name", ["sir", "lotka_volterra"])
def test_what_has_no_solution_is_invalid(name):
    task = registry.TASKS.get(name)
    thetas = np.array(prior_draws(task)[:4])
    thetas[1] = np.inf
    result = model_of(name).simulator(KEY, thetas)
    assert result.valid.tolist() == [True, False, True, True]
    values, gradients = model_of(name).value_and_gradient(
        np.resize(thetas, (101, task.d)), task.observation(1)
    )
    assert values[1] == -np.inf
    assert np.isfinite(gradients[1]).all()


@pytest.mark.parametrize("name", ["sir", "lotka_volterra"])
def test_simulations_from_the_prior_are_finite_so_that_no_algorithm_refuses_them(name):
    task = registry.TASKS.get(name)
    thetas = priors.rows(task.prior).sample(jax.random.key(5), 5000)
    simulations = task.problem(1, 5000).simulator(jax.random.key(6), thetas)
    assert len(simulations.accept("refuse").xs) == 5000
