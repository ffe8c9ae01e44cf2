import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.inference.adjustment import adjust
from sbibench.inference.kde import BANDWIDTHS, KDE
from sbibench.inference.particles import Particles
from sbibench.inference.summaries import SemiAutomatic

RNG = np.random.default_rng(0)
BOX = dist.Uniform(np.zeros(2), np.ones(2)).to_event(1)
NORMAL = dist.Normal(np.zeros(2), np.ones(2)).to_event(1)


def test_bandwidths_follow_each_parameter_s_scale(key):
    points = RNG.normal(size=(200, 2)) * [1.0, 0.1]
    kde = KDE.fit(key, points)
    assert (kde.deviations > 0).all()
    np.testing.assert_allclose(kde.deviations[0] / kde.deviations[1], 10, rtol=0.2)
    samples = kde.sample(key, 50_000)
    expected = np.sqrt(points.var(0) + kde.deviations**2)
    np.testing.assert_allclose(samples.std(0), expected, rtol=0.02)


def test_equal_weights_and_no_weights_are_the_same_estimate(key):
    points = RNG.normal(size=(100, 2))
    kde, weighted = KDE.fit(key, points), KDE.fit(key, points, np.full(100, 3.0))
    assert kde.bandwidth == weighted.bandwidth
    np.testing.assert_allclose(kde.deviations, weighted.deviations)
    np.testing.assert_allclose(weighted.weights, 0.01)


def test_the_bandwidth_has_the_best_held_out_likelihood_of_sklearn_s_estimate(key):
    points = np.concatenate([RNG.normal(-3, 0.2, (25, 2)), RNG.normal(3, 0.2, (25, 2))])
    z = points / points.std(0)
    search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=len(z)).fit(z)
    assert KDE.fit(key, points, folds=len(z)).bandwidth == search.best_params_["bandwidth"]


def test_few_points_in_many_dimensions_are_smoothed_enough(key):
    points, others = np.random.default_rng(1).normal(size=(2, 100, 10))
    kde = KDE.fit(key, points)
    assert kde.bandwidth == pytest.approx(100 ** (-1 / 14), abs=0.15)  # Scott's rule

    def log_likelihood(bandwidth):
        fixed = KernelDensity(bandwidth=bandwidth).fit(points / points.std(0))
        return fixed.score(others / points.std(0))

    assert log_likelihood(kde.bandwidth) > log_likelihood(0.5) + 100


def test_weights_move_the_estimate_as_repetition_would(key):
    points = RNG.normal(size=(300, 1))
    weights = np.exp(points[:, 0])  # turns N(0, 1) into N(1, 1)
    kde = KDE.fit(key, points, weights)
    samples = kde.sample(key, 50_000)
    mean = np.average(points[:, 0], weights=weights)
    np.testing.assert_allclose(samples.mean(), mean, atol=0.02)
    variance = np.average((points[:, 0] - mean) ** 2, weights=weights)
    np.testing.assert_allclose(samples.var(), variance + kde.deviations[0] ** 2, rtol=0.03)
    np.testing.assert_allclose(kde.deviations[0], kde.bandwidth * np.sqrt(variance))


def test_points_without_weight_do_not_count(key):
    points = np.concatenate([RNG.normal(size=(50, 2)), np.full((50, 2), 1e6)])
    weights = np.repeat([0.02, 0.0], 50)
    assert np.abs(KDE.fit(key, points, weights).sample(key, 1000)).max() < 10
    with pytest.raises(UsageError, match="2 points or more, not 1"):
        KDE.fit(key, points, np.eye(100)[0])


def test_particles_are_drawn_by_weight_and_stay_in_the_support(key):
    thetas = np.array([[0.0, 0.5], [1.0, 0.999]], np.float32)
    particles = Particles(BOX, thetas, np.array([0.25, 0.75]))
    samples = particles.sample(key, 20_000)
    np.testing.assert_allclose((samples == thetas[1]).all(1).mean(), 0.75, atol=0.02)
    smooth = particles.smoothed(key).sample(key, 20_000)
    assert smooth.dtype == np.float32
    assert ((smooth >= 0) & (smooth <= 1)).all()
    assert len(np.unique(smooth, axis=0)) > 100


def _linear_gaussian(n):
    """Return θ ~ N(0, 1)², x = θ A + 0.3 noise, x_obs and the exact posterior's moments."""
    A = np.array([[1.0, 0.5, -1.0], [0.2, 2.0, 0.7]])
    thetas = RNG.normal(size=(n, 2)).astype(np.float32)
    xs = thetas @ A + 0.3 * RNG.normal(size=(n, 3))
    x_obs = np.array([1.0, -0.5, 0.3])
    covariance = np.linalg.inv(np.eye(2) + A @ A.T / 0.09)
    return thetas, xs, x_obs, covariance @ A @ x_obs / 0.09, covariance


def test_adjustment_recovers_a_linear_gaussian_posterior():
    thetas, xs, x_obs, mean, covariance = _linear_gaussian(5000)
    adjusted, done = adjust(NORMAL, thetas, xs, x_obs)
    assert done
    assert adjusted.dtype == np.float32
    np.testing.assert_allclose(adjusted.mean(0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(adjusted.T), covariance, atol=0.1 * covariance.max())


def test_adjustment_undoes_the_choice_of_thetas_by_weights():
    thetas, xs, x_obs, mean, _ = _linear_gaussian(20_000)
    rare = thetas[:, 0] > 0
    kept = ~rare | (RNG.random(len(rare)) < 0.1)
    weights = np.where(rare, 10.0, 1.0)[kept]
    adjusted, _ = adjust(NORMAL, thetas[kept], xs[kept], x_obs, weights)
    np.testing.assert_allclose(np.average(adjusted, axis=0, weights=weights), mean, atol=0.02)
    unweighted, _ = adjust(NORMAL, thetas[kept], xs[kept], x_obs)
    assert np.abs(unweighted.mean(0) - mean).max() > 0.04


def test_constant_and_repeated_columns_change_nothing():
    thetas, xs, x_obs, _, _ = _linear_gaussian(500)
    plain, _ = adjust(NORMAL, thetas, xs, x_obs)
    more = np.column_stack([xs, np.full(500, 7.0), xs[:, 0]])
    adjusted, done = adjust(NORMAL, thetas, more, np.append(x_obs, [9.0, x_obs[0]]))
    assert done
    np.testing.assert_allclose(adjusted, plain, atol=1e-4)


def test_nothing_that_varies_leaves_the_parameters_alone():
    thetas = RNG.normal(size=(10, 2)).astype(np.float32)
    adjusted, done = adjust(NORMAL, thetas, np.ones((10, 3)), np.zeros(3))
    assert not done
    np.testing.assert_array_equal(adjusted, thetas)


def test_as_many_columns_as_rows_leave_the_parameters_alone():
    thetas = RNG.normal(size=(10, 2)).astype(np.float32)
    adjusted, done = adjust(NORMAL, thetas, RNG.normal(size=(10, 30)), np.zeros(30))
    assert not done
    np.testing.assert_array_equal(adjusted, thetas)


@pytest.mark.parametrize("prior", [BOX, dist.LogNormal(np.zeros(2), np.ones(2)).to_event(1)])
@pytest.mark.parametrize("far", [3.0, 1e6])
def test_adjusted_parameters_are_finite_and_inside(prior, far):
    thetas = (0.05 + 0.9 * RNG.random((200, 2))).astype(np.float32)
    xs = thetas + 0.1 * RNG.normal(size=thetas.shape)
    adjusted, _ = adjust(prior, thetas, xs, np.full(2, far))
    assert np.isfinite(adjusted).all()
    assert priors.rows(prior).inside(adjusted).all()


def test_summaries_find_the_informative_columns():
    us = RNG.normal(size=(2000, 2)) * [1.0, 100.0]
    xs = np.column_stack(
        [
            np.full(2000, 5.0),
            us[:, 0] + 0.1 * RNG.normal(size=2000),
            1000 * RNG.normal(size=(2000, 20)),
            (us[:, 1] / 100) ** 3,
        ]
    ).astype(np.float32)
    summaries = SemiAutomatic.fit(us, xs, 3)
    s = summaries(xs)
    assert s.shape == (2000, 2)
    for i in range(2):
        assert np.corrcoef(s[:, i], us[:, i])[0, 1] > (0.99, 0.8)[i]
        np.testing.assert_allclose(s[:, i].std(), 1, atol=0.2)
    other = xs.copy()
    other[:, 2:22] = 0
    assert np.corrcoef(summaries(other)[:, 0], us[:, 0])[0, 1] > 0.98


def test_summaries_of_more_columns_than_rows_are_finite():
    s = SemiAutomatic.fit(RNG.normal(size=(20, 1)), RNG.normal(size=(20, 100)), 3)
    assert np.isfinite(s(RNG.normal(size=(5, 100)))).all()
