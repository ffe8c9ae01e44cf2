import dataclasses
import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import multivariate_normal

from sbibench.algorithms import smc_abc
from sbibench.algorithms.rej_abc import RejABC
from sbibench.algorithms.smc_abc import SMCABC
from sbibench.core import priors
from sbibench.core.deadline import FOREVER, Deadline
from sbibench.core.errors import (
    DeadlineError,
    InvalidSimulationsError,
    SamplingError,
    UsageError,
)
from sbibench.inference.perturbation import Perturbation, effective_size, silverman
from sbibench.inference.population import log_importance, next_epsilon

BOX = dist.Uniform(np.zeros(2), np.ones(2)).to_event(1)


@pytest.fixture
def populations(monkeypatch):
    """Return a list that fills with (last population, kernel, epsilon, new population)."""
    made = []
    original = smc_abc.perturbed

    def recorded(key, target, last, kernel, epsilon):
        made.append((last, kernel, epsilon, original(key, target, last, kernel, epsilon)))
        return made[-1][-1]

    monkeypatch.setattr(smc_abc, "perturbed", recorded)
    return made


@pytest.mark.parametrize("weighted", [True, False])
def test_weights_are_the_prior_over_the_sum_of_kernels(key, weighted):
    prior = dist.LogNormal(np.zeros(2), np.full(2, 0.5)).to_event(1)
    thetas = priors.rows(prior).sample(key, 30)
    weights = np.random.default_rng(0).dirichlet(np.ones(30))
    kernel = Perturbation.fit(thetas, np.log(weights), 0.5, weighted=weighted)
    new = kernel.propose(key, prior, 20, FOREVER)
    shape = {"aweights": weights} if weighted else {}
    covariance = 0.5 * np.cov(thetas.T.astype(float), ddof=0, **shape)
    expected = []
    for theta in new:
        total = 0.0
        for centre, weight in zip(thetas, weights, strict=True):
            total += weight * multivariate_normal(centre, covariance).pdf(theta)
        expected.append(np.exp(prior.log_prob(theta.astype(float))) / total)
    found = np.exp(log_importance(prior, new, kernel))
    np.testing.assert_allclose(found, np.array(expected) / np.sum(expected), rtol=1e-6)


def test_proposals_lie_in_the_support_and_follow_the_mixture(key):
    thetas = np.array([[0.1, 0.2], [0.9, 0.8], [0.2, 0.9]], np.float32)
    kernel = Perturbation.fit(thetas, np.log([0.5, 0.3, 0.2]), 0.5, weighted=True)
    proposals = kernel.propose(key, BOX, 20_000, FOREVER)
    assert proposals.shape == (20_000, 2)
    assert ((proposals >= 0) & (proposals <= 1)).all()
    n = 200
    line = (np.arange(n) + 0.5) / n
    grid = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    density = np.exp(kernel.log_density(grid))
    mean = (density[:, None] * grid).sum(0) / density.sum()
    np.testing.assert_allclose(proposals.mean(0), mean, atol=0.01)


def test_proposals_that_never_hit_the_support_end_in_words(key):
    kernel = Perturbation(np.full((2, 2), 50.0), np.log([0.5, 0.5]), 0.1 * np.eye(2))
    with pytest.raises(SamplingError, match="0 of"):
        kernel.propose(key, BOX, 10, FOREVER)
    with pytest.raises(DeadlineError, match="perturbing"):
        kernel.propose(key, BOX, 10, Deadline(0.0))


def test_particles_that_span_too_little_are_moved_all_the_same(key):
    thetas = np.array([[0.1, 0.1], [0.5, 0.5]], np.float32)
    kernel = Perturbation.fit(thetas, np.log([0.5, 0.5]), 0.5, weighted=True)
    new = kernel.propose(key, BOX, 50, FOREVER)
    assert np.isfinite(log_importance(BOX, new, kernel)).all()
    with pytest.raises(SamplingError, match="share"):
        Perturbation.fit(
            np.repeat(thetas[:1], 5, axis=0), np.log(np.full(5, 0.2)), 0.5, weighted=False
        )


def test_the_kde_kernel_is_narrower_and_the_sizes_are_right(toy_task, key, populations):
    equal = np.log(np.full(50, 0.02))
    np.testing.assert_allclose(effective_size(equal), 50)
    np.testing.assert_allclose(silverman(50, 2), (1 / 50) ** (1 / 6))
    for kernel in ("gaussian", "kde"):
        SMCABC(kernel=kernel).fit(key, toy_task.problem(1, 600))
    wide, narrow = (populations[i][1].root for i in (0, -len(populations) // 2))
    np.testing.assert_allclose(narrow, silverman(100, 2) * wide)


@pytest.mark.parametrize("budget", [100, 101, 1003, 5000])
def test_the_budget_is_used_and_epsilon_never_rises(toy_task, key, populations, budget):
    problem = toy_task.problem(1, budget)
    posterior = SMCABC().fit(key, problem)
    assert problem.simulator.calls == budget
    assert posterior.info["stopped"] == "budget"
    assert posterior.info["generations"] == len(populations) + 1
    epsilons = [epsilon for _, _, epsilon, _ in populations]
    assert all(a > b for a, b in itertools.pairwise(epsilons))
    for last, _, epsilon, new in populations[:-1]:
        assert new.distances.max() <= epsilon < last.distances.max()
        assert len(new.distances) == 100
    if populations:
        last, _, _, new = populations[-1]
        assert posterior.info["epsilon"] == new.distances.max() <= last.distances.max()


def test_the_kde_weighs_particles_when_asked_to(toy_task, key, populations):
    plain, weighted = (
        SMCABC(kde_weighted=w).fit(key, toy_task.problem(1, 1000))._particles for w in (False, True)
    )
    np.testing.assert_array_equal(plain.thetas, weighted.thetas)
    weights = np.exp(populations[-1][-1].log_weights)
    np.testing.assert_allclose(weighted.kde.weights, weights, rtol=1e-12)
    assert plain.kde.weights is None


def test_an_incomplete_population_is_filled_up_and_weighted_alike(toy_task, key, populations):
    SMCABC().fit(key, toy_task.problem(1, 130))
    last, kernel, epsilon, new = populations[-1]
    count = round(new.acceptance * 30)
    assert 0 < count < 30
    assert (new.distances[:count] <= epsilon).all()
    nearest = np.argsort(last.distances)[: 100 - count]
    np.testing.assert_array_equal(new.thetas[count:], last.thetas[nearest])
    np.testing.assert_array_equal(
        new.log_weights, log_importance(toy_task.prior, new.thetas, kernel)
    )
    np.testing.assert_allclose(np.exp(new.log_weights).sum(), 1)


def test_it_is_much_nearer_the_truth_than_rejection(toy_task, key):
    def epsilon(algorithm):
        problems = [toy_task.problem(2, 5000) for _ in range(3)]
        return np.mean(
            [algorithm.fit(jax.random.key(i), p).info["epsilon"] for i, p in enumerate(problems)]
        )

    assert epsilon(SMCABC(kde=False)) < 0.6 * epsilon(RejABC(kde=False))
    truth = toy_task.reference_samples(2, 10_000)
    samples = SMCABC(kde=False).fit(key, toy_task.problem(2, 100_000)).sample(key, 20_000)
    np.testing.assert_allclose(samples.mean(0), truth.mean(0), atol=0.1)
    np.testing.assert_allclose(samples.std(0), truth.std(0), rtol=0.15)


@pytest.mark.parametrize(
    "settings",
    [{"adjust": "linear"}, {"summaries": "semi_automatic"}, {"kernel": "kde"}, {"kde": False}],
)
def test_variants_come_near_the_truth(toy_task, key, settings):
    problem = toy_task.problem(1, 6001)
    posterior = SMCABC(**settings, population=300).fit(key, problem)
    samples = posterior.sample(key, 10_000)
    assert problem.simulator.calls == 6001
    np.testing.assert_allclose(samples.mean(0), 0.8 * toy_task.observation(1), atol=0.12)
    assert ((samples.std(0) > 0.38) & (samples.std(0) < 0.8)).all()  # the prior's is 1


def test_too_small_a_budget_is_refused_before_simulating(toy_task, key):
    problem = toy_task.problem(1, 99)
    with pytest.raises(UsageError, match="100 particles, the budget for them is 99"):
        SMCABC().fit(key, problem)
    with pytest.raises(UsageError, match="is 50"):
        SMCABC(summaries="semi_automatic").fit(key, problem)
    assert problem.simulator.calls == 0


def test_the_population_grows_with_the_budget(toy_task, key, populations):
    SMCABC().fit(key, toy_task.problem(1, 49_999))
    SMCABC().fit(key, toy_task.problem(1, 50_000))
    assert {len(new.thetas) for *_, new in populations} == {100, 1000}


def test_tied_distances_end_it(toy_task, key):
    task = dataclasses.replace(toy_task, simulate=lambda key, theta: jnp.zeros(2))
    problem = task.problem(1, 1000)
    posterior = SMCABC().fit(key, problem)
    assert posterior.info["stopped"] == "all particles are at the same distance"
    assert posterior.info["generations"] == 1
    assert problem.simulator.calls == 100


def test_next_epsilon_is_a_quantile_below_the_maximum():
    assert next_epsilon(np.arange(1.0, 11.0), 0.2) == 2.0
    assert next_epsilon(np.arange(1.0, 11.0), 0.21) == 3.0
    assert next_epsilon(np.array([1.0, 2.0, 2.0, 2.0, 2.0]), 0.5) == 1.0


def test_at_the_deadline_the_last_complete_population_is_used(toy_task, key, populations):
    problem = toy_task.problem(1, 100_000, time_limit=1e-9)
    posterior = SMCABC(population=500).fit(key, problem)
    assert posterior.info["stopped"] == "deadline"
    assert posterior.info["generations"] == 1
    assert not populations
    assert posterior.sample(key, 10).shape == (10, 2)
    with pytest.raises(DeadlineError):
        SMCABC(population=3000).fit(key, toy_task.problem(1, 100_000, time_limit=1e-9))


def test_a_deadline_within_a_population_leaves_the_one_before(toy_task, key):
    task = dataclasses.replace(
        toy_task, simulate=lambda key, theta: theta + 1e-6 * jax.random.normal(key, (2,))
    )
    settings = SMCABC(population=2000, quantile=0.01, kernel_scale=10.0, kde=False)
    settings.fit(key, task.problem(1, 4000))  # so that the time is not spent on compiling
    start = time.monotonic()
    problem = task.problem(1, 10_000_000, time_limit=2)
    posterior = settings.fit(key, problem)
    assert posterior.info["stopped"] == "deadline"
    assert time.monotonic() - start < 30
    assert np.isfinite(posterior.sample(key, 10)).all()


def test_too_few_finite_simulations_are_no_population(toy_task, key):
    task = dataclasses.replace(
        toy_task, simulate=lambda key, theta: jnp.where(theta > 1.5, theta, jnp.nan)
    )
    with pytest.raises(InvalidSimulationsError, match="a population has 100"):
        SMCABC().fit(key, task.problem(1, 150))


def test_an_x_far_away_is_approached(toy_task, key):
    task = dataclasses.replace(
        toy_task, prior=BOX, observations=np.array([[50.0, -50.0]]), thetas_true=np.zeros((1, 2))
    )
    samples = SMCABC().fit(key, task.problem(1, 2000)).sample(key, 1000)
    assert priors.rows(BOX).inside(samples).all()
    assert samples[:, 0].mean() > 0.6
    assert samples[:, 1].mean() < 0.4


def test_it_is_for_its_own_observation(toy_task, key):
    posterior = SMCABC().fit(key, toy_task.problem(1, 300))
    assert posterior.sample(key, 5, toy_task.observation(1)).shape == (5, 2)
    with pytest.raises(UsageError, match="fit again"):
        posterior.sample(key, 5, [1.0, 1.0])


@pytest.mark.parametrize(
    "wrong",
    [
        {"population": 1},
        {"quantile": 0.0},
        {"quantile": 1.0},
        {"kernel_scale": 0.0},
        {"kernel_scale": float("nan")},
        {"degree": 0},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        SMCABC(**wrong)
