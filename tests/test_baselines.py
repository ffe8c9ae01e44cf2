"""The two baselines of every table: an algorithm that learns nothing, and exact draws."""

import dataclasses

import jax
import numpy as np
import pytest

from sbibench.algorithms.prior import Prior
from sbibench.algorithms.reference import Reference
from sbibench.core import registry
from sbibench.core.errors import NoReferenceError, UsageError
from sbibench.metrics.c2st import c2st


def test_the_prior_is_the_prior_without_a_simulation(toy_task, key):
    problem = toy_task.problem(1, 10)
    posterior = Prior().fit(key, problem)
    samples = posterior.sample(key, 5000)
    np.testing.assert_allclose(samples.mean(0), 0, atol=0.06)
    np.testing.assert_allclose(samples.std(0), 1, atol=0.05)
    np.testing.assert_array_equal(samples, posterior.sample(key, 5000, [3.0, 3.0]))
    np.testing.assert_allclose(posterior.log_prob(np.zeros((1, 2))), -np.log(2 * np.pi))
    assert problem.simulator.calls == 0


def test_the_prior_has_no_density_outside_its_support(key):
    posterior = Prior().fit(key, registry.TASKS.get("two_moons").problem(1, 10))
    assert posterior.log_prob([[0.0, 2.0]])[0] == -np.inf
    with pytest.raises(UsageError, match="shape"):
        posterior.sample(key, 1, [0.0])


def test_exact_draws_are_as_good_as_the_reference(toy_task, key):
    problem = toy_task.problem(1, 10)
    posterior = Reference(draws=4000).fit(key, problem)
    samples = posterior.sample(key, 4000)
    assert abs(c2st(key, samples, toy_task.reference_samples(1, 4000)) - 0.5) < 0.03
    assert problem.simulator.calls == 0
    assert len(np.unique(samples, axis=0)) == 4000
    with pytest.raises(UsageError, match="4000 exact draws, not 4001"):
        posterior.sample(key, 4001)


def test_exact_draws_need_an_oracle_with_a_likelihood_or_sampler(toy_task, key):
    problem = toy_task.problem(1, 10)
    with pytest.raises(NoReferenceError, match="no oracle"):
        Reference().fit(key, dataclasses.replace(problem, oracle=None))
    blind = dataclasses.replace(toy_task, log_likelihood=None, reference=None)
    with pytest.raises(NoReferenceError, match="toy has no reference posterior"):
        Reference().fit(key, blind.problem(1, 10))


def test_the_oracle_costs_nothing_until_it_is_asked(toy_task):
    def forbidden(key, x, n):
        raise AssertionError

    task = dataclasses.replace(toy_task, reference=forbidden)
    problem = task.problem(1, 10)
    with pytest.raises(AssertionError):
        problem.oracle(jax.random.key(0), 3)


def test_exact_draws_number_at_least_one():
    with pytest.raises(UsageError, match="draws"):
        Reference(draws=0)
