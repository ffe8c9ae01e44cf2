import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import (
    BudgetExceededError,
    DeadlineError,
    InvalidSimulationsError,
    UsageError,
)
from sbibench.core.simulator import Simulator


def noise(key, theta):
    return theta + jax.random.normal(key, theta.shape)


def sometimes_nan(key, theta):
    del key
    return jnp.where(theta > 0.5, jnp.nan, theta)


def test_every_call_counts_and_the_budget_is_hard(key):
    simulator = Simulator(noise, (2, 2), 2500, Deadline())
    simulator(key, np.zeros((1200, 2)))
    assert (simulator.calls, simulator.left) == (1200, 1300)
    with pytest.raises(BudgetExceededError, match="1301 simulations asked for, 1300 of 2500"):
        simulator(key, np.zeros((1301, 2)))
    assert simulator.calls == 1200
    simulator(key, np.zeros((1300, 2)))
    assert simulator.left == 0


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_time_limit_is_positive(seconds):
    with pytest.raises(UsageError, match="a time limit is a positive number"):
        Deadline.after(seconds)


def test_a_row_depends_on_its_number_not_on_how_many_there_are(key):
    simulator = Simulator(noise, (2, 2), 10_000, Deadline())
    thetas = np.linspace(-1, 1, 4400).reshape(2200, 2)
    many = simulator(key, thetas)
    few = simulator(key, thetas[:3])
    np.testing.assert_array_equal(many.xs[:3], few.xs)


def test_a_thousand_equal_parameters_give_a_thousand_draws(key):
    xs = Simulator(noise, (1, 1), 1000, Deadline())(key, np.zeros((1000, 1))).xs
    assert len(np.unique(xs)) == 1000


def test_invalid_rows_are_marked_counted_and_dropped_or_refused(key):
    simulator = Simulator(sometimes_nan, (1, 1), 100, Deadline())
    thetas = np.array([[0.1], [0.9], [0.2]])
    simulations = simulator(key, thetas)
    assert simulations.valid.tolist() == [True, False, True]
    assert simulator.invalid == 1
    np.testing.assert_allclose(simulations.accept("drop").thetas, [[0.1], [0.2]], rtol=1e-6)
    with pytest.raises(InvalidSimulationsError, match="1 of 3 simulations are not finite"):
        simulations.accept("refuse")
    with pytest.raises(InvalidSimulationsError, match="none of 1"):
        simulator(key, np.array([[0.9]])).accept("drop")


def test_what_float32_cannot_hold_is_invalid(key):
    simulator = Simulator(lambda key, theta: theta * 1e200, (1, 1), 10, Deadline())
    assert not simulator(key, np.ones((1, 1))).valid.any()


def test_a_deadline_stops_between_blocks_and_keeps_the_count(key):
    simulator = Simulator(noise, (1, 1), 5000, Deadline(0.0))
    with pytest.raises(DeadlineError, match="1000 of 5000"):
        simulator(key, np.zeros((5000, 1)))
    assert simulator.calls == 1000


@pytest.mark.parametrize("thetas", [np.zeros(2), np.zeros((3, 3)), np.zeros((0, 2))])
def test_wrong_shapes_are_refused_before_anything_runs(key, thetas):
    simulator = Simulator(noise, (2, 2), 10, Deadline())
    with pytest.raises(UsageError, match="shape"):
        simulator(key, thetas)
    assert simulator.calls == 0


def test_nothing_is_compiled_for_another_number_of_rows(key, toy_task, compilations):
    rows = priors.rows(toy_task.prior)
    toy_task.problem(1, 10)  # warm up
    toy_task.problem(1, 10).simulator(key, rows.sample(key, 10))
    rows.log_prob(rows.sample(key, 10))
    before = compilations()
    thetas = rows.sample(key, 2345)
    toy_task.problem(1, 5000).simulator(key, thetas)
    rows.log_prob(thetas)
    assert compilations() == before


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, "10"])
def test_a_budget_is_a_positive_whole_number(toy_task, budget):
    with pytest.raises((UsageError, TypeCheckError), match="budget"):
        toy_task.problem(1, budget)


@pytest.mark.parametrize("observation", [0, 2**31, -1, 1.0])
def test_observations_are_counted_from_one(toy_task, observation):
    with pytest.raises((UsageError, TypeCheckError), match="observation"):
        toy_task.problem(observation, 10)


def test_a_row_of_the_wrong_length_is_refused(key):
    simulator = Simulator(lambda key, theta: theta[:1], (2, 2), 10, Deadline())
    with pytest.raises(UsageError, match=r"shape \(1,\) for one θ, not \(2,\)"):
        simulator(key, np.zeros((3, 2)))
