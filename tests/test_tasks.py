"""What every task keeps to, and what is particular to some."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jaxtyping import TypeCheckError

from sbibench.core import priors, registry
from sbibench.core.blocks import map_rows
from sbibench.core.deadline import Deadline
from sbibench.core.errors import UsageError
from sbibench.core.models import bernoulli_glm as glm
from sbibench.core.models import slcp
from sbibench.core.simulator import Simulator
from sbibench.tasks import bernoulli_glm_raw, sir, slcp_distractors, two_moons

KEY = jax.random.key(20)
COMPILED: list[str] = []


def _note(event: str, _: float, **__: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(_note)


@pytest.fixture(scope="module", params=registry.TASKS.names())
def task(request):
    return registry.TASKS.get(request.param)


@functools.cache
def prior_draws(task):
    return priors.rows(task.prior).sample(KEY, 100).astype(np.float64)


def simulator(task, budget=10**6):
    return Simulator(task.simulate, (task.d, task.p), budget, Deadline())


def repeat(task, key, theta, n):
    """Return n draws of x at one θ, in float64."""
    return map_rows(task.simulate, np.tile(theta, (n, 1)), key=key)


@functools.cache
def value_and_gradient(task):
    return jax.jit(jax.vmap(jax.value_and_grad(task.log_likelihood), in_axes=(0, None)))


@functools.cache
def likelihood_of_many(task):
    """(θ, xs) -> log likelihoods of all xs at one θ."""
    return jax.jit(jax.vmap(task.log_likelihood, in_axes=(None, 0)))


# ------------------------------------------------------------------------------ contract


def test_name_is_the_file_and_texts_are_there(task):
    assert task.name in registry.TASKS.names()
    assert task.label
    assert task.citation
    assert len(set(task.parameter_names)) == task.d
    assert len(set(task.data_names)) == task.p


def test_simulations_have_shape_type_and_are_valid(task):
    thetas = prior_draws(task)
    assert thetas.shape == (100, task.d)
    assert priors.rows(task.prior).inside(thetas).all()
    result = simulator(task)(KEY, thetas)
    assert result.xs.shape == (100, task.p)
    assert result.xs.dtype == np.float32
    assert result.valid.all()
    assert len(np.unique(result.xs, axis=0)) > 90


def test_a_batch_is_its_single_calls(task):
    thetas = prior_draws(task)
    batch = map_rows(task.simulate, thetas, key=KEY)
    assert batch.dtype == np.float64
    single = jax.jit(task.simulate)
    for i in (0, 1, 99):
        x = single(jax.random.fold_in(KEY, i), thetas[i])
        np.testing.assert_allclose(batch[i], x, rtol=1e-9, atol=1e-9)


def test_same_key_same_result_and_another_key_another(task):
    thetas = prior_draws(task)
    first = simulator(task)(KEY, thetas).xs
    np.testing.assert_array_equal(first, simulator(task)(KEY, thetas).xs)
    assert not np.array_equal(first, simulator(task)(jax.random.key(21), thetas).xs)


def test_no_second_compilation(task):
    thetas = np.tile(prior_draws(task), (11, 1))
    simulator(task)(KEY, thetas[:5])
    before = len(COMPILED)
    simulator(task)(jax.random.key(3), thetas)
    assert len(COMPILED) == before
    jax.jit(lambda x: x + before)(1.0)
    assert len(COMPILED) > before  # the counter does count


def test_prior_goes_to_the_whole_space_and_back(task):
    rows, thetas = priors.rows(task.prior), prior_draws(task)
    us = rows.from_support(thetas)
    assert np.isfinite(us).all()
    np.testing.assert_allclose(rows.to_support(us), thetas, rtol=1e-5, atol=1e-5)
    assert np.isfinite(rows.log_prob(thetas)).all()


def test_observations_beyond_the_canonical_ones_are_simulated_the_same_everywhere(task):
    xs = [task.observation(i) for i in (11, 12, 2**31 - 1)]
    for i, x in zip((11, 12), xs, strict=False):
        assert x.shape == (task.p,)
        assert x.dtype == np.float64
        assert np.isfinite(x).all()
        np.testing.assert_array_equal(x, task.observation(i))
        np.testing.assert_array_equal(x, x.astype(np.float32))
        theta = task.true_parameters(i)
        assert priors.rows(task.prior).inside(theta[None]).all()
        assert np.isfinite(jax.jit(task.log_likelihood)(jnp.asarray(theta), jnp.asarray(x)))
    assert not np.array_equal(xs[0], xs[1])


def test_observations_count_from_one(task):
    for i in range(1, 11):
        assert task.observation(i).shape == (task.p,)
        assert np.isfinite(task.observation(i)).all()
        assert task.true_parameters(i).shape == (task.d,)
        assert priors.rows(task.prior).inside(task.true_parameters(i)[None]).all()
    np.testing.assert_array_equal(task.observation(1), task.observations[0])
    for wrong in (0, 2**31, -1, 1.0, True):
        with pytest.raises((UsageError, TypeCheckError)):
            task.observation(wrong)
        with pytest.raises((UsageError, TypeCheckError)):
            task.true_parameters(wrong)


def test_likelihood_and_gradient_are_finite_or_the_value_is_minus_infinity(task):
    function = value_and_gradient(task)
    for i in (1, 2):
        thetas = np.concatenate([task.true_parameters(i)[None], prior_draws(task)])
        values, gradients = function(thetas, task.observation(i))
        assert np.isfinite(values[0])
        assert not np.isnan(values).any()
        assert (values < np.inf).all()
        assert np.isfinite(gradients).all()


def test_gradient_is_the_slope(task):
    theta, x = task.true_parameters(1), task.observation(1)
    steps = 1e-4 * np.abs(theta)
    points = np.concatenate([theta[None], theta + np.diag(steps), theta - np.diag(steps)])
    values, gradients = value_and_gradient(task)(np.resize(points, (101, task.d)), x)
    values, d = np.asarray(values), task.d
    slope = (values[1 : d + 1] - values[d + 1 : 2 * d + 1]) / (2 * steps)
    np.testing.assert_allclose(gradients[0], slope, rtol=1e-2, atol=1e-3 * np.abs(slope).max())


@pytest.mark.parametrize("observation", [1, 4])
def test_likelihood_is_that_of_the_simulator(task, observation):
    """Told by its likelihoods, which of two parameters made x is a calibrated guess.

    With label ~ Bernoulli(1/2) and x ~ p(x | θ_label), P(label | x) = sigmoid(difference of log
    likelihoods), so (label - P) has mean 0, times any function of x too. This holds for every
    support, for counts and for what leaves out a factor of x alone.
    """
    n, centre = 2000, task.true_parameters(observation)
    u = priors.rows(task.prior).from_support(np.stack([centre, prior_draws(task)[observation]]))
    informative = 0
    for step in (1e-3, 1e-2, 0.1, 0.3):
        other = priors.rows(task.prior).to_support((u[0] + step * (u[1] - u[0]))[None])[0]
        key_0, key_1 = jax.random.split(jax.random.fold_in(KEY, int(1000 * step)))
        xs = np.concatenate([repeat(task, key_0, centre, n), repeat(task, key_1, other, n)])
        labels = np.repeat([0.0, 1.0], n)
        function = likelihood_of_many(task)
        guess = scipy.special.expit(np.asarray(function(other, xs) - function(centre, xs)))
        residual = labels - guess
        if not 0.02 < np.abs(residual).mean() < 0.495:  # certain, or no better than a coin
            assert np.abs(residual.mean()) < 0.02
            continue
        informative += 1
        for weight in (np.ones(2 * n), 2 * guess - 1):
            weighted = (residual * weight).reshape(2, n)
            error = np.sqrt((weighted.var(1) / n).sum()) / 2
            assert np.abs(weighted.mean()) < 4.5 * error
    assert informative


# --------------------------------------------------------------------- particular laws


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
    density = np.exp(likelihood_of_many(registry.TASKS.get("two_moons"))(theta, xs))
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
    values = likelihood_of_many(task)(theta, np.stack([x, x + 0.5, x - 1, x + 1000]))
    assert values[0] == pytest.approx(expected, rel=1e-6)
    assert (values[1:] == -np.inf).all()


@pytest.mark.parametrize("name", ["sir", "lotka_volterra"])
def test_what_has_no_solution_is_invalid(name):
    task = registry.TASKS.get(name)
    thetas = np.array(prior_draws(task)[:4])
    thetas[1] = np.inf
    result = simulator(task)(KEY, thetas)
    assert result.valid.tolist() == [True, False, True, True]
    values, gradients = value_and_gradient(task)(
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
