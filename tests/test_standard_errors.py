"""Stated standard errors against the spread over fresh sets, and p-values against uniformity."""

import jax
import numpy as np
import pytest
from scipy.stats import kstest

from sbibench.metrics import (
    covariance_error,
    energy_distance,
    ksd,
    mean_error,
    meddist,
    mmd,
    nltp,
    sliced_wasserstein,
)

FACTOR = 1.5
PAIRS = (mmd, energy_distance, sliced_wasserstein, mean_error, covariance_error)


def sets(seed, n, m, d, shift=0.0, scale=1.0):
    rng = np.random.default_rng([seed, n, m, d])
    return scale * rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


def of_samples(metric, key, x):
    """Call a metric of one set: KSD from N(0, I), the distance from 0, the log density of one."""
    if metric is ksd:
        return ksd(key, x, -x)
    return meddist(key, x, np.zeros(x.shape[1])) if metric is meddist else nltp(key, -0.5 * x[:, 0])


def ratio(values):
    """Return the root mean square of the stated errors over the deviation of the values."""
    stated = np.sqrt(np.mean([v.error**2 for v in values]))
    found = stated / np.std(values, ddof=1)
    print(f"{found:.2f}")
    return found


def keys(n):
    return enumerate(jax.random.split(jax.random.key(0), n))


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.6, 1.4)])
@pytest.mark.parametrize("metric", PAIRS)
def test_of_two_sets(metric, shift, scale):
    values = [metric(key, *sets(i, 120, 180, 2, shift, scale)) for i, key in keys(50)]
    assert 1 / FACTOR < ratio(values) < FACTOR


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.6, 1.4)])
@pytest.mark.parametrize("metric", [ksd, meddist, nltp])
def test_of_one_set(metric, shift, scale):
    values = [of_samples(metric, key, sets(i, 200, 1, 2, shift, scale)[0]) for i, key in keys(80)]
    assert 1 / FACTOR < ratio(values) < FACTOR


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n", "m"), [(1, 400, 400), (10, 1500, 700)])
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.05, 1.0), (0.3, 1.3)])
@pytest.mark.parametrize("metric", [*PAIRS, ksd])
def test_of_larger_sets(metric, d, n, m, shift, scale):
    def value(i, key):
        a, b = sets(i, n, m, d, shift, scale)
        return of_samples(ksd, key, a) if metric is ksd else metric(key, a, b)

    assert 1 / FACTOR < ratio([value(i, key) for i, key in keys(100)]) < FACTOR


@pytest.mark.slow
def test_of_heavy_tails():
    """Student's t with 5 degrees of freedom, against a normal distribution."""
    for metric in PAIRS[:4]:  # a fourth moment as heavy as theirs has no spread to speak of
        values = []
        for i, key in keys(100):
            rng = np.random.default_rng(i)
            values.append(metric(key, rng.standard_t(5, (500, 3)) + 0.1, rng.normal(size=(500, 3))))
        assert 1 / FACTOR < ratio(values) < FACTOR


def p_values(metric, n, m, d, repeats, shift=0.0):
    def one(i, key):
        a, b = sets(i, n, m, d, shift)
        return of_samples(ksd, key, a) if metric is ksd else metric(key, a, b)

    return np.array([one(i, key).also["p_value"] for i, key in keys(repeats)])


@pytest.mark.parametrize(
    ("metric", "n", "m", "d", "repeats"),
    [
        (mmd, 60, 60, 1, 100),
        (mmd, 300, 130, 2, 60),  # groups of several rows
        (ksd, 100, 1, 1, 100),
        (ksd, 250, 1, 3, 60),
    ],
)
def test_p_values_of_equal_distributions_are_uniform(metric, n, m, d, repeats):
    found = p_values(metric, n, m, d, repeats)
    assert kstest(found, "uniform").pvalue > 0.01
    assert np.mean(found <= 0.1) < 0.2
    assert found.min() >= 0.001


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "n", "m", "d"),
    [
        (mmd, 1000, 1000, 10),
        (mmd, 1200, 70, 2),  # most rows of the larger set stay where they are
        (energy_distance, 700, 1000, 1),
        (ksd, 1500, 1, 10),
    ],
)
def test_p_values_of_larger_sets_are_uniform(metric, n, m, d):
    found = p_values(metric, n, m, d, 150)
    assert kstest(found, "uniform").pvalue > 0.01
    assert 0.01 < np.mean(found <= 0.05) < 0.1


@pytest.mark.parametrize(
    ("metric", "n", "m"),
    [(mmd, 150, 150), (mmd, 1200, 70), (energy_distance, 150, 150), (ksd, 150, 1)],
)
def test_p_values_of_a_shift_are_small(metric, n, m):
    assert np.median(p_values(metric, n, m, 2, 9, shift=0.5)) <= 0.003
    assert p_values(metric, n, m, 2, 3, shift=1.5).max() == 0.001


@pytest.mark.parametrize("metric", PAIRS)
def test_rows_that_are_in_both_sets_bring_them_nearer(metric):
    a, b = sets(2, 100, 120, 2, 1.0, 2.0)
    shared = np.concatenate([a[:50], b[:50]])
    one, other = metric(jax.random.key(0), a, b), metric(jax.random.key(0), shared, b)
    assert other < one
    assert 0 < other.error < 1


@pytest.mark.parametrize("metric", [mmd, energy_distance])
def test_of_identical_sets_the_p_value_is_large(metric):
    a, _ = sets(0, 100, 1, 2)
    assert metric(jax.random.key(0), a, a).also["p_value"] > 0.9


def test_the_key_moves_the_p_value_alone():
    a, b = sets(1, 100, 100, 2)
    for metric in (mmd, energy_distance):
        one, other = (metric(jax.random.key(i), a, b) for i in (0, 1))
        assert (one, one.error) == (other, other.error)
        p, q = one.also["p_value"], other.also["p_value"]
        assert p != q
        assert abs(p - q) < 0.1
