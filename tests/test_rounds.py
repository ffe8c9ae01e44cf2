import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core import registry
from sbibench.core.errors import DeadlineError, InvalidSimulationsError, UsageError
from sbibench.inference.rounds import run_rounds, split
from sbibench.inference.training import Training

SEQUENTIAL = ["snle", "snpe_a", "snpe_b", "snpe_c", "snre"]


class Box:
    """A posterior that draws from the unit box, and remembers how much data it was made of."""

    def __init__(self, rows):
        self.rows, self.info, self.amortized = rows, {}, True

    def sample(self, key, n):
        return np.asarray(jax.random.uniform(key, (n, 2)), np.float32)


@pytest.mark.parametrize(("budget", "rounds"), [(1000, 10), (1003, 10), (29, 4), (7, 1)])
def test_a_budget_is_split_equally_and_kept_exactly(toy_task, key, budget, rounds):
    seen = []

    def learn(key, data, previous):
        seen.append(np.bincount(data.rounds).tolist())
        return Box(len(data.xs))

    problem = toy_task.problem(1, budget)
    posterior = run_rounds(key, problem, rounds, learn, "refuse")
    shares = split(budget, rounds)
    assert sum(shares) == budget == problem.simulator.calls == posterior.rows
    assert len(set(shares[:-1])) <= 1
    assert shares[-1] - shares[0] < rounds
    assert seen == [shares[: i + 1] for i in range(rounds)]
    assert posterior.amortized == (rounds == 1)


def test_later_rounds_simulate_where_the_posterior_is(toy_task, key):
    kept = []

    def learn(key, data, previous):
        kept.append(data)
        return Box(0)

    run_rounds(key, toy_task.problem(1, 300), 3, learn, "refuse")
    data = kept[-1]
    assert ((data.thetas >= 0) & (data.thetas <= 1))[data.rounds > 0].all()
    assert (data.thetas[data.rounds == 0] < 0).any()
    np.testing.assert_array_equal(kept[0].xs, data.xs[:100])


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_too_small_a_budget_is_refused_before_simulating(toy_task, key, name):
    problem = toy_task.problem(1, 19)
    with pytest.raises(UsageError, match="10 rounds need 20 simulations or more"):
        registry.ALGORITHMS.get(name)().fit(key, problem)
    assert problem.simulator.calls == 0
    with pytest.raises(UsageError, match="rounds are 1 or more"):
        registry.ALGORITHMS.get(name)(rounds=0)


def test_a_method_without_rounds_is_not_told_to_have_fewer(toy_task, key):
    with pytest.raises(UsageError, match=r"training needs 2 .* the budget is 1; raise it$"):
        registry.ALGORITHMS.get("npe")().fit(key, toy_task.problem(1, 1))


@pytest.mark.parametrize("name", ["nle", "nre", *SEQUENTIAL])
def test_dropping_is_refused_unless_it_is_allowed_and_is_then_recorded(toy_task, key, name):
    def simulate(key, theta):
        return jnp.where(theta[0] > 1.0, jnp.nan, theta + 0.5 * jax.random.normal(key, (2,)))

    task = dataclasses.replace(toy_task, simulate=simulate)
    settings = registry.ALGORITHMS.get(name)(training=Training(max_epochs=2))
    if hasattr(settings, "rounds"):
        settings = dataclasses.replace(settings, rounds=2)
    with pytest.raises(InvalidSimulationsError, match="invalid='drop'"):
        settings.fit(key, task.problem(1, 200))
    problem = task.problem(1, 200)
    posterior = dataclasses.replace(settings, invalid="drop").fit(key, problem)
    assert posterior.info["dropped"] == problem.simulator.invalid > 0


def test_a_deadline_leaves_the_last_posterior(toy_task, key):
    def learn(key, data, previous):
        if previous is not None:
            raise DeadlineError("over")
        return Box(len(data.xs))

    posterior = run_rounds(key, toy_task.problem(1, 100), 5, learn, "refuse")
    assert posterior.rows == 20
    assert posterior.info["stopped"] == "deadline"

    def late(key, data, previous):
        raise DeadlineError("over")

    with pytest.raises(DeadlineError):
        run_rounds(key, toy_task.problem(1, 100), 5, late, "refuse")


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_later_rounds_compile_nothing(toy_task, key, name, compilations, monkeypatch):
    counts = []
    problem = dataclasses.replace(
        toy_task.problem(1, 500),
        progress=lambda stage, done, of: counts.append(compilations()) if stage == "rounds" else 0,
    )
    registry.ALGORITHMS.get(name)(rounds=5, training=Training(max_epochs=2)).fit(key, problem)
    assert len(counts) == 5
    if name == "snpe_a":
        counts.pop()  # the last round has a network of its own
    assert counts[-1] == counts[2]


def test_snpe_a_refuses_a_prior_that_it_can_t_divide_by(toy_task, key):
    prior = dist.Gamma(np.ones(2), np.ones(2)).to_event(1)
    task = dataclasses.replace(toy_task, prior=prior, observations=np.ones((1, 2)))
    problem = task.problem(1, 500)
    with pytest.raises(UsageError, match="normal, lognormal or uniform one, not Gamma"):
        registry.ALGORITHMS.get("snpe_a")().fit(key, problem)
    assert problem.simulator.calls == 0


def test_balance_weights_are_bounded_by_the_number_of_rounds():
    from sbibench.inference.atoms import balance_weights

    rng = np.random.default_rng(0)
    thetas = rng.normal(size=500)
    log_prior = -0.5 * thetas**2
    far = -0.5 * ((thetas - 3) / 0.1) ** 2 - np.log(0.1)
    weights = balance_weights(log_prior, np.array([log_prior, far]), [250, 250])
    assert weights.max() <= 2 + 1e-6
    direct = np.exp(log_prior) / (0.5 * np.exp(log_prior) + 0.5 * np.exp(far))
    np.testing.assert_allclose(weights, direct, rtol=1e-5)


@pytest.mark.parametrize("name", ["snle", "snpe_b", "snpe_c", "snre"])
def test_a_round_trains_anew_on_scales_of_all_rows_unless_it_starts_warm(toy_task, key, name):
    short = Training(max_epochs=1, learning_rate=1e-9, averaging=0.0)
    scales, weights = {}, {}
    for warm in (False, True):
        for rounds in (1, 2):
            settings = registry.ALGORITHMS.get(name)(rounds=rounds, training=short, warm_start=warm)
            params = settings.fit(key, toy_task.problem(1, 100 * rounds)).params
            scales[warm, rounds] = np.concatenate(jax.tree.leaves(params[1:]))
            weights[warm, rounds] = jax.tree.leaves(params.weights)[0]
    np.testing.assert_array_equal(scales[True, 1], scales[True, 2])
    np.testing.assert_allclose(weights[True, 1], weights[True, 2], atol=1e-6)
    assert (scales[False, 1] != scales[False, 2]).all()
    assert np.abs(weights[False, 1] - weights[False, 2]).max() > 1e-3
