"""Shares of draws below the truth, and the exact simultaneous band for them."""

import numpy as np
import pytest
from scipy.stats import kstest

from sbibench.inference.ranks import direction, shares, uniformity


def test_shares_are_ranks_spread_over_their_steps():
    rng = np.random.default_rng(0)
    truth = np.array([[0.5], [10.0], [-1.0]])
    draws = np.tile(np.arange(4.0)[None, :, None], (3, 1, 1))
    found = shares(rng, truth, draws)[:, 0]
    assert (np.floor(found * 5) == [1, 4, 0]).all()


@pytest.mark.parametrize("values", [1, 3])
def test_shares_of_exchangeable_values_are_uniform_whatever_the_ties(values):
    rng = np.random.default_rng(0)
    pool = rng.integers(values, size=(4000, 8))
    found = shares(rng, pool[:, :1], pool[:, 1:, None])[:, 0]
    assert kstest(found, "uniform").pvalue > 0.01
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.parametrize(("n", "level"), [(20, 0.1), (150, 0.05), (600, 0.05)])
def test_the_band_is_left_as_often_as_it_says(n, level):
    repeats = 2000
    columns = np.random.default_rng(n).uniform(size=(n, repeats))
    found = uniformity(columns, level)
    above, low, high = found.above, found.low[:, None], found.high[:, None]
    left = ((above < low - 1e-12) | (above > high + 1e-12)).any(0)
    assert left.mean() == pytest.approx(level, abs=0.02)
    assert left.mean() < level + 3 * np.sqrt(level / repeats)
    # A column leaves the band if and only if its p-value is at most the level.
    np.testing.assert_array_equal(left, found.band_p_values <= level)
    for p_values in (found.band_p_values, found.ks_p_values):
        for share in (0.1, 0.5, 0.9):
            assert np.mean(p_values <= share) == pytest.approx(share, abs=0.06)


def test_the_recursion_gives_the_chance_that_counting_gives():
    found = uniformity(np.array([[0.01], [0.02]]), 0.05)
    np.testing.assert_allclose(found.at, [1 / 3, 2 / 3])
    # Counts (2, 2) and (0, 0) are rarest, each with chance 1/9; together they have 2/9.
    assert found.band_p_values[0] == pytest.approx(2 / 9)


def test_one_share_is_no_evidence():
    found = uniformity(np.array([[0.2]]), 0.01)
    assert found.band_p_values[0] == 1
    assert found.ks_p_values[0] > 0.1
    assert (found.low < 0).all()
    assert (found.high > 0).all()


def test_ten_thousand_shares_are_compared_at_once():
    columns = np.random.default_rng(0).uniform(size=(10_000, 2))
    found = uniformity(np.concatenate([columns, columns[:, :1] ** 1.1], axis=1), 0.01)
    assert (found.band_p_values[:2] > 0.01).all()
    assert found.band_p_values[2] < 1e-6


def test_direction_tells_shift_from_spread():
    u = (np.arange(500) + 0.5) / 500
    assert direction(u) == pytest.approx((0, 0), abs=0.01)
    mean, spread = direction(u**0.5)
    assert mean > 5
    mean, spread = direction(np.where(u < 0.5, u / 2, 0.5 + u / 2))
    assert abs(mean) < 1
    assert spread > 5
