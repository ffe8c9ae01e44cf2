"""A neural posterior asked at many x at once."""

import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench as sb
from sbibench.core.errors import SamplingError, UsageError
from test_truncated import HIGH, LOW, posterior

XS = np.array([[0.0, 0.5], [1.0, -1.0], [-0.3, 2.0]], np.float32)


def test_draws_are_inside_and_those_of_a_row_do_not_depend_on_the_others(toy_task, key):
    cut = posterior(toy_task, key)
    drawn = cut.sample_each(key, 400, XS)
    assert drawn.shape == (3, 400, 2)
    assert drawn.dtype == np.float32
    assert ((drawn >= LOW) & (drawn <= HIGH)).all()
    np.testing.assert_array_equal(drawn[:2], cut.sample_each(key, 400, XS[:2]))
    assert len(np.unique(drawn.reshape(-1, 2), axis=0)) == 1200
    for x, thetas in zip(XS, drawn, strict=True):
        one = cut.sample(key, 4000, x)
        np.testing.assert_allclose(thetas.mean(0), one.mean(0), atol=0.07)
        np.testing.assert_allclose(thetas.std(0), one.std(0), rtol=0.15)


def test_densities_are_those_of_one_x_after_the_other(toy_task, key):
    cut = posterior(toy_task, key)
    thetas = cut.sample_each(key, 5, XS)
    thetas[0, 0] = 5.0  # outside
    together = cut.log_prob_each(thetas, XS)
    singly = np.stack([cut.log_prob(t, x) for t, x in zip(thetas, XS, strict=True)])
    assert together[0, 0] == singly[0, 0] == -np.inf
    difference = together[:, 1:] - singly[:, 1:]
    np.testing.assert_allclose(difference, 0, atol=0.3)  # three errors of a mass from 100 hits
    np.testing.assert_allclose(np.ptp(difference, axis=1), 0, atol=1e-5)


def test_nothing_is_cut_off_where_the_prior_is_everywhere(toy_task, key):
    everywhere = posterior(toy_task, key, prior=dist.Normal(np.zeros(2), np.ones(2)).to_event(1))
    thetas = everywhere.sample_each(key, 5, XS)
    together = everywhere.log_prob_each(thetas, XS)
    singly = np.stack([everywhere.log_prob(t, x) for t, x in zip(thetas, XS, strict=True)])
    np.testing.assert_allclose(together, singly, atol=1e-5)


def test_rows_that_are_rarely_inside_are_filled_up_one_by_one(toy_task, key, monkeypatch):
    monkeypatch.setattr("sbibench.inference.many.ROUNDS", 1)
    drawn = posterior(toy_task, key).sample_each(key, 50, XS)
    assert ((drawn >= LOW) & (drawn <= HIGH)).all()
    lost = posterior(toy_task, key, centre=1000.0)
    with pytest.raises(SamplingError, match="none of"):
        lost.sample_each(key, 5, XS)
    with pytest.raises(SamplingError, match="none of the estimate's mass"):
        lost.log_prob_each(np.zeros((3, 1, 2)), XS)
    with pytest.raises(UsageError):
        lost.sample_each(key, 5, [[np.nan, 0]])


def test_a_second_set_of_pairs_compiles_nothing(toy_task, key, compilations):
    cut = posterior(toy_task, key, prior=toy_task.prior)
    sb.draw_pairs(key, cut, toy_task, 60, 30)
    before = compilations()
    pairs = sb.draw_pairs(key, cut, toy_task, 300, 50, observation=2)
    assert compilations() == before
    assert pairs.log_probs.shape == (300, 50)
