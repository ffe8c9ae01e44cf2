"""ABC random forests: the weights against whole trees, and what the algorithm makes of them."""

import dataclasses

import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.tree import DecisionTreeRegressor

from sbibench.algorithms.rf_abc import RFABC
from sbibench.core.deadline import Deadline
from sbibench.core.errors import DeadlineError, UsageError
from sbibench.inference.forest import Forest, Sorted, forest_weights, leaf
from sbibench.inference.pls import pls_axes

PLAIN = Forest(trees=500, min_node=5, linear=0.0)


def _data(n, p=3, seed=0):
    rng = np.random.default_rng(seed)
    xs = rng.normal(size=(n, p)).astype(np.float32)
    ys = np.stack([xs[:, 0] + 0.5 * rng.normal(size=n), np.sin(2 * xs[:, 1]) * xs[:, 2]], 1)
    return xs, ys, np.array([0.5, -0.3, 0.2], np.float32)[:p]


def _whole_tree(xs, y, x, drawn, min_node, features, seed=0):
    """Return the weights [n] by a whole tree of scikit-learn's on the bootstrap draws."""
    tree = DecisionTreeRegressor(
        min_samples_split=min_node + 1, max_features=features, random_state=seed
    )
    tree.fit(xs[drawn], y[drawn])
    inside = drawn[tree.apply(xs[drawn]) == tree.apply(x[None])]
    return np.bincount(inside, minlength=len(y)) / len(inside)


@pytest.mark.parametrize(("n", "p", "min_node"), [(300, 1, 5), (2000, 3, 20), (12_000, 3, 30)])
def test_without_chance_a_path_ends_in_the_leaf_of_the_whole_tree(n, p, min_node):
    xs, ys, x = _data(n, 3)
    xs, x = xs[:, :p], x[:p]
    settings = Forest(tried=p, min_node=min_node)
    for seed in range(5):
        drawn = np.random.default_rng(seed).integers(n, size=n)
        weights = np.zeros(n)
        y = ys[:, 0]
        rows, counts = leaf(
            np.random.default_rng(seed), Sorted.of(xs), np.arange(p), y, x, settings
        )
        weights[rows] = counts / counts.sum()
        np.testing.assert_allclose(weights, _whole_tree(xs, y, x, drawn, min_node, p))


def test_ties_are_never_split():
    rng = np.random.default_rng(0)
    xs = rng.integers(3, size=(500, 2)).astype(np.float32)
    y, x = xs[:, 0] + rng.normal(size=500), np.array([1.0, 2.0], np.float32)
    seen, settings = np.arange(2), Forest(min_node=5, tried=2)
    for seed in range(10):
        rows, _ = leaf(np.random.default_rng(seed), Sorted.of(xs), seen, y, x, settings)
        assert (xs[rows] == x).all()


def test_weights_are_those_of_a_forest_of_whole_trees():
    n, trees = 300, 1000
    xs, ys, x = _data(n)
    y, settings = ys[:, 1], dataclasses.replace(PLAIN, trees=trees)
    weights, grown = forest_weights(np.random.default_rng(0), xs, ys[:, 1:], x, settings)
    ours = weights[:, 0]
    assert grown == trees
    rng = np.random.default_rng(1)
    theirs = np.mean(
        [_whole_tree(xs, y, x, rng.integers(n, size=n), 5, 1, seed) for seed in range(trees)],
        axis=0,
    )
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    mean, wanted = ours @ y, theirs @ y
    np.testing.assert_allclose(mean, wanted, atol=0.05)
    sd = np.sqrt(ours @ (y - mean) ** 2)
    np.testing.assert_allclose(sd, np.sqrt(theirs @ (y - wanted) ** 2), rtol=0.1)


def test_weights_add_up_and_know_which_data_matter():
    xs, ys, x = _data(1000)
    weights, _ = forest_weights(np.random.default_rng(0), xs, ys, x, PLAIN)
    np.testing.assert_allclose(weights.sum(0), 1)
    assert (weights >= 0).all()
    assert abs(weights[:, 0] @ xs[:, 0] - x[0]) < 0.15
    assert np.sqrt(weights[:, 0] @ (xs[:, 0] - x[0]) ** 2) < 0.5


def test_linear_axes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5))
    y = xs @ rng.normal(size=5) + rng.normal(size=500)
    axes = pls_axes(xs, y, 0.999)
    ours = axes.project(xs)
    theirs = PLSRegression(ours.shape[1]).fit(xs, y).transform(xs)
    for a, b in zip(ours.T, theirs.T, strict=True):
        np.testing.assert_allclose(abs(np.corrcoef(a, b)[0, 1]), 1, rtol=1e-6)
    assert ours.shape[1] > pls_axes(xs, y, 0.5).project(xs).shape[1] >= 1


def test_linear_axes_of_constant_data_are_none():
    xs = np.ones((50, 2))
    assert pls_axes(xs, np.arange(50.0), 0.9).project(xs).shape == (50, 0)


def test_each_parameter_is_drawn_by_its_own_weights(toy_task, key):
    posterior = RFABC(Forest(trees=100)).fit(key, toy_task.problem(1, 2000))
    weights = posterior.weights()
    thetas = posterior._thetas
    samples = posterior.sample(key, 20_000)
    np.testing.assert_allclose(samples.mean(0), (weights * thetas).sum(0), atol=0.02)
    truth = toy_task.reference_samples(1, 2000)
    np.testing.assert_allclose(samples.mean(0), truth.mean(0), atol=0.15)
    np.testing.assert_allclose(samples.std(0), truth.std(0), rtol=0.3)
    assert abs(np.corrcoef(samples.T)[0, 1]) < 0.03


def test_time_ends_the_trees_and_those_there_are_serve(toy_task, key):
    xs, ys, x = _data(200)
    with pytest.raises(DeadlineError, match="first trees"):
        forest_weights(np.random.default_rng(0), xs, ys, x, PLAIN, Deadline(0.0))
    problem = toy_task.problem(1, 200, time_limit=3.0)
    posterior = RFABC(Forest(trees=10**6)).fit(key, problem)
    assert posterior.info["stopped"] == "deadline"
    assert 1 <= posterior.info["trees"] < 10**6
    np.testing.assert_allclose(posterior.weights().sum(0), 1)


def test_a_support_that_is_no_product_of_intervals_is_refused(toy_task, key):
    wedge = dist.TransformedDistribution(
        dist.Normal(np.zeros(2), np.ones(2)).to_event(1), dist.transforms.OrderedTransform()
    )
    task = dataclasses.replace(toy_task, prior=wedge)
    with pytest.raises(UsageError, match="product of intervals"):
        RFABC(Forest(trees=10)).fit(key, task.problem(1, 200)).sample(key, 100)


def test_one_simulation_makes_no_forest(toy_task, key):
    problem = toy_task.problem(1, 1)
    with pytest.raises(UsageError, match="2 simulations or more"):
        RFABC().fit(key, problem)
    assert problem.simulator.calls == 0


@pytest.mark.parametrize("wrong", [{"trees": 0}, {"min_node": 0}, {"tried": 0}, {"linear": 1.5}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        Forest(**wrong)
