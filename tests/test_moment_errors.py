"""The errors of means and covariances against plain formulas, and on awkward input."""

import jax
import numpy as np
import pytest

from sbibench.core.errors import UsageError
from sbibench.metrics import covariance_error, mean_error

KEY = jax.random.key(0)
BOTH = pytest.mark.parametrize("metric", [mean_error, covariance_error])


def normals(seed, n, m, d, shift=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


@pytest.mark.parametrize(("n", "m", "d"), [(2, 2, 1), (30, 70, 3), (500, 90, 10)])
@pytest.mark.parametrize("far", [0, 1e6])
def test_they_are_the_plain_formulas(n, m, d, far):
    a, b = normals(1, n, m, d, 0.5, 1.5)
    mix = np.eye(d) + 0.5
    a, b = a @ mix, b @ mix
    sd = b.std(0, ddof=1)
    z = (a.mean(0) - b.mean(0)) / sd
    wrong = np.atleast_2d(np.cov(a.T) - np.cov(b.T)) / np.outer(sd, sd)
    expected = np.sqrt(np.mean(z**2)), np.linalg.norm(wrong) / np.sqrt(d)
    for metric, value in zip((mean_error, covariance_error), expected, strict=True):
        assert metric(KEY, a + far, b + far) == pytest.approx(value, rel=1e-7 if far else 1e-12)


@pytest.mark.parametrize("d", [1, 3, 10])
def test_exact_moments_give_exact_errors(d):
    """Points at ±√d along each axis have mean 0 and covariance I (but for n - 1)."""
    axes = np.concatenate([np.eye(d), -np.eye(d)]) * np.sqrt((2 * d - 1) / 2)
    units = np.linspace(0.5, 4, d)  # each coordinate has its own
    assert mean_error(KEY, (axes + 0.3) * units, axes * units) == pytest.approx(0.3, rel=1e-12)
    wide = covariance_error(KEY, np.sqrt(1.2) * axes * units, axes * units)
    assert wide == pytest.approx(0.2, rel=1e-12)
    assert covariance_error(KEY, axes + 7, axes) == pytest.approx(0, abs=1e-12)
    assert mean_error(KEY, 3 * axes, axes) == pytest.approx(0, abs=1e-12)


def test_a_wrong_correlation_is_seen_though_all_variances_are_right():
    rng = np.random.default_rng(2)
    a, b = (rng.multivariate_normal(np.zeros(2), [[1, r], [r, 1]], 20_000) for r in (0.5, 0.0))
    found = covariance_error(KEY, a, b)
    assert abs(found - 0.5) < 4 * found.error  # two entries of 0.5: √(2 · 0.25) / √2
    assert found.error < 0.02


@BOTH
def test_units_origin_and_order_do_not_matter(metric):
    a, b = normals(3, 200, 300, 3, 0.5, 1.3)
    found = metric(KEY, a, b)
    units = np.array([1e-3, 1.0, -1e4])
    moved = metric(KEY, a * units + 7, b * units + 7)
    assert moved == pytest.approx(found, rel=1e-9)
    assert moved.error == pytest.approx(found.error, rel=1e-6)
    order = np.random.default_rng(4).permutation(200)
    assert metric(KEY, a[order], b) == pytest.approx(found, rel=1e-12)
    assert metric(KEY, np.repeat(a, 2, axis=0), b) == pytest.approx(found, rel=0.01)


def test_the_size_of_the_noise_is_as_documented():
    n, m, d = 400, 600, 5
    values = {metric: [] for metric in (mean_error, covariance_error)}
    for seed in range(50):
        for metric, found in values.items():
            found.append(metric(KEY, *normals([5, seed], n, m, d)))
    noise = 1 / n + 1 / m
    assert np.mean(np.square(values[mean_error])) == pytest.approx(noise, rel=0.2)
    assert np.mean(np.square(values[covariance_error])) == pytest.approx((d + 1) * noise, rel=0.2)


@BOTH
def test_identical_sets_are_at_zero(metric):
    a, _ = normals(6, 50, 1, 2)
    found = metric(KEY, a, a)
    assert found == 0
    assert 0 < found.error < 0.5  # by chance, of other sets


@BOTH
def test_constant_columns(metric):
    a, b = normals(7, 40, 50, 2)
    b[:, 1] = 3.0
    with pytest.raises(UsageError, match="constant in column 1"):
        metric(KEY, a, b)
    a[:, 1] = 3.0  # of the samples they are no trouble
    _, b = normals(8, 1, 50, 2)
    assert np.isfinite(metric(KEY, a, b))
    assert metric(KEY, np.ones((9, 2)), b).error > 0


@BOTH
def test_numbers_at_the_ends_of_float64(metric):
    a, b = normals(9, 50, 60, 2, 1.0)
    for factor in (2.0**1000, 2.0**-900):
        far = metric(KEY, factor * a, factor * b)
        assert far == pytest.approx(metric(KEY, a, b), rel=1e-9)
    assert np.isfinite(metric(KEY, 1e70 * a, b).error)
    with pytest.raises(UsageError, match="too far"):
        metric(KEY, 1e200 * a, b)
    with pytest.raises(UsageError, match="too far"):
        metric(KEY, a, 1e-200 * b)


GOOD, OTHER = normals(10, 10, 12, 2)
BAD = np.where(np.arange(10)[:, None] == 3, np.nan, GOOD)


@BOTH
@pytest.mark.parametrize(
    ("samples", "reference", "message"),
    [
        (BAD, OTHER, "samples: .* not finite"),
        (GOOD, np.where(np.isnan(BAD), np.inf, GOOD), "reference: .* not finite"),
        (GOOD[:1], OTHER, "at least 2 rows"),
        (GOOD, OTHER[:1], "at least 2 rows"),
        (GOOD, OTHER[:, :1], "columns"),
        (GOOD[:, 0], OTHER, "shape"),
    ],
)
def test_what_makes_no_sense_is_refused(metric, samples, reference, message):
    with pytest.raises(UsageError, match=message):
        metric(KEY, samples, reference)
