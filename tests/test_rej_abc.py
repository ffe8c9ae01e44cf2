import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sbibench.algorithms.rej_abc import RejABC
from sbibench.core.errors import InvalidSimulationsError, UsageError


def _partly_invalid(key, theta):
    x = theta + 0.5 * jax.random.normal(key, theta.shape)
    return jnp.where(theta[0] > 0.5, jnp.inf, x)


def test_it_needs_enough_simulations(toy_task, key):
    problem = toy_task.problem(1, 50)
    with pytest.raises(UsageError, match="100 of 50"):
        RejABC().fit(key, problem)
    with pytest.raises(UsageError, match="all 50 simulations would be kept, which is the prior"):
        RejABC(top=50).fit(key, problem)
    assert problem.simulator.calls == 0


def test_half_the_budget_is_for_the_summaries(toy_task, key):
    settings = RejABC(summaries="semi_automatic")
    problem = toy_task.problem(1, 201)
    assert settings.fit(key, problem).info["kept"] == 100
    assert problem.simulator.calls == 201
    problem = toy_task.problem(1, 198)
    with pytest.raises(UsageError, match="100 of 99"):
        settings.fit(key, problem)
    assert problem.simulator.calls == 0


def test_it_does_not_keep_fewer_than_it_says(toy_task, key):
    task = dataclasses.replace(toy_task, simulate=_partly_invalid)
    with pytest.raises(InvalidSimulationsError, match="100 were to be kept"):
        RejABC().fit(key, task.problem(1, 110))


def test_it_keeps_the_nearest(toy_task, key):
    settings = RejABC(quantile=0.05, kde=False)
    posterior = settings.fit(key, toy_task.problem(1, 1000))
    assert posterior.info["kept"] == 50
    assert len(np.unique(posterior.sample(key, 5000), axis=0)) == 50
    closer = dataclasses.replace(settings, quantile=0.01).fit(key, toy_task.problem(1, 1000))
    assert closer.info["epsilon"] < posterior.info["epsilon"]


@pytest.mark.parametrize("summaries", ["none", "semi_automatic"])
def test_adjusted_samples_have_the_posterior_s_moments_at_any_x(toy_task, key, summaries):
    posterior = RejABC(top=2000, adjust="linear", kde=False, summaries=summaries).fit(
        key, toy_task.problem(1, 4000)
    )
    assert posterior.info["adjusted"] is True
    for x in (None, [-1.0, 1.0]):
        samples = posterior.sample(key, 20_000, x)
        at = toy_task.observation(1) if x is None else np.array(x)
        np.testing.assert_allclose(samples.mean(0), 0.8 * at, atol=0.06)
        np.testing.assert_allclose(samples.std(0), np.sqrt(0.2), rtol=0.08)


@pytest.mark.parametrize("wrong", [{"top": 0}, {"quantile": 0.0}, {"quantile": 1.5}, {"degree": 0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        RejABC(**wrong)
