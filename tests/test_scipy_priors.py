"""Priors of scipy.stats, and products of different kinds, are priors like any other."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st
from numpyro.distributions.transforms import biject_to

from sbibench.core import priors
from sbibench.core.described import describe, rebuild
from sbibench.core.errors import UsageError
from sbibench.core.scipy_priors import MANY, ONE, as_prior

SHAPES = {
    "beta": (2, 3), "chi2": (3,), "gamma": (2.0,), "invgamma": (3,), "lognorm": (0.5,),
    "loguniform": (0.1, 10), "reciprocal": (0.1, 10), "t": (4,), "truncnorm": (-1, 2),
    "weibull_min": (1.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_each_has_the_density_the_law_and_the_support_of_scipy_s(key, name):
    theirs = getattr(st, name)(*SHAPES.get(name, ()), loc=0.5, scale=2.0)
    prior = as_prior(theirs)
    priors.check_prior(prior)
    assert prior.event_shape == (1,)
    x = theirs.rvs(50, random_state=0)[:, None]
    density = jax.vmap(prior.log_prob)(x)
    np.testing.assert_allclose(density, theirs.logpdf(x[:, 0]), atol=1e-9)
    bijection = biject_to(prior.support)
    back = jax.vmap(lambda theta: bijection(bijection.inv(theta)))(x)
    np.testing.assert_allclose(back, x, atol=1e-9)
    draws = jax.vmap(prior.sample)(jax.random.split(key, 2000))
    assert st.kstest(np.asarray(draws)[:, 0], theirs.cdf).pvalue > 1e-3
    for edge in theirs.support():
        if np.isfinite(edge):
            outside = jnp.array([edge + np.sign(edge - theirs.mean())])
            assert priors.log_prob(prior, outside) == -jnp.inf
    again = jax.vmap(rebuild(describe(prior)).log_prob)(x)
    np.testing.assert_array_equal(again, density)


def test_one_sided_truncation(key):
    prior = as_prior(st.truncnorm(0, np.inf, loc=1, scale=2))
    draws = np.asarray(jax.vmap(prior.sample)(jax.random.split(key, 1000)))
    assert draws.min() > 1
    assert st.kstest(draws[:, 0], st.truncnorm(0, np.inf, loc=1, scale=2).cdf).pvalue > 1e-3


def test_a_mixed_list_is_a_product_with_its_own_bijection(key):
    parts = [st.uniform(-2, 4), st.norm(1, 2), st.gamma(2, loc=3), dist.HalfNormal(2.0)]
    prior = as_prior(parts)
    rows = priors.rows(prior)
    thetas = rows.sample(key, 500)
    assert rows.inside(thetas).all()
    expected = sum(p.logpdf(thetas[:, i].astype(float)) for i, p in enumerate(parts[:3]))
    expected = expected + st.halfnorm(scale=2).logpdf(thetas[:, 3].astype(float))
    np.testing.assert_allclose(rows.log_prob(thetas.astype(float)), expected, atol=1e-9)
    assert np.abs(np.corrcoef(thetas.T) - np.eye(4)).max() < 0.15
    u = rows.from_support(thetas.astype(float))
    np.testing.assert_allclose(rows.to_support(u), thetas, rtol=1e-6, atol=1e-9)
    for v in jnp.asarray(u[:3]):
        jacobian = jax.jacfwd(lambda w: priors.to_support(prior, w))(v)
        volume = np.linalg.slogdet(np.asarray(jacobian))[1]
        np.testing.assert_allclose(priors.log_volume(prior, v), volume, rtol=1e-9)
        np.testing.assert_allclose(
            priors.log_prob_unconstrained(prior, v),
            priors.log_prob(prior, priors.to_support(prior, v)) + volume, rtol=1e-9,
        )  # fmt: skip
    outside = thetas[:1].astype(float) * [1, 1, 0, 1]
    assert rows.log_prob(outside)[0] == -np.inf
    gradient = jax.grad(lambda t: priors.log_prob(prior, t))(jnp.asarray(outside[0]))
    assert np.isfinite(gradient).all()
    again = rebuild(describe(prior))
    np.testing.assert_array_equal(again.sample(key, (5,)), prior.sample(key, (5,)))


def test_a_list_of_boxes_is_a_box_and_of_reals_is_unbounded():
    box = as_prior([st.uniform(-1, 2), st.uniform(0, 3)])
    assert isinstance(box.base_dist, dist.Uniform)
    np.testing.assert_array_equal(box.base_dist.high, [1, 3])
    assert priors.unbounded(as_prior([st.norm(), st.t(3), st.cauchy()]))
    assert isinstance(as_prior(st.uniform([-1, 0], [2, 3])).base_dist, dist.Uniform)


@pytest.mark.parametrize(
    "theirs",
    [
        st.multivariate_normal([0, 1], [[2, 0.5], [0.5, 1]]),
        st.multivariate_normal(0, 2),
        st.multivariate_t([0, 1], [[2, 0.5], [0.5, 1]], df=5),
    ],
)
def test_multivariate_ones(key, theirs):
    prior = as_prior(theirs)
    thetas = np.asarray(jax.vmap(prior.sample)(jax.random.split(key, 20)))
    np.testing.assert_allclose(jax.vmap(prior.log_prob)(thetas), theirs.logpdf(thetas), rtol=1e-6)
    assert len(MANY) == 2


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (st.wald(), "wald of scipy.stats is not known here"),
        (st.poisson(3), "poisson of scipy.stats is not known"),
        (st.dirichlet([1, 2]), "dirichlet of scipy.stats is not known"),
        (st.norm, "frozen"),
        ([st.norm(), 3], "made of distributions"),
        ([st.norm([0, 1], 1)], "a single number"),
        ([], "empty"),
        ([st.norm()] * 2 + [st.norm], "frozen"),
        (st.uniform(0, -1), "no distribution uniform with loc = 0.*scale = -1"),
        ([st.norm(), st.norm(0, scale=-2)], "no distribution norm with loc = 0.*scale = -2"),
        (st.norm([0, np.nan], 1), "no distribution norm"),
        (st.uniform(-np.inf, np.inf), "no distribution uniform"),
    ],
)
def test_what_can_t_be_converted_is_refused(prior, message):
    with pytest.raises(UsageError, match=message):
        as_prior(prior)
