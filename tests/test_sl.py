"""The synthetic likelihood against closed forms, and its refusals."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from sbibench.algorithms.sl import SL
from sbibench.core.errors import InvalidSimulationsError, SamplingError, UsageError
from sbibench.inference.synthetic import SyntheticLikelihood, synthetic_log_likelihoods

SMALL = SL(chains=50, candidates=200, warmup=5)
ALL = np.ones(3, bool)


def _log_likelihoods(xs, x, varying=ALL, epsilon=0.0, valid=None):
    valid = np.ones(xs.shape[:2], bool) if valid is None else valid
    return np.asarray(synthetic_log_likelihoods(xs, valid, x, varying, np.asarray(epsilon)))


def test_the_likelihood_is_a_gaussian_with_the_moments_of_the_simulations():
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(4, 100, 3)) @ rng.normal(size=(3, 3)) * [1.0, 10.0, 1e-3]
    x = np.array([0.3, -2.0, 1e-3])
    for epsilon in (0.0, 0.01):
        wanted = [
            scipy.stats.multivariate_normal(s.mean(0), np.cov(s.T) + epsilon * np.eye(3)).logpdf(x)
            for s in xs
        ]
        np.testing.assert_allclose(_log_likelihoods(xs, x, epsilon=epsilon), wanted, rtol=1e-8)


def test_simulations_and_columns_that_do_not_count_are_left_out():
    xs = np.random.default_rng(0).normal(size=(2, 100, 3))
    x = np.array([0.3, -2.0, 7.0])
    valid = np.ones((2, 100), bool)
    valid[0, 60:] = False
    broken = np.where(valid[:, :, None], xs, np.nan)
    broken[:, :, 2] = 7.0
    got = _log_likelihoods(broken, x, np.array([True, True, False]), valid=valid)
    for value, rows in zip(got, (xs[0, :60, :2], xs[1, :, :2]), strict=True):
        wanted = scipy.stats.multivariate_normal(rows.mean(0), np.cov(rows.T)).logpdf(x[:2])
        np.testing.assert_allclose(value, wanted)


def test_a_singular_covariance_has_no_density_unless_mended():
    xs = np.random.default_rng(0).normal(size=(3, 100, 3))
    xs[0, :, 2] = xs[0, :, 1]
    xs[1, :, 2] = 1.0
    valid = np.ones((3, 100), bool)
    valid[2, 1:] = False
    x = np.zeros(3)
    assert (_log_likelihoods(xs, x, valid=valid) == -np.inf).all()
    assert np.isfinite(_log_likelihoods(xs, x, epsilon=0.01)).all()


def test_places_without_prior_are_not_simulated(toy_task, key):
    problem = toy_task.problem(1, 1000)
    likelihood = SyntheticLikelihood(key, problem, 100, 0.0, "refuse")
    thetas = np.zeros((3, 2))
    got = likelihood(thetas, np.array([True, False, True]))
    assert np.isfinite(got).tolist() == [True, False, True]
    assert problem.simulator.calls == 200
    assert (likelihood(thetas, np.zeros(3, bool)) == -np.inf).all()
    assert problem.simulator.calls == 200


def test_a_gaussian_likelihood_gives_the_exact_posterior(toy_task, key):
    problem = toy_task.problem(2, 3_000_000)
    posterior = SL().fit(key, problem)
    assert problem.simulator.calls > 2_980_000
    truth = toy_task.reference_samples(2, 4000)
    samples = posterior.sample(key, 4000)
    np.testing.assert_allclose(samples.mean(0), truth.mean(0), atol=0.1)
    np.testing.assert_allclose(samples.std(0), truth.std(0), rtol=0.1)
    with pytest.raises(UsageError, match="fit again"):
        posterior.sample(key, 10, [0.0, 0.0])


def test_a_budget_too_small_is_refused_before_simulating(toy_task, key):
    problem = toy_task.problem(1, 100_000)
    with pytest.raises(UsageError, match="needs 380000 simulations"):
        SL().fit(key, problem)
    assert problem.simulator.calls == 0


def test_more_columns_than_simulations_need_epsilon(toy_task, key):
    problem = toy_task.problem(1, 100_000)
    few = dataclasses.replace(SMALL, simulations=2)
    with pytest.raises(UsageError, match="set epsilon"):
        few.fit(key, problem)
    assert problem.simulator.calls == 0
    samples = dataclasses.replace(few, epsilon=0.1).fit(key, problem).sample(key, 100)
    assert np.isfinite(samples).all()


def test_no_warm_up_at_all_has_draws(toy_task, key):
    settings = dataclasses.replace(SMALL, warmup=0)
    posterior = settings.fit(key, toy_task.problem(1, 200_000))
    assert np.isfinite(posterior.sample(key, 1000)).all()
    assert posterior.info["draws"] >= 50


def test_time_ends_the_chains_and_what_there_is_serves(toy_task, key):
    SMALL.fit(key, toy_task.problem(1, 200_000))  # compiled from here on
    posterior = SMALL.fit(key, toy_task.problem(1, 10**9, time_limit=2.0))
    assert posterior.info["stopped"] == "deadline"
    assert posterior.sample(key, 100).shape == (100, 2)


def test_data_that_cannot_be_gaussian_are_an_error_in_words(toy_task, key):
    def simulate(key, theta):
        x = theta[0] + jax.random.normal(key, ())
        return jnp.stack([x, 2 * x])

    task = dataclasses.replace(toy_task, simulate=simulate)
    with pytest.raises(SamplingError, match="set epsilon"):
        SMALL.fit(key, task.problem(1, 200_000))


def test_simulations_that_are_never_finite_are_an_error_in_words(toy_task, key):
    task = dataclasses.replace(toy_task, simulate=lambda key, theta: theta * jnp.nan)
    with pytest.raises(InvalidSimulationsError, match="finite"):
        SMALL.fit(key, task.problem(1, 200_000))
    with pytest.raises(SamplingError, match="is 0 at all of 200"):
        dataclasses.replace(SMALL, invalid="drop").fit(key, task.problem(1, 200_000))


@pytest.mark.parametrize(
    "wrong",
    [{"simulations": 1}, {"epsilon": -1.0}, {"chains": 0}, {"candidates": 10}, {"warmup": -1}],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        SL(**wrong)
