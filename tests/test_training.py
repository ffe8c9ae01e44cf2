import itertools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from sbibench.core.deadline import Deadline
from sbibench.core.errors import DeadlineError, SbibenchError, UsageError
from sbibench.inference.training import Training, train


class Line(NamedTuple):
    weights: Any
    offset: Any


def squared(params, key, xs, ys):
    del key
    return (ys[:, 0] - xs @ params.weights - params.offset) ** 2


def never_finite(params, key, xs, ys):
    return squared(params, key, xs, ys) * jnp.nan


def data(n, noise=0.0):
    rng = np.random.default_rng(1)
    xs = rng.normal(size=(n, 3)).astype(np.float32)
    ys = xs @ np.array([1.0, -2.0, 0.5]) + 3.0 + noise * rng.normal(size=n)
    return xs, ys[:, None].astype(np.float32)


START = Line(jnp.zeros(3, jnp.float32), jnp.float32(3.0))
FAST = Training(learning_rate=0.05, batch_size=50)


@pytest.mark.parametrize("n", [2, 30, 500, 6000])
def test_it_finds_the_minimum_whatever_the_number_of_rows(key, n):
    best, info = train(key, squared, START, data(n), FAST)
    if n >= 500:
        np.testing.assert_allclose(best.weights, [1.0, -2.0, 0.5], atol=0.02)
    assert info["stopped"] in ("converged", "max_epochs")
    assert best.offset == 3.0  # only the weights are trained


def test_the_best_weights_come_back_not_the_last(key):
    # A step size far too large: losses jump about.
    settings = Training(learning_rate=0.5, batch_size=20, patience=15)
    rows = data(200, noise=1.0)
    best, info = train(key, squared, START, rows, settings)
    assert info["best_epoch"] < info["epochs"]
    held_out = np.arange(9, 200, 10)
    loss = squared(best, key, rows[0][held_out], rows[1][held_out]).mean()
    np.testing.assert_allclose(loss, info["loss_validation"], rtol=1e-4)


def test_nothing_is_compiled_for_another_number_of_rows(key, compilations):
    train(key, squared, START, data(100), FAST)
    before = compilations()
    train(key, squared, START, data(12_345), FAST)
    assert compilations() == before


def test_same_key_same_weights(key):
    first, _ = train(key, squared, START, data(100, 1.0), FAST)
    second, _ = train(key, squared, START, data(100, 1.0), FAST)
    np.testing.assert_array_equal(first.weights, second.weights)


def test_a_deadline_ends_training_with_what_is_there(key):
    looks = itertools.count()

    class Soon(Deadline):
        @property
        def passed(self):
            return next(looks) >= 5

    best, info = train(key, squared, START, data(500), FAST, Soon())
    assert info["stopped"] == "deadline"
    assert info["epochs"] < 10
    assert np.isfinite(best.weights).all()


def test_a_deadline_before_the_first_epoch_is_an_error_in_words(key):
    with pytest.raises(DeadlineError, match="first epoch"):
        train(key, squared, START, data(500), FAST, Deadline(0.0))


def test_divergence_is_an_error_in_words(key):
    with pytest.raises(SbibenchError, match="diverged: no validation loss was finite"):
        train(key, never_finite, START, data(100), FAST)


def test_one_row_is_too_few(key):
    with pytest.raises(UsageError, match="2 valid simulations"):
        train(key, squared, START, data(1), FAST)


@pytest.mark.parametrize(
    "wrong", [{"batch_size": 0}, {"learning_rate": -1.0}, {"validation_fraction": 1.0}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Training(**wrong)


def test_running_means_of_the_weights_are_steadier(key):
    rows = data(200, noise=1.0)
    losses = {}
    for averaging in (0.0, 0.99):
        settings = Training(
            learning_rate=0.05, batch_size=10, averaging=averaging, patience=50, max_epochs=50
        )
        fitted, _ = train(key, squared, START, rows, settings)
        losses[averaging] = float(squared(fitted, key, *rows).mean())
    assert losses[0.99] < losses[0.0] + 0.01


def test_rows_that_judge_never_train(key):
    rows = data(100)
    spoiled = tuple(r.copy() for r in rows)
    spoiled[1][9::10] = 1e3
    settings = Training(max_epochs=1)
    clean, other = (train(key, squared, START, r, settings)[0] for r in (rows, spoiled))
    np.testing.assert_array_equal(clean.weights, other.weights)
