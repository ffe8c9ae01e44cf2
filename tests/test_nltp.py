"""The negative log density of true parameters: where it can be trusted, and where not."""

import jax
import numpy as np
import pytest
from scipy.stats import norm

from sbibench.core import registry
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.metric import Evidence
from sbibench.metrics import nltp

KEY = jax.random.key(0)


def log_prob(theta, x, spread):
    """Of posteriors of θ ~ N(0, 1), x ~ N(θ, 1) that have the right mean and some spread."""
    return norm.logpdf(theta, x / 2, spread)


RIGHT, WIDE, NARROW = np.sqrt(0.5), 1.0, 0.5


def test_it_is_the_mean_with_its_standard_error():
    found = nltp(KEY, [-1.0, -2.0, -6.0])
    assert found == pytest.approx(3)
    assert found.error == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    for one in (-2.5, [-2.5], np.float32(-2.5)):
        assert (nltp(KEY, one), nltp(KEY, one).error) == (2.5, None)
    metric = registry.METRICS.get("nltp")()
    assert metric(KEY, Evidence(log_prob_true=-2.5)) == 2.5


def test_of_one_pair_a_wrong_posterior_can_be_better():
    """The caution: a rare x has the true θ far out in the true posterior."""
    right, wide = (nltp(KEY, log_prob(0.0, 2.6, spread)) for spread in (RIGHT, WIDE))
    assert wide < right


def test_of_many_pairs_the_true_posterior_is_best():
    rng = np.random.default_rng(1)
    theta = rng.normal(size=40_000)
    x = theta + rng.normal(size=40_000)
    found = {s: nltp(KEY, log_prob(theta, x, s)) for s in (RIGHT, WIDE, NARROW)}
    for spread, value in found.items():  # cross entropy of two normal distributions
        truth = 0.5 * np.log(2 * np.pi * spread**2) + RIGHT**2 / (2 * spread**2)
        assert abs(value - truth) < 3 * value.error
    assert found[RIGHT] < found[WIDE] - 5 * found[WIDE].error
    assert found[RIGHT] < found[NARROW] - 5 * found[NARROW].error
    prior = nltp(KEY, norm.logpdf(theta))  # what ranks alone can't tell from the posterior
    assert prior > found[RIGHT] + 5 * prior.error


@pytest.mark.parametrize(
    ("log_probs", "message"),
    [
        ([], "shape"),
        ([[1.0, 2.0]], "shape"),
        ([1.0, np.nan], "1 of 2 log densities"),
        ([np.inf], "1 of 1"),
        (None, "NaN"),
    ],
)
def test_what_makes_no_sense_is_refused(log_probs, message):
    with pytest.raises(UsageError, match=message):
        nltp(KEY, log_probs)


def test_a_density_of_zero_is_an_error_with_a_reason():
    with pytest.raises(SbibenchError, match="0 in 1 of 2 pairs"):
        nltp(KEY, [-1.0, -np.inf])
