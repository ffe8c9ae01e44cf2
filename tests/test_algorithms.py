"""What every registered algorithm owes: shapes, support, budget, reproducibility, refusals."""

import contextlib
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core import registry, settings
from sbibench.core.errors import InvalidSimulationsError, SbibenchError, UsageError
from sbibench.core.posterior import Posterior
from sbibench.metrics.c2st import c2st

NAMES = [name for name in registry.ALGORITHMS.names() if not registry.ALGORITHMS.missing(name)]
BUDGETS = {"rf_abc": 2000, "pyabcranger_rf": 2000, "sl": 600_000}
"""Of those that need more: whose samples are few simulations, or that estimate a covariance."""

TRAINED = {"training_batch_size": 50, "learning_rate": 5e-3, "max_num_epochs": 20}
CHAINS = TRAINED | {"num_chains": 100, "warmup_steps": 10}
DRAWN = TRAINED | {"max_sampling_seconds": 10}
QUICK = {
    "sbi_npe": {"density_estimator": "mdn"} | DRAWN,
    "sbi_snpe": {"density_estimator": "mdn"} | DRAWN,
    "sbi_nle": {"density_estimator": "mdn"} | CHAINS,
    "sbi_snle": {"density_estimator": "mdn"} | CHAINS,
    "sbi_nre": {"classifier": "mlp"} | CHAINS,
    "sbi_snre": {"classifier": "mlp"} | CHAINS,
    "sbi_fmpe": DRAWN,
    "sbi_npse": TRAINED | {"max_num_epochs": 80, "max_sampling_seconds": 60},
}
"""Settings of toolboxes under which a fit takes seconds; others have their own."""

NO_SIMULATIONS = {"prior", "reference"}
"""The baselines: one learns nothing, the other is told."""


def budget(name):
    return BUDGETS.get(name, 600)


def infers(name):
    if name in NO_SIMULATIONS:
        pytest.skip("a baseline infers nothing from simulations")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


def algorithm(name):
    made = settings.build(registry.ALGORITHMS.get(name), QUICK.get(name, {}), name)
    return dataclasses.replace(made, rounds=2) if hasattr(made, "rounds") else made


@pytest.fixture(scope="module")
def fitted(name, toy_task):
    problem = toy_task.problem(1, budget(name))
    return problem, algorithm(name).fit(jax.random.key(0), problem)


@pytest.mark.parametrize("adapter", registry.ALGORITHMS.names())
def test_the_toolbox_is_there_or_it_is_said_that_it_is_not(adapter):
    if missing := registry.ALGORITHMS.missing(adapter):
        pytest.skip(missing)


def test_settings_are_a_frozen_dataclass(name):
    made = algorithm(name)
    assert dataclasses.is_dataclass(made)
    assert made.__dataclass_params__.frozen
    assert made == algorithm(name)


def test_samples_have_shape_type_and_support(fitted, name, toy_task, key):
    problem, posterior = fitted
    assert isinstance(posterior, Posterior)
    samples = posterior.sample(key, 1234)
    assert samples.shape == (1234, 2)
    assert samples.dtype == np.float32
    assert np.isfinite(samples).all()
    assert problem.simulator.calls <= budget(name)
    assert (problem.simulator.calls == 0) == (name in NO_SIMULATIONS)


def test_the_posterior_is_better_than_the_prior(fitted, name, toy_task, key):
    if name == "prior":
        pytest.skip("it is the prior")
    _, posterior = fitted
    truth = toy_task.reference_samples(1, 2000)
    samples = posterior.sample(key, 2000)
    prior = np.asarray(jax.random.normal(key, (2000, 2)))
    assert c2st(key, samples, truth) < c2st(key, prior, truth) - 0.05


def test_density_agrees_with_samples(fitted, key):
    _, posterior = fitted
    if not hasattr(posterior, "log_prob"):
        pytest.skip("this posterior has no density")
    samples = posterior.sample(key, 4000)
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 200)] * 2), -1).reshape(-1, 2)
    density = np.exp(posterior.log_prob(grid))
    cell = (8 / 199) ** 2
    np.testing.assert_allclose(density.sum() * cell, 1.0, atol=0.02)
    mean = (density[:, None] * grid).sum(0) * cell
    np.testing.assert_allclose(samples.mean(0), mean, atol=5 * samples.std() / np.sqrt(4000))


def test_same_key_same_samples(fitted, name, toy_task, key):
    _, posterior = fitted
    again = algorithm(name).fit(jax.random.key(0), toy_task.problem(1, budget(name)))
    np.testing.assert_array_equal(again.sample(key, 100), posterior.sample(key, 100))
    if name == "prior":
        return  # there is nothing random in its fit
    other = algorithm(name).fit(jax.random.key(1), toy_task.problem(1, budget(name)))
    assert not np.array_equal(other.sample(key, 100), posterior.sample(key, 100))


def test_a_second_fit_compiles_nothing(fitted, name, toy_task, key, compilations):
    _, posterior = fitted
    posterior.sample(key, 1000)
    before = compilations()
    algorithm(name).fit(jax.random.key(2), toy_task.problem(2, budget(name) - 100)).sample(
        key, 1000
    )
    assert compilations() == before


def test_what_an_algorithm_says_beforehand_of_amortization_is_so(fitted, name):
    assert getattr(algorithm(name), "amortized", True) == fitted[1].amortized


def test_an_amortized_posterior_follows_x(fitted, name, key):
    infers(name)
    _, posterior = fitted
    if not posterior.amortized:
        pytest.skip("this posterior is for one observation")
    left, right = (posterior.sample(key, 500, x).mean(0) for x in ([-1.0, -1.0], [1.0, 1.0]))
    assert (right > left + 0.5).all()


def _partly_invalid(key, theta):
    x = theta + 0.5 * jax.random.normal(key, theta.shape)
    return jnp.where(theta[0] > 0.5, jnp.inf, x)


def test_invalid_rows_are_dropped_or_refused_by_choice(name, toy_task, key):
    task = dataclasses.replace(toy_task, simulate=_partly_invalid)
    made = algorithm(name)
    if not hasattr(made, "invalid"):
        pytest.skip("this algorithm has no choice to make")
    problem = task.problem(1, budget(name))
    samples = dataclasses.replace(made, invalid="drop").fit(key, problem).sample(key, 100)
    assert np.isfinite(samples).all()
    # A third of the prior's; algorithms that move away from the prior meet fewer of them or more.
    assert 0.1 < problem.simulator.invalid / problem.simulator.calls < 0.7
    with pytest.raises(InvalidSimulationsError, match="not finite"):
        dataclasses.replace(made, invalid="refuse").fit(key, task.problem(1, budget(name)))


def test_one_parameter_one_datum_and_a_constant_column(name, toy_task, key):
    infers(name)
    task = dataclasses.replace(
        toy_task,
        prior=dist.Uniform(np.zeros(1), np.full(1, 0.7)).to_event(1),
        simulate=lambda key, theta: jnp.concatenate(
            [theta + 0.1 * jax.random.normal(key, (1,)), jnp.full(1, 3.0)]
        ),
        parameter_names=("a",),
        observations=np.array([[0.65, 3.0]]),
        thetas_true=np.array([[0.6]]),
    )
    posterior = algorithm(name).fit(key, task.problem(1, budget(name)))
    samples = posterior.sample(key, 500)
    if name != "sl":  # which has no set of simulations, but one at each step
        assert posterior.info["constant_columns"] == "1"
    assert samples.shape == (500, 1)
    assert (samples >= 0).all()
    assert (samples.astype(float) <= 0.7).all()
    assert samples.mean() > 0.45


def test_positive_parameters_stay_positive(name, toy_task, key):
    infers(name)
    prior = dist.LogNormal(np.zeros(2), np.full(2, 0.5)).to_event(1)
    observations, thetas = np.array([[0.3, 1.0]]), np.ones((1, 2))
    task = dataclasses.replace(toy_task, prior=prior, observations=observations, thetas_true=thetas)
    samples = algorithm(name).fit(key, task.problem(1, budget(name))).sample(key, 2000)
    assert (samples > 0).all()


@pytest.mark.parametrize("n", [0, -1])
def test_no_samples_are_no_request(fitted, key, n):
    with pytest.raises(UsageError, match="1 or more"):
        fitted[1].sample(key, n)


def test_an_observation_far_from_everything_ends_with_samples_or_a_reason(name, toy_task, key):
    infers(name)
    task = dataclasses.replace(
        toy_task,
        prior=dist.Uniform(-np.ones(2), np.ones(2)).to_event(1),
        observations=np.array([[50.0, 50.0]]),
        thetas_true=np.zeros((1, 2)),
    )
    problem = task.problem(1, 300, time_limit=20)
    samples = None
    with contextlib.suppress(SbibenchError):
        samples = algorithm(name).fit(key, problem).sample(key, 100)
    assert samples is None or (np.abs(samples) <= 1).all()


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [0.0, np.inf]])
def test_an_observation_that_is_not_finite_is_refused_before_simulating(toy_task, bad):
    task = dataclasses.replace(toy_task, observations=np.array([bad, bad]))
    with pytest.raises(UsageError, match="not finite"):
        task.problem(1, 10)
