"""Drawing pairs: what becomes of invalid simulations, of posteriors that fail, of time limits."""

import dataclasses
import time

import jax
import numpy as np
import pytest
from scipy.stats import norm

import sbibench as sb
from sbibench.core import registry
from sbibench.core.errors import (
    DeadlineError,
    InvalidSimulationsError,
    SamplingError,
    UsageError,
)
from sbibench.core.keys import numpy_rng

SHRINK = 1 / 1.25  # of the toy task: noise of variance 1/4
SD = np.sqrt(0.2)


class Exact:
    """The posterior of the toy task, as a stranger might write it."""

    amortized = True

    def __init__(self, gives_up=lambda x: False, seconds=0.0):
        self.info = {}
        self.asked = []
        self._gives_up, self._seconds = gives_up, seconds

    def sample(self, key, n, x=None):
        self.asked.append(np.array(x))
        time.sleep(self._seconds)
        if self._gives_up(x):
            raise SamplingError("no way")
        return (SHRINK * x + SD * numpy_rng(key).normal(size=(n, 2))).astype(np.float32)

    def log_prob(self, thetas, x=None):
        return norm.logpdf(thetas, SHRINK * x, SD).sum(1)


def test_pairs_have_all_that_checks_need(toy_task, key):
    pairs = sb.draw_pairs(key, Exact(), toy_task, 30, 7, observation=2)
    assert pairs.thetas.shape == pairs.xs.shape == (30, 2)
    assert pairs.draws.shape == (30, 7, 2)
    assert pairs.log_probs_true.shape == (30,)
    assert pairs.log_probs.shape == (30, 7)
    np.testing.assert_allclose(
        pairs.log_probs[4], norm.logpdf(pairs.draws[4], SHRINK * pairs.xs[4], SD).sum(1), rtol=1e-5
    )
    np.testing.assert_allclose(pairs.log_priors_true, norm.logpdf(pairs.thetas).sum(1), rtol=1e-5)
    np.testing.assert_allclose(pairs.x_obs, toy_task.observation(2), rtol=1e-6)
    np.testing.assert_allclose(pairs.draws_at_x_obs.mean(0), SHRINK * pairs.x_obs, atol=0.1)
    assert pairs.names == ("a", "b")
    assert pairs.facts == {"pairs": 30, "draws": 7, "invalid_simulations": 0, "replaced": 0}
    assert np.std(pairs.xs - pairs.thetas) == pytest.approx(0.5, abs=0.1)


def test_the_exact_posterior_passes_every_check(toy_task, key):
    pairs = sb.draw_pairs(key, Exact(), toy_task, 100, 50)
    findings = sb.diagnose(key, pairs)
    assert list(findings) == registry.CHECKS.names()
    assert not [name for name, f in findings.items() if isinstance(f, str) or f.passed is False]


def test_the_same_key_gives_the_same_pairs_and_more_of_them_begin_alike(toy_task, key):
    few, same, many = (sb.draw_pairs(key, Exact(), toy_task, n, 5) for n in (8, 8, 12))
    for field in ("thetas", "xs", "draws", "log_probs", "draws_at_x_obs", "prior_draws"):
        np.testing.assert_array_equal(getattr(few, field), getattr(same, field))
    for field in ("thetas", "xs", "draws", "log_probs_true"):
        np.testing.assert_array_equal(getattr(few, field), getattr(many, field)[:8])
    other = sb.draw_pairs(jax.random.key(1), Exact(), toy_task, 8, 5)
    assert not np.array_equal(few.thetas, other.thetas)


def _sometimes(key, theta):
    return jax.numpy.where(theta.sum() > 1, np.nan, 1.0) * theta


def _never(key, theta):
    return np.nan * theta


def test_invalid_simulations_are_replaced_and_counted(toy_task, key):
    task = dataclasses.replace(toy_task, simulate=_sometimes)
    pairs = sb.draw_pairs(key, Exact(), task, 50, 5)
    assert len(pairs.thetas) == 50
    assert np.isfinite(pairs.xs).all()
    np.testing.assert_array_equal(pairs.thetas, pairs.xs)
    assert pairs.facts["invalid_simulations"] > 5
    task = dataclasses.replace(toy_task, simulate=_never)
    with pytest.raises(InvalidSimulationsError, match="0 of 5 pairs: 50 of 50 simulations"):
        sb.draw_pairs(key, Exact(), task, 5, 5)


def test_data_at_which_the_posterior_gives_up_are_replaced_and_counted(toy_task, key):
    pairs = sb.draw_pairs(key, Exact(gives_up=lambda x: x[0] > 1), toy_task, 50, 5)
    assert len(pairs.thetas) == 50
    assert (pairs.xs[:, 0] <= 1).all()
    assert pairs.facts["replaced"] > 5
    with pytest.raises(SamplingError, match=r"0 of 9 pairs: 5 posteriors can't be had.*no way"):
        sb.draw_pairs(key, Exact(gives_up=lambda x: True), toy_task, 9, 5)
    observed = toy_task.observation(1).astype(np.float32)
    not_here = Exact(gives_up=lambda x: np.array_equal(x, observed))
    pairs = sb.draw_pairs(key, not_here, toy_task, 20, 5)
    assert pairs.draws_at_x_obs is None
    assert "can't be sampled" in sb.diagnose(key, pairs)["lc2st"]


def test_a_time_limit_ends_it_with_the_pairs_there_are(toy_task, key):
    sb.draw_pairs(key, Exact(), toy_task, 2, 2)  # so that the simulator is compiled
    pairs = sb.draw_pairs(key, Exact(seconds=0.05), toy_task, 1000, 2, time_limit=2)
    assert 2 <= len(pairs.thetas) < 200
    assert pairs.facts["pairs"] == len(pairs.draws) == len(pairs.thetas)
    with pytest.raises(DeadlineError, match="the time limit was reached with 0 of 10 pairs"):
        sb.draw_pairs(key, Exact(seconds=0.3), toy_task, 10, 2, time_limit=0.2)


def test_progress_is_reported(toy_task, key):
    seen = []
    sb.draw_pairs(key, Exact(), toy_task, 4, 2, progress=lambda *report: seen.append(report))
    assert seen == [("pairs", i, 4) for i in (1, 2, 3, 4)]


def test_densities_are_left_out_where_there_are_none_or_nobody_wants_them(toy_task, key):
    class Sampled:
        amortized, info = True, {}
        sample = Exact.sample

        def __init__(self):
            self.asked, self._gives_up, self._seconds = [], lambda x: False, 0

    for pairs in (
        sb.draw_pairs(key, Sampled(), toy_task, 40, 5),
        sb.draw_pairs(key, Exact(), toy_task, 40, 5, densities=False),
    ):
        assert pairs.log_probs is None
        findings = sb.diagnose(key, pairs, ("sbc", "coverage", "nltp"))
        assert list(findings) == ["sbc", "coverage", "nltp"]
        assert findings["sbc"].passed
        assert "there are no densities" in findings["coverage"]
        assert "there are no densities" in findings["nltp"]


def test_what_can_not_be_judged_is_refused_in_words(toy_task, key):
    class Other(Exact):
        def sample(self, key, n, x=None):
            return np.zeros((n, 3), np.float32)

    class Lost(Exact):
        def sample(self, key, n, x=None):
            return np.full((n, 2), np.nan, np.float32)

    single = Exact()
    single.amortized = False
    with pytest.raises(UsageError, match="for one observation only"):
        sb.draw_pairs(key, single, toy_task)
    with pytest.raises(UsageError, match=r"shape \(1, 200, 3\), not \(1, 200, 2\)"):
        sb.draw_pairs(key, Other(), toy_task)
    with pytest.raises(Exception, match="200 of 200 draws are not finite"):
        sb.draw_pairs(key, Lost(), toy_task)
    with pytest.raises(UsageError, match="draws are 1 or more, not 0"):
        sb.draw_pairs(key, Exact(), toy_task, 5, 0)
    with pytest.raises(UsageError, match="did you mean 'sbc'"):
        sb.diagnose(key, sb.draw_pairs(key, Exact(), toy_task, 2, 2), ("sbcc",))
    box = sb.get_task("two_moons")
    with pytest.raises(UsageError, match="outside the prior of two_moons"):
        sb.draw_pairs(key, Exact(), box, 50, 50)


def test_refitting_sees_each_pair_s_data_and_the_whole_budget(toy_task, key):
    problems = []

    class Algorithm:
        def fit(self, key, problem):
            problems.append(problem)
            exact = Exact()
            exact.sample = lambda key, n, x=None: Exact.sample(exact, key, n, problem.x_obs)
            exact.log_prob = lambda thetas, x=None: Exact.log_prob(exact, thetas, problem.x_obs)
            exact.amortized = False
            return exact

    pairs = sb.refit_pairs(key, Algorithm(), toy_task, 123, 40, 20)
    assert len(problems) == 41
    for problem, x in zip(problems[:-1], pairs.xs, strict=True):
        np.testing.assert_array_equal(problem.x_obs, x)
        assert problem.simulator.left == 123
    np.testing.assert_array_equal(problems[-1].x_obs, pairs.x_obs)
    findings = sb.diagnose(key, pairs)
    assert not [name for name, f in findings.items() if isinstance(f, str) or f.passed is False]


def test_the_reference_is_calibrated_when_it_is_refitted(toy_task, key):
    """Its oracle answers for the data of each pair."""
    pairs = sb.refit_pairs(key, sb.get_algorithm("reference"), toy_task, 10, 60, 20)
    findings = sb.diagnose(key, pairs)
    assert findings["contraction"].statistic == pytest.approx(0.8, abs=0.05)
    for name in ("sbc", "tarp", "lc2st", "data_average"):
        assert findings[name].passed


def test_a_time_limit_is_handed_to_fits(toy_task, key):
    class Slow:
        def fit(self, key, problem):
            while not problem.deadline.passed:
                time.sleep(0.02)
            raise DeadlineError("over")

    start = time.monotonic()
    with pytest.raises(DeadlineError, match="0 of 5 pairs"):
        sb.refit_pairs(key, Slow(), toy_task, 10, 5, 5, time_limit=0.5)
    assert time.monotonic() - start < 20
