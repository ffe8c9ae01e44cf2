"""The target, and the samplers that are built on it, against closed forms."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats

from sbibench.core.errors import NoReferenceError, SamplingError, UsageError
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.training import Training
from sbibench.reference import certify, flow_rejection
from sbibench.reference.chains import mixing, slices
from sbibench.reference.flow_rejection import FlowRejection
from sbibench.reference.grid import grid
from sbibench.reference.nuts import nuts
from sbibench.reference.scaling import Scaling
from sbibench.reference.target import Target, coordinates
from sbibench.reference.tempering import Tempering, tempered

SD = 0.5
FAST = FlowRejection(
    tempering=Tempering(particles=500),
    draws=3000,
    flow=SplineFlow(transforms=2, hidden=16, bins=5),
    training=Training(batch_size=500, learning_rate=3e-3, max_epochs=10),
    quiet=5000,
    batch=2000,
    max_proposals=200_000,
)


@pytest.fixture(scope="module")
def target(toy_task):
    return Target(toy_task, np.array([0.5, -0.2]))


def closed_form(x):
    variance = SD**2 / (1 + SD**2)
    return variance / SD**2 * x, np.sqrt(variance)


def follow(samples, x, least=1e-4):
    mean, sd = closed_form(x)
    p_values = [scipy.stats.kstest((samples[:, j] - mean[j]) / sd, "norm").pvalue for j in range(2)]
    assert min(p_values) > least


def test_the_density_is_prior_times_likelihood(target):
    us = np.random.default_rng(0).normal(size=(50, 2))
    expected = scipy.stats.norm.logpdf(us).sum(1)
    expected += scipy.stats.norm.logpdf(target.x, us, SD).sum(1)
    np.testing.assert_allclose(target.log_density(us), expected, rtol=1e-12)
    np.testing.assert_allclose(target.thetas(us), us, rtol=1e-6)


def test_coordinates_keep_the_prior_mass(key):
    """Under a positive prior u = log θ; in a box u = θ, and f is 0 outside."""
    positive = coordinates(dist.LogNormal(np.zeros(1), np.ones(1)).to_event(1))
    u = np.linspace(-8, 8, 4001)
    density = np.exp(jax.vmap(positive.log_prior)(u[:, None]))
    np.testing.assert_allclose(density, scipy.stats.norm.pdf(u), atol=1e-12)
    box = coordinates(dist.Uniform(np.full(1, -2.0), np.full(1, 3.0)).to_event(1))
    density = np.exp(jax.vmap(box.log_prior)(u[:, None]))
    np.testing.assert_allclose(density, np.where((u >= -2) & (u <= 3), 0.2, 0.0), atol=1e-12)
    theta = jnp.array([1.7])
    for space in (positive, box):
        np.testing.assert_allclose(space.to_support(space.from_support(theta)), theta)


def test_a_likelihood_that_is_not_a_number_has_no_mass(toy_task):
    holes = replace(
        toy_task,
        log_likelihood=lambda theta, x: jnp.where(
            theta[0] > 0, toy_task.log_likelihood(theta, x), jnp.nan
        ),
    )
    us = np.array([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(
        np.isfinite(Target(holes, np.zeros(2)).log_density(us)), [True, False]
    )


@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.0, np.nan])])
def test_a_wrong_observation_is_refused(toy_task, x):
    with pytest.raises(UsageError, match="2 finite numbers"):
        Target(toy_task, x)


def test_no_likelihood_no_target(toy_task):
    with pytest.raises(NoReferenceError, match="no likelihood"):
        Target(replace(toy_task, log_likelihood=None), np.zeros(2))


@pytest.mark.parametrize(
    ("log_likelihood", "said"),
    [
        (lambda theta, x: -np.linalg.norm(np.asarray(theta) - x), "jax.numpy"),
        (lambda theta: theta[0], "2 were given"),
        (lambda theta, x: 0.0 if theta[0] > x[0] else -1.0, "without `if`"),
        (lambda theta, x: -((theta - x) ** 2), r"one number, not shape \(2,\)"),
        (lambda theta, x: (theta[0], x[0]), "one number, not a tuple"),
    ],
)
def test_a_likelihood_that_cannot_be_compiled_is_refused(toy_task, log_likelihood, said):
    with pytest.raises(UsageError, match=said):
        certify.sampler(replace(toy_task, log_likelihood=log_likelihood))


@pytest.fixture(scope="module")
def two_modes(toy_task):
    """Return a target with modes of mass 0.2 at -3 and 0.8 at 3, under a uniform prior."""

    def log_likelihood(theta, x):
        near = jnp.stack([-3.0 - theta, 3.0 - theta]) + x[None] * 0
        squares = -0.5 * jnp.sum((near / 0.05) ** 2, axis=1)
        return jax.nn.logsumexp(squares + jnp.log(jnp.array([0.2, 0.8])))

    prior = dist.Uniform(np.full(2, -5.0), np.full(2, 5.0)).to_event(1)
    task = replace(toy_task, prior=prior, log_likelihood=log_likelihood, reference=None)
    return Target(task, np.zeros(2))


def test_tempering_finds_narrow_modes_and_their_weights(key, two_modes):
    us, facts = tempered(key, two_modes, Tempering(particles=2000), 8000)
    assert us.shape == (8000, 2)
    assert facts["steps"] > 3
    high = us[:, 0] > 0
    assert high.mean() == pytest.approx(0.8, abs=0.06)
    np.testing.assert_allclose(us[high].mean(0), 3.0, atol=0.01)
    np.testing.assert_allclose(us[high].std(0), 0.05, rtol=0.1)


def test_tempering_gives_up_where_there_is_no_likelihood(key, toy_task):
    nothing = replace(toy_task, log_likelihood=lambda theta, x: -jnp.inf + 0 * theta[0])
    with pytest.raises(SamplingError, match="likelihood is 0, or no number, at all"):
        tempered(key, Target(nothing, np.zeros(2)), Tempering(particles=100), 100)


def test_rejection_is_exact_and_knows_the_evidence(key, target):
    samples, facts = FAST.sample(key, target, 4000)
    assert samples.shape == (4000, 2)
    assert samples.dtype == np.float32
    follow(samples, target.x)
    evidence = scipy.stats.norm.logpdf(target.x, 0, np.sqrt(1 + SD**2)).sum()
    assert facts["log_evidence"] == pytest.approx(evidence, abs=0.03)
    assert facts["draws_since_m_was_raised"] >= FAST.quiet
    assert 0.1 < facts["acceptance_rate"] < 1


def test_rejection_is_exact_with_a_flow_that_has_learnt_nothing(key, target):
    """The flow decides how many draws are accepted, not what they are."""
    raw = replace(FAST, training=replace(FAST.training, learning_rate=1e-9, max_epochs=1))
    follow(raw.sample(key, target, 2000)[0], target.x)


def test_rejection_keeps_the_weights_of_modes(key, two_modes):
    samples, _ = FAST.sample(key, two_modes, 1000)
    assert (samples[:, 0] > 0).mean() == pytest.approx(0.8, abs=0.05)


def test_rejection_gives_up_at_its_cap(key, target):
    with pytest.raises(SamplingError, match=r"rejection kept \d+ of .* draws of the proposal"):
        replace(FAST, max_proposals=FAST.batch).sample(key, target, 100_000)


def test_the_same_key_gives_the_same_samples(key, target):
    first, second = (FAST.sample(key, target, 500)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_m_is_raised_draw_by_draw():
    bound = flow_rejection._Bound(margin=2.0)
    bound.see(np.array([0.0, 0.0]))  # the mean of f / g: M = 1 for a normalised f
    assert bound.log_m == 0.0
    assert (bound.quiet, bound.raised) == (2, 0)
    bound.see(np.array([-1.0, 1.0, 1.5, 3.0, 0.0, -np.inf]))
    assert bound.log_m == pytest.approx(3.0 + math.log(2))  # 1.5 lay below 1 + log 2
    assert (bound.quiet, bound.raised, bound.seen) == (2, 2, 8)


def test_the_proposal_knows_its_density(key, target):
    """The mean of f / g over g is the integral of f, whatever the flow is."""
    flow = flow_rejection.conditional_flow(FAST.flow, 2, 0)
    us = np.random.default_rng(1).normal(size=(500, 2)) * [2.0, 0.7] + [1.0, 0.0]
    scaling = Scaling.fit(us)
    params = flow.init(key, scaling.forward(us).astype(np.float32), np.zeros((500, 0), np.float32))
    draw = flow_rejection._proposals(
        flow, flow_rejection._double(params), scaling, target, from_prior=0.1
    )
    drawn, log_ratio = draw(key, 40_000)
    assert drawn.shape == (40_000, 2)
    noise, log_density = flow_rejection._student_flow(flow, 2)
    double = flow_rejection._double(params)
    u, log_q = noise(double, scaling, key)
    np.testing.assert_allclose(log_density(double, scaling, u), log_q, rtol=1e-9)  # not float32
    evidence = scipy.stats.norm.logpdf(target.x, 0, np.sqrt(1 + SD**2)).sum()
    assert np.log(np.mean(np.exp(log_ratio))) == pytest.approx(evidence, abs=0.03)


def test_second_methods_follow_the_closed_form(key, target):
    follow(grid(key, target, 5000)[0], target.x)
    samples, facts = slices(key, target, 5000)
    assert samples.shape == (5000, 2)
    assert facts["r_hat"] < 1.05
    follow(samples, target.x)
    samples, facts = nuts(key, target, 2000)
    assert facts["divergences"] == 0
    follow(samples[::4], target.x)


def test_chains_that_do_not_mix_are_told_by_r_hat():
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(100, 10, 2))
    assert mixing(mixed)["r_hat"] < 1.05
    assert mixing(mixed)["effective_samples"] > 700
    stuck = mixed + 3 * rng.normal(size=(100, 1, 2))
    assert mixing(stuck)["r_hat"] > 1.5
