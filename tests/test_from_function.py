"""Functions in NumPy as algorithms."""

import dataclasses
import functools
import types
from typing import Literal

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench as sb
from sbibench.core import settings
from sbibench.core.errors import (
    BudgetExceededError,
    DeadlineError,
    SamplingError,
    UsageError,
)

KEY = jax.random.key(3)


def nearest(prior, simulator, x_obs, budget, seed, *, keep=50, scale: float = 1):
    """Keep the nearest."""
    thetas = prior.sample(budget, seed)
    distances = np.linalg.norm(simulator(thetas) - x_obs, axis=1)
    return scale * thetas[np.argsort(distances)[:keep]], {"farthest": distances.max()}


NEAREST = sb.from_function(nearest)


def posterior_of(function, task, budget=200):
    return sb.from_function(function)().fit(KEY, task.problem(1, budget))


def returning(value):
    return lambda prior, simulator, x_obs, budget, seed: value


def test_a_function_is_a_frozen_dataclass_with_its_keywords_as_settings():
    assert NEAREST() == NEAREST(keep=50, scale=1)
    assert NEAREST.__dataclass_params__.frozen
    assert hash(NEAREST()) == hash(NEAREST())
    assert NEAREST.__module__ == __name__
    assert NEAREST.__name__ == "nearest"
    assert NEAREST.__doc__ == "Keep the nearest."
    assert settings.leaves(NEAREST) == {"keep": int, "scale": float, "version": str}
    assert settings.build(NEAREST, {"keep": "7"}, "nearest", text=True) == NEAREST(keep=7)
    with pytest.raises(UsageError, match="did you mean 'keep'"):
        settings.build(NEAREST, {"kep": 7}, "nearest")
    with pytest.raises(UsageError, match="keep"):
        settings.build(NEAREST, {"keep": "many"}, "nearest", text=True)


def test_what_a_function_sees_is_numpy_and_counted(toy_task):
    def look(prior, simulator, x_obs, budget, seed):
        assert budget == 40
        assert 0 <= seed < 2**31
        assert type(x_obs) is np.ndarray
        assert x_obs.dtype == np.float64
        np.testing.assert_allclose(x_obs, [0.5, -0.2], rtol=1e-6)
        assert isinstance(prior.distribution, dist.Distribution)
        assert prior.d == 2
        thetas = prior.sample(30, seed)
        assert type(thetas) is np.ndarray
        assert thetas.shape == (30, 2)
        np.testing.assert_array_equal(thetas, prior.sample(30, seed))
        rng = np.random.default_rng(seed)
        assert not np.array_equal(prior.sample(5, rng), prior.sample(5, rng))
        with pytest.raises(UsageError, match="needs a seed or a"):
            prior.sample(3, None)
        with pytest.raises(UsageError, match="1 or more"):
            prior.sample(0, 1)
        expected = -0.5 * (thetas**2).sum(1) - np.log(2 * np.pi)
        np.testing.assert_allclose(prior.log_prob(thetas), expected, rtol=1e-6)
        assert prior.log_prob(thetas[0]) == pytest.approx(expected[0])
        assert prior.inside(thetas).all()
        assert prior.inside([0.0, 0.0])
        with pytest.raises(UsageError, match=r"\[n, 2\], not \(3,\)"):
            prior.log_prob(np.zeros(3))
        xs = simulator(thetas)
        assert type(xs) is np.ndarray
        assert (xs.shape, xs.dtype) == ((30, 2), np.float64)
        again = simulator(thetas[0])
        assert again.shape == (2,)
        assert not np.array_equal(again, xs[0])
        assert simulator.left == 9
        with pytest.raises(BudgetExceededError, match="10 simulations asked for, 9 of 40"):
            simulator(thetas[:10])
        return thetas

    problem = toy_task.problem(1, 40)
    posterior = sb.from_function(look)().fit(KEY, problem)
    assert problem.simulator.calls == 31
    assert not posterior.amortized


def test_same_key_same_samples_and_another_key_others(toy_task):
    one, two, three = (
        NEAREST().fit(jax.random.key(k), toy_task.problem(1, 200)).sample(KEY, 20)
        for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, three)


def test_simulations_of_the_same_parameters_differ_from_call_to_call(toy_task):
    def twice(prior, simulator, x_obs, budget, seed):
        thetas = np.zeros((100, 2))
        assert abs(np.corrcoef(simulator(thetas)[:, 0], simulator(thetas)[:, 0])[0, 1]) < 0.4
        return thetas

    posterior_of(twice, toy_task)


def test_as_many_samples_are_drawn_as_are_asked_for(toy_task):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    posterior = posterior_of(returning(rows), toy_task)
    assert posterior.info == {"returned": 30, "outside_support": 0}
    few = posterior.sample(KEY, 20)
    assert (few.shape, few.dtype) == ((20, 2), np.float32)
    assert len(np.unique(few, axis=0)) == 20
    assert posterior.info["repeated"] == 1
    many, counts = np.unique(posterior.sample(KEY, 100), axis=0, return_counts=True)
    assert len(many) == 30
    assert set(counts) == {3, 4}
    assert posterior.info["repeated"] == 4
    assert not np.array_equal(posterior.sample(jax.random.key(9), 20), few)
    with pytest.raises(UsageError, match="1 or more"):
        posterior.sample(KEY, 0)
    with pytest.raises(UsageError, match="fit again for another"):
        posterior.sample(KEY, 5, np.ones(2))


def test_facts_beside_the_samples_are_for_the_record(toy_task):
    posterior = NEAREST().fit(KEY, toy_task.problem(1, 200))
    assert posterior.info["farthest"] > 0
    odd = {"rate": np.float32(0.5), "list": [1], 3: np.array([7])}
    info = posterior_of(returning((np.zeros((5, 2)), odd)), toy_task).info
    assert (info["rate"], info["list"], info["3"]) == (0.5, "[1]", 7)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"of shape \(\), not \[m, 2\]|NoneType"),
        ("text", "returned str, not an array"),
        (np.zeros(5), r"shape \(5,\), not \[m, 2\]"),
        (np.zeros((2, 7)), r"shape \(2, 7\), .*transpose them"),
        (np.zeros((7, 3)), r"shape \(7, 3\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        (np.zeros((4, 5, 2)), r"shape \(4, 5, 2\)"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), "1 of 2 samples that are not finite"),
    ],
)
def test_what_is_no_set_of_samples_is_refused_in_one_line(toy_task, value, message):
    with pytest.raises(UsageError, match=message):
        posterior_of(returning(value), toy_task)


def test_samples_outside_the_support_are_left_out_and_counted(toy_task):
    box = dist.Uniform(-np.ones(2), np.full(2, 0.1)).to_event(1)
    task = dataclasses.replace(toy_task, prior=box)
    rows = np.array([[0.0, 0.0], [0.1, -1.0], [0.2, 0.0], [-5.0, 0.0]])
    posterior = posterior_of(returning(rows), task)
    assert posterior.info == {"returned": 4, "outside_support": 2}
    drawn = posterior.sample(KEY, 50).astype(float)
    assert len(np.unique(drawn, axis=0)) == 2
    assert (drawn <= 0.1).all()  # rounded inwards, too
    with pytest.raises(SamplingError, match="all outside the prior's support"):
        posterior_of(returning(rows[2:]), task)


def test_one_parameter_may_come_as_a_vector(toy_task):
    task = dataclasses.replace(
        toy_task,
        prior=dist.Normal(np.zeros(1), np.ones(1)).to_event(1),
        parameter_names=("a",),
        thetas_true=np.zeros((2, 1)),
    )
    assert posterior_of(returning(np.arange(5)), task).sample(KEY, 5).shape == (5, 1)


def test_a_function_that_takes_other_arguments_is_refused():
    for function in (lambda a, b: 0, lambda a, b, c, d, e, f: 0, lambda *, x: 0):
        with pytest.raises(UsageError, match=r"can't be called with \(prior, simulator, x_obs"):
            sb.from_function(function)
    with pytest.raises(UsageError, match="takes a function, not int"):
        sb.from_function(3)


def test_arguments_are_given_by_name_in_whatever_order_they_are_declared(toy_task):
    def odd(seed, budget, x_obs, simulator, prior):
        return prior.sample(budget, seed)

    def other(p, s, x, n, r):
        return p.sample(n, r)

    a, b = (posterior_of(f, toy_task).sample(KEY, 9) for f in (odd, other))
    np.testing.assert_array_equal(a, b)


def test_settings_are_plain_values_and_partial_binds_the_rest(toy_task):
    table = np.ones((4, 2))

    def free(
        prior, simulator, x_obs, budget, seed,
        n=3, kind: Literal["a", "b"] = "a", sizes=(1, 2), kernel=np.exp, rows=None, **more,
    ):  # fmt: skip
        assert kernel is np.exp
        return n * table if rows is None else rows

    assert list(settings.leaves(sb.from_function(free))) == [
        "n",
        "kind",
        "sizes",
        "rows",
        "version",
    ]
    bound = sb.from_function(functools.partial(free, n=5, rows=2 * table))
    assert bound.__name__ == "free"
    values = settings.as_dict(bound())
    values.pop("version")
    assert values == {"n": 5, "kind": "a", "sizes": (1, 2)}
    samples = bound().fit(KEY, toy_task.problem(1, 10)).sample(KEY, 4)
    np.testing.assert_array_equal(samples, 2 * table)
    with pytest.raises(UsageError, match="kind"):
        settings.build(bound, {"kind": "c"}, "free")


def test_a_version_tells_runs_apart():
    def plain(prior, simulator, x_obs, budget, seed):
        return prior.sample(9, seed)

    def named(prior, simulator, x_obs, budget, seed):
        return prior.sample(9, seed)

    named.version = 2
    assert settings.as_dict(sb.from_function(plain)()) != settings.as_dict(NEAREST())
    assert settings.as_dict(sb.from_function(named)()) == {"version": "2"}
    assert settings.as_dict(sb.from_function(named, version="3")()) == {"version": "3"}


SOURCE = """
def method(prior, simulator, x_obs, budget, seed):
    return helper(prior.sample(9, seed))

import sbibench as sb
MINE = sb.from_function(method)

def helper(thetas):  # comes later
    return {what}
"""


def _version(what, name="MINE"):
    module = types.ModuleType("mine_edited")
    exec(SOURCE.format(what=what), vars(module))
    return settings.as_dict(vars(module)[name]())["version"]


def test_an_edit_of_the_function_or_of_what_it_uses_makes_another_run():
    assert _version("thetas") == _version("thetas")
    assert _version("thetas") != _version("2 * thetas")
    assert settings.label("method", NEAREST()) == "method"  # tables don't show it
    bound = [sb.from_function(functools.partial(nearest, scale=s))() for s in (1, 2)]
    assert bound[0] != bound[1]


def test_the_time_limit_stops_a_function_at_its_next_simulation(toy_task):
    def endless(prior, simulator, x_obs, budget, seed):
        while True:
            simulator(prior.sample(1, seed))

    with pytest.raises(DeadlineError, match="time limit"):
        sb.from_function(endless)().fit(KEY, toy_task.problem(1, 10**6, time_limit=0.2))


def test_a_posterior_of_a_function_can_be_saved(toy_task, tmp_path):
    posterior = NEAREST().fit(KEY, toy_task.problem(1, 200))
    posterior.save(tmp_path / "posterior")
    np.testing.assert_array_equal(
        sb.load(tmp_path / "posterior").sample(KEY, 10), posterior.sample(KEY, 10)
    )
