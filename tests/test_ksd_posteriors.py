"""The kernelised Stein discrepancy from posteriors: the project's own, and at edges of supports."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.metric import Evidence

KEY = jax.random.key(0)
METRIC = registry.METRICS.get("ksd")


def evidence_of(task, samples):
    x = task.observation(1)
    return Evidence(samples=samples, x_obs=x, prior=task.prior, log_likelihood=task.log_likelihood)


@pytest.mark.parametrize(
    "name",
    [
        "gaussian_linear",
        "gaussian_linear_uniform",
        pytest.param("slcp", marks=pytest.mark.slow),
        pytest.param("lotka_volterra", marks=pytest.mark.slow),
        pytest.param("sir", marks=pytest.mark.slow),
    ],
)
def test_reference_samples_are_at_zero_and_others_are_not(name):
    task = registry.TASKS.get(name)
    samples = task.reference_samples(1)
    value = METRIC()(KEY, evidence_of(task, samples))
    assert abs(value) < 3 * value.error
    assert value.also["p_value"] > 0.02
    assert value.also["left_out"] == 0
    centre = samples.mean(0)
    narrow = METRIC()(KEY, evidence_of(task, centre + 0.6 * (samples[:2000] - centre)))
    assert narrow > 4 * narrow.error
    assert narrow.also["p_value"] == 0.001


def test_a_density_that_jumps_inside_the_support_is_not_at_zero():
    """The crescents of two_moons end at once, which no smooth kernel's identity allows for."""
    task = registry.TASKS.get("two_moons")
    value = METRIC()(KEY, evidence_of(task, task.reference_samples(1)))
    assert value > 2 * value.error
    assert value.also["p_value"] < 0.01


BOX = dist.Uniform(np.full(2, -0.1), np.full(2, 0.1)).to_event(1)  # not numbers of float32


def _flat(theta, x):
    return jnp.zeros(())


def _half(theta, x):
    return jnp.where(theta[0] > -0.05, -x[0] * theta[0], -jnp.inf)


def _pointed(theta, x):
    return -jnp.sqrt(jnp.abs(theta[0]))


def in_box(seed, n):
    return np.random.default_rng(seed).uniform(-0.1, 0.1, size=(n, 2))


def judged(samples, log_likelihood=_flat):
    return METRIC()(
        KEY, Evidence(samples=samples, x_obs=np.ones(1), prior=BOX, log_likelihood=log_likelihood)
    )


def test_in_a_box_uniform_draws_are_at_zero():
    """In unconstrained coordinates a uniform variable is logistic, and nothing ends at an edge."""
    values = [judged(in_box(seed, 500)) for seed in range(20)]
    assert abs(np.mean(values)) < 3 * np.std(values, ddof=1) / len(values) ** 0.5
    assert judged(0.7 * in_box(0, 1000)).also["p_value"] == 0.001


def test_rows_on_an_edge_and_rounded_beyond_it_count_as_inside():
    samples = in_box(12, 400).astype(np.float32)
    before = judged(samples)
    assert float(np.float32(0.1)) > 0.1
    samples[0, 0], samples[1] = np.float32(0.1), np.float32(-0.1)
    exact = samples.astype(float)
    exact[0, 0], exact[1] = 0.1, -0.1
    for some in (samples, exact):
        value = judged(some)
        assert value.also["left_out"] == 0
        assert abs(value - before) < before.error


def test_rows_outside_are_left_out_and_counted_or_refused():
    inside, outside = in_box(13, 400), np.full((20, 2), 0.1001)
    value = judged(np.concatenate([inside, outside]))
    assert value.also["left_out"] == pytest.approx(20 / 420)
    assert value == pytest.approx(judged(inside), rel=1e-12)
    with pytest.raises(UsageError, match=r"no score at 60 of 460 samples \(60 are outside"):
        judged(np.concatenate([inside, outside, outside, outside]))
    with pytest.raises(UsageError, match="no score at 20 of 20"):
        judged(outside)


def test_a_density_of_zero_is_no_score_although_its_gradient_is_finite():
    samples = in_box(14, 400)
    samples[:, 0] = np.abs(samples[:, 0])
    samples[:7, 0] = -0.06
    assert judged(samples, _half).also["left_out"] == pytest.approx(7 / 400)
    with pytest.raises(UsageError, match="200 have density 0"):
        judged(np.where(np.arange(400)[:, None] < 200, -0.06, samples), _half)


def test_gradients_that_are_not_finite_are_counted():
    samples = in_box(15, 400)
    samples[:3, 0] = 0
    assert judged(samples, _pointed).also["left_out"] == pytest.approx(3 / 400)
    samples[:300, 0] = 0
    with pytest.raises(UsageError, match="300 a gradient that is not finite"):
        judged(samples, _pointed)


def test_evidence_of_another_shape_is_refused():
    with pytest.raises(UsageError, match="3 columns, the prior has 2"):
        judged(np.zeros((10, 3)))
    with pytest.raises(UsageError, match="x_obs"):
        METRIC()(
            KEY,
            Evidence(samples=in_box(0, 9), x_obs=[np.nan], prior=BOX, log_likelihood=_flat),
        )
