"""The sliced Wasserstein distance against closed forms, brute force, and on awkward input."""

import importlib
import itertools

import jax
import numpy as np
import pytest

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.metrics import sliced_wasserstein

module = importlib.import_module("sbibench.metrics.sliced_wasserstein")
KEY = jax.random.key(0)


def normals(seed, n, m, d, shift=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


@pytest.mark.parametrize(("n", "m"), [(5, 5), (4, 6), (3, 7), (1, 4), (6, 2)])
def test_in_one_dimension_it_is_the_cheapest_way_to_move_the_mass(n, m):
    """Brute force: n m equal parts of the mass of each set, matched in every order that matters."""
    a, b = normals([n, m], n, m, 1)
    one, other = np.sort(np.repeat(a[:, 0], m)), np.repeat(b[:, 0], n)
    least = np.mean((one - np.sort(other)) ** 2)
    found = module.squared_distances(a, b, np.ones((1, 1)))[0]
    assert found == pytest.approx(least, rel=1e-12)
    if n == m:
        orders = itertools.permutations(b[:, 0])
        best = min(np.mean((a[:, 0] - np.array(order)) ** 2) for order in orders)
        assert found == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_of_a_shift_it_is_exact(d):
    _, b = normals(1, 1, 300, d)
    v = np.random.default_rng(2).normal(size=d)
    found = sliced_wasserstein(KEY, b + v, b, projections=d)
    assert found == pytest.approx(np.linalg.norm(v) / np.sqrt(d), rel=1e-12)


@pytest.mark.parametrize(("d", "shift", "scale"), [(1, 0.5, 1.5), (3, 1.0, 0.5), (10, 0.5, 2.0)])
def test_gaussians_have_their_closed_form(d, shift, scale):
    """Along each line N(θ·v, s²) and N(0, 1), whose W2² is (θ·v)² + (s - 1)²."""
    truth = np.sqrt(shift**2 + (scale - 1) ** 2)
    found = sliced_wasserstein(KEY, *normals(3, 20_000, 30_000, d, shift, scale))
    assert abs(found - truth) < 3 * found.error
    assert found.error < truth / 20


def test_directions_are_uniform_and_come_in_frames():
    frames = module.frames(KEY, 3, 6000)
    assert frames.shape == (2000, 3, 3)
    np.testing.assert_allclose(
        frames @ np.swapaxes(frames, 1, 2), np.eye(3)[None] + 0 * frames, atol=1e-12
    )
    for i in range(3):  # each row alone: mean 0, covariance I/3, fourth moment 3 / (d (d + 2))
        rows = frames[:, i]
        assert np.abs(rows.mean(0)).max() < 0.05
        assert np.abs(rows.T @ rows / 2000 - np.eye(3) / 3).max() < 0.03
        assert np.abs(np.mean(rows**4, 0) - 0.2).max() < 0.02
    assert module.frames(KEY, 1, 50).tolist() == [[[1.0]]]
    assert module.frames(KEY, 100, 50).shape == (2, 100, 100)


def test_it_does_not_depend_on_blocks_order_or_sides(monkeypatch):
    a, b = normals(4, 70, 110, 3, 0.4)
    found = sliced_wasserstein(KEY, a, b)
    assert sliced_wasserstein(KEY, b, a) == pytest.approx(found, rel=1e-13)
    assert sliced_wasserstein(KEY, b, a).error == pytest.approx(found.error, rel=1e-9)
    order = np.random.default_rng(5).permutation(70)
    assert sliced_wasserstein(KEY, a[order], b) == pytest.approx(found, rel=1e-13)
    assert sliced_wasserstein(KEY, np.repeat(a, 3, axis=0), b) == pytest.approx(found, rel=1e-12)
    assert sliced_wasserstein(KEY, 7 * a - 3, 7 * b - 3) == pytest.approx(7 * found, rel=1e-9)
    monkeypatch.setattr(module, "AT_ONCE", 500)
    assert sliced_wasserstein(KEY, a, b) == pytest.approx(found, rel=1e-13)


def test_other_directions_differ_by_the_error_at_most():
    a, b = normals(6, 2000, 2000, 5)
    a[:, 0] *= 3  # along one axis, so that lines differ
    values = [sliced_wasserstein(key, a, b, projections=50) for key in jax.random.split(KEY, 30)]
    assert 0 < np.std(values, ddof=1) < 1.2 * values[0].error


def test_identical_and_constant_sets_are_at_zero():
    a, _ = normals(7, 50, 1, 2)
    same = sliced_wasserstein(KEY, a, a)
    assert (same, same.error < 0.2) == (0, True)
    ones = np.ones((9, 2))
    found = sliced_wasserstein(KEY, ones, ones[:4])
    assert (found, found.error) == pytest.approx((0, 0), abs=1e-15)
    assert sliced_wasserstein(KEY, ones + 3, ones[:4]) == pytest.approx(3, rel=1e-12)


def test_numbers_at_the_ends_of_float64_keep_their_distance():
    a, b = normals(8, 50, 60, 2, 1.0)
    found = sliced_wasserstein(KEY, a, b)
    for factor in (2.0**1000, 2.0**-900):
        far = sliced_wasserstein(KEY, factor * a, factor * b)
        assert far / factor == pytest.approx(found, rel=1e-9)
        assert far.error / factor == pytest.approx(found.error, rel=1e-9)
    with pytest.raises(SbibenchError, match="too large"):
        sliced_wasserstein(KEY, np.full((5, 2), 1.7e308), -np.full((5, 2), 1.7e308))


GOOD, OTHER = normals(9, 10, 12, 2)
BAD = np.where(np.arange(10)[:, None] == 3, np.nan, GOOD)


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
def test_what_makes_no_sense_is_refused(samples, reference, message):
    with pytest.raises(UsageError, match=message):
        sliced_wasserstein(KEY, samples, reference)
    with pytest.raises(UsageError, match="one projection"):
        sliced_wasserstein(KEY, GOOD, OTHER, projections=0)


def test_two_rows_are_enough():
    found = sliced_wasserstein(KEY, GOOD[:2], OTHER[:2])
    assert found > 0
    assert found.error > 0
