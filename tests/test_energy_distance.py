"""The energy distance against direct sums and closed forms, and on awkward input."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.metrics import energy_distance

KEY = jax.random.key(0)


def normals(seed, n, m, d, shift=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


def direct(a, b):
    n, m = len(a), len(b)
    within = cdist(a, a).sum() / (n * (n - 1)) + cdist(b, b).sum() / (m * (m - 1))
    return 2 * cdist(a, b).mean() - within


@pytest.mark.parametrize(("n", "m", "d"), [(2, 2, 1), (30, 70, 3), (500, 501, 2), (999, 1203, 10)])
@pytest.mark.parametrize("far", [0, 1e6])
def test_it_is_the_direct_sum(n, m, d, far):
    a, b = normals(1, n, m, d, 0.5)
    value = energy_distance(KEY, a + far, b + far)
    assert value == pytest.approx(direct(a, b), abs=1e-8 if far else 1e-12)


def test_in_one_dimension_the_biased_one_is_that_of_scipy():
    """With the diagonals: scipy's is the root of twice the integral of (F - G)²."""
    a, b = normals(2, 60, 80, 1, 0.3)
    diagonals = cdist(a, a).sum() / 60**2 / 59 + cdist(b, b).sum() / 80**2 / 79
    theirs = stats.energy_distance(a[:, 0], b[:, 0]) ** 2
    assert energy_distance(KEY, a, b) + diagonals == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(("shift", "scale"), [(0.5, 1.0), (0.0, 2.0), (1.0, 0.5)])
def test_gaussians_have_their_closed_form(shift, scale):
    """E|N(v, t²)| = t √(2/π) exp(-v² / 2t²) + v (1 - 2 Φ(-v/t))."""

    def mean_distance(v, t):
        folded = t * np.sqrt(2 / np.pi) * np.exp(-(v**2) / (2 * t**2))
        return folded + v * (1 - 2 * stats.norm.cdf(-v / t))

    truth = 2 * mean_distance(shift, np.hypot(1, scale))
    truth -= mean_distance(0, np.sqrt(2)) + mean_distance(0, scale * np.sqrt(2))
    values = [energy_distance(KEY, *normals(i, 150, 200, 1, shift, scale)) for i in range(40)]
    error = np.std(values, ddof=1) / len(values) ** 0.5
    assert abs(np.mean(values) - truth) < 3 * error
    assert error < truth / 5


def test_equal_distributions_are_at_zero_in_the_mean():
    values = np.array(
        [energy_distance(KEY, *normals(seed, 100, 150, 2)) for seed in range(100, 150)]
    )
    error = values.std(ddof=1) / len(values) ** 0.5
    assert abs(values.mean()) < 3 * error
    # The biased estimate, with the diagonals, would be above 0 by E|x - x'| (1/n + 1/m).
    assert 6 * error < np.sqrt(np.pi) * (1 / 100 + 1 / 150)
    assert (values < 0).any()


def test_it_is_symmetric_and_does_not_see_rotations_or_the_order():
    a, b = normals(3, 600, 900, 3, 0.2)
    value = energy_distance(KEY, a, b)
    swapped = energy_distance(KEY, b, a)
    assert swapped == pytest.approx(value, rel=1e-10)
    assert swapped.error == pytest.approx(value.error, rel=1e-6)
    turn = np.linalg.qr(normals(4, 3, 1, 3)[0])[0]
    assert energy_distance(KEY, a @ turn + 5, b @ turn + 5) == pytest.approx(value, rel=1e-9)
    assert energy_distance(KEY, -3 * a, -3 * b) == pytest.approx(3 * value, rel=1e-9)
    order = np.random.default_rng(5).permutation(600)
    assert energy_distance(KEY, a[order], b) == pytest.approx(value, rel=1e-10)


def test_identical_and_constant_sets():
    a, _ = normals(6, 50, 1, 2)
    same = energy_distance(KEY, a, a)
    assert same == pytest.approx(direct(a, a), abs=1e-13)
    assert same < 0
    assert same.also["p_value"] > 0.9
    ones = np.ones((30, 2))
    found = energy_distance(KEY, ones, ones[:20])
    assert (found, found.error, found.also["p_value"]) == (0, 0, 1)
    apart = energy_distance(KEY, ones + np.array([3, 4]), ones[:20])
    assert apart == pytest.approx(10, rel=1e-12)
    assert apart.also["p_value"] == 0.001


def test_numbers_at_the_ends_of_float64_keep_their_distance():
    a, b = normals(7, 50, 60, 2, 1.0)
    value = energy_distance(KEY, a, b)
    for factor in (2.0**1000, 2.0**-900):
        far = energy_distance(KEY, factor * a, factor * b)
        assert far / factor == pytest.approx(value, rel=1e-9)
        assert far.error / factor == pytest.approx(value.error, rel=1e-9)
    with pytest.raises(SbibenchError, match="too large"):
        energy_distance(KEY, np.full((5, 2), 1.7e308), -np.full((5, 2), 1.7e308))


GOOD, OTHER = normals(8, 10, 12, 2)
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
        energy_distance(KEY, samples, reference)
