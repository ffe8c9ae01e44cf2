import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jaxtyping import TypeCheckError

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.scipy_priors import as_prior

PRIORS = {
    "box": dist.Uniform(np.array([-1.0, 0.0]), np.array([0.1, 0.3])).to_event(1),
    "normal": dist.Normal(np.zeros(2), np.array([1.0, 2.0])).to_event(1),
    "lognormal": dist.LogNormal(np.zeros(2), np.ones(2)).to_event(1),
    "one": dist.Uniform(np.zeros(1), np.full(1, 0.7)).to_event(1),
}


@pytest.mark.parametrize("name", PRIORS)
def test_unconstrained_density_is_that_of_the_mapped_samples(key, name):
    prior = PRIORS[name]
    d = prior.event_shape[0]
    rows = priors.rows(prior)
    u = rows.from_support(rows.sample(key, 200).astype(float))
    np.testing.assert_allclose(rows.from_support(rows.to_support(u)), u, rtol=1e-5, atol=1e-6)
    for v in u[:5]:
        jacobian = jax.jacfwd(lambda w: priors.to_support(prior, w))(jnp.asarray(v))
        log_det = np.linalg.slogdet(np.asarray(jacobian).reshape(d, d))[1]
        expected = prior.log_prob(priors.to_support(prior, jnp.asarray(v))) + log_det
        got = priors.log_prob_unconstrained(prior, jnp.asarray(v))
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_outside_a_box_the_density_is_zero_and_its_gradient_finite():
    prior = PRIORS["box"]
    outside = jnp.array([0.5, 0.1])
    assert priors.log_prob(prior, outside) == -jnp.inf
    assert np.isfinite(jax.grad(lambda t: priors.log_prob(prior, t))(outside)).all()
    inside = jnp.array([0.0, 0.1])
    np.testing.assert_allclose(priors.log_prob(prior, inside), -np.log(1.1 * 0.3), rtol=1e-12)


def test_rounding_to_float32_does_not_leave_the_support():
    rows = priors.rows(PRIORS["box"])
    edge = np.array([[0.1, 0.3], [-1.0, 0.0]])
    assert not rows.inside(edge.astype(np.float32))[0]  # why this is needed
    assert rows.inside(rows.single(edge)).all()
    np.testing.assert_allclose(rows.single(edge), edge, atol=1e-7)


def test_samples_are_prefixes_of_each_other(key):
    rows = priors.rows(PRIORS["box"])
    np.testing.assert_array_equal(rows.sample(key, 1500)[:7], rows.sample(key, 7))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (dist.Normal(0.0, 1.0), "event shape"),
        (dist.Normal(np.zeros(2), 1.0), r"\.to_event"),
        ("normal", "numpyro|Distribution"),
        (dist.Dirichlet(np.ones(3)), "leave out the parameters"),
        (dist.Poisson(np.ones(2)).to_event(1), "Poisson is discrete"),
        ([dist.Normal(), dist.Poisson(3.0)], "Poisson is discrete"),
        (dist.Categorical(np.ones(3) / 3), "CategoricalProbs is discrete"),
        (dist.Delta(np.zeros(2)).to_event(1), "Delta is no prior"),
        (dist.ImproperUniform(dist.constraints.real, (), (2,)), "ImproperUniform is no prior"),
    ],
)
def test_what_is_no_prior_is_refused(prior, message):
    with pytest.raises((UsageError, TypeCheckError), match=message):
        priors.check_prior(as_prior(prior))


def test_the_edge_of_the_support_has_a_finite_place_in_the_whole_space():
    rows = priors.rows(dist.Uniform(-np.ones(2), np.ones(2)).to_event(1))
    us = rows.from_support(np.array([[1.0, -1.0], [0.0, 0.5]]))
    assert np.isfinite(us).all()
    assert us[0, 0] > 10 > -10 > us[0, 1]
    assert us[1, 0] == 0
