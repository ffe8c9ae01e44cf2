import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core.errors import SamplingError, UsageError
from sbibench.inference.contrast import contrast
from sbibench.inference.estimator import Estimator
from sbibench.inference.features import Features
from sbibench.inference.mcmc import MCMC, MCMCPosterior
from sbibench.inference.slice import SliceSampling

SD = 0.1


def _gaussian(params, x, theta):
    return -0.5 * jnp.sum(((theta - x) / params) ** 2)


def _nowhere(params, x, theta):
    return jnp.nan * theta[0]


def _likelihood(log_likelihood):
    return Estimator(lambda *_: None, lambda *_: None, log_likelihood, made=())


KNOWN = _likelihood(_gaussian)


def _posterior(estimator=KNOWN, sd=SD, prior=None, x=(0.3, 0.9), **settings):
    prior = prior or dist.Uniform(-np.ones(2), np.ones(2)).to_event(1)
    features = Features.fit(np.ones((3, 2), np.float32), log_data=True)
    x_obs = np.array(x, np.float32)
    return MCMCPosterior(estimator, np.float32(sd), features, prior, x_obs, {}, MCMC(**settings))


def test_chains_follow_likelihood_times_prior_inside_the_support(key):
    posterior = _posterior()
    samples = posterior.sample(key, 10_000)
    assert samples.dtype == np.float32
    assert (np.abs(samples) <= 1).all()
    from scipy.stats import truncnorm

    for i, x in enumerate((0.3, 0.9)):
        exact = truncnorm((-1 - x) / SD, (1 - x) / SD, x, SD)
        np.testing.assert_allclose(samples[:, i].mean(), exact.mean(), atol=0.006)
        np.testing.assert_allclose(samples[:, i].std(), exact.std(), rtol=0.05)


POSITIVE = dist.LogNormal(np.zeros(2), np.full(2, 0.5)).to_event(1)


@pytest.mark.parametrize("x", [(0.3, 0.9), (0.6, 0.2)])
@pytest.mark.parametrize(("prior", "low"), [(None, -1.0), (POSITIVE, 0.0)], ids=["box", "positive"])
def test_the_density_is_normalised(prior, low, x):
    """Chains move in unconstrained space: its volume counts, and counts once."""
    posterior = _posterior(prior=prior)
    axis = np.linspace(low, low + 2, 401)[:-1] + 0.0025
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = np.exp(posterior.log_prob(grid, x)) * 0.005**2
    np.testing.assert_allclose(density.sum(), 1.0, atol=0.02)
    samples = posterior.sample(jax.random.key(0), 5000, x)
    np.testing.assert_allclose(samples.mean(0), density @ grid, atol=0.006)
    assert posterior.log_prob(np.array([[-1.5, 0.5]]), x)[0] == -np.inf


def test_chains_that_start_in_one_place_still_move(key):
    # A likelihood so narrow that one candidate has all the weight.
    posterior = _posterior(sd=1e-3, candidates=200)
    samples = posterior.sample(key, 2000)
    np.testing.assert_allclose(samples.mean(0), [0.3, 0.9], atol=2e-4)
    np.testing.assert_allclose(samples.std(0), 1e-3, rtol=0.15)


@pytest.mark.parametrize(("warmup", "thinning"), [(0, 1), (1, 1), (7, 3)])
def test_any_warmup_and_thinning_fill_every_row(key, warmup, thinning):
    posterior = _posterior(slice=SliceSampling(warmup=warmup, thinning=thinning))
    for n in (1, 99, 100, 257):
        samples = posterior.sample(key, n)
        assert samples.shape == (n, 2)
        assert np.isfinite(samples).all()
        assert (samples != 0).all()


def test_both_modes_keep_their_weights(key):
    def two(params, x, theta):
        left = -0.5 * jnp.sum(((theta + 0.5) / params) ** 2)
        right = -0.5 * jnp.sum(((theta - 0.5) / params) ** 2) + jnp.log(3.0)
        return jnp.logaddexp(left, right)

    samples = _posterior(_likelihood(two), chains=500).sample(key, 10_000)
    # The number of chains in a mode is binomial where they can't cross: 0.75 ± 4 · 0.019.
    assert abs((samples[:, 0] > 0).mean() - 0.75) < 0.08


def test_a_likelihood_that_is_nowhere_finite_ends_in_words(key):
    with pytest.raises(SamplingError, match="finite at none of 10000 draws"):
        _posterior(_likelihood(_nowhere)).sample(key, 10)


def test_impossible_chains_are_refused():
    with pytest.raises(UsageError, match="chains are 1 or more"):
        MCMC(chains=100, candidates=50)


def test_data_that_span_decades_are_seen_as_logarithms():
    rng = np.random.default_rng(0)
    xs = np.stack(
        [np.exp(3 * rng.normal(size=500)), rng.normal(size=500), np.full(500, 7.0)], 1
    ).astype(np.float32)
    features = Features.fit(xs, log_data=True)
    np.testing.assert_array_equal(features.logarithmic, [True, False, False])
    np.testing.assert_allclose(features(xs)[:, 0], np.log(xs[:, 0]), rtol=1e-6)
    np.testing.assert_array_equal(features(xs)[:, 1:], xs[:, 1:])
    floor = features.floor[0]
    line = features(np.array([[floor * f, 0, 7] for f in (-1, 0.5, 0.999, 1.001)], np.float32))[
        :, 0
    ]
    assert (np.diff(line) > 0).all()
    np.testing.assert_allclose((line[2] - line[1]) / 0.499, 1.0, rtol=1e-3)
    assert not Features.fit(xs, log_data=False).logarithmic.any()


def test_a_row_does_not_contrast_with_itself():
    thetas = jnp.asarray([[1.0], [2.0], [1.0], [3.0]], jnp.float32)
    xs = jnp.arange(4, dtype=jnp.float32)[:, None]
    scores, weights = contrast(lambda t, x: t[:, 0] * 10 + x[:, 0], thetas, xs, 3)
    np.testing.assert_array_equal(scores, [[10, 21, 12, 33], [20, 11, 32, 13], [10, 31, 12, 23]])
    np.testing.assert_array_equal(weights, [[1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 0, 1]])


def test_a_ratio_is_that_of_likelihood_to_evidence(key):
    from sbibench.inference.ratio import Classifier, ratio
    from sbibench.inference.training import Training, train

    rng = np.random.default_rng(0)
    thetas = rng.normal(size=(5000, 1)).astype(np.float32)
    xs = (thetas + rng.normal(size=thetas.shape)).astype(np.float32)
    estimator = ratio(Classifier(contrastive=2), 1, 1)
    params = estimator.init(key, thetas, xs)
    params, _ = train(key, estimator.loss, params, (thetas, xs), Training(max_epochs=40))
    points = np.linspace(-1.5, 1.5, 7, dtype=np.float32)[:, None]
    at = np.array([0.5], np.float32)
    got = jax.vmap(lambda t: estimator.log_likelihood(params, at, t))(points)
    # log N(x; θ, 1) - log N(x; 0, 2)
    exact = -0.5 * (at - points) ** 2 + 0.25 * at**2 + 0.5 * np.log(2)
    np.testing.assert_allclose(got, exact[:, 0], atol=0.25)
