"""The kernelised Stein discrepancy against quadrature, on the project's posteriors, at edges."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core import registry
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.metric import Evidence
from sbibench.metrics import ksd

KEY = jax.random.key(0)
METRIC = registry.METRICS.get("ksd")


def normals(seed, n, d, shift=0.0, scale=1.0):
    return shift + scale * np.random.default_rng(seed).normal(size=(n, d))


def direct(xs, scores, s):
    """Return the U-statistic with the kernel's derivatives by JAX, one pair at a time."""

    def kernel(x, y):
        return jnp.exp(-jnp.sum((x - y) ** 2) / (2 * s**2))

    def u(x, y, a, b):
        mixed = jnp.trace(jax.jacfwd(jax.grad(kernel, 1), 0)(x, y))
        first = jnp.sum(a * jax.grad(kernel, 1)(x, y)) + jnp.sum(b * jax.grad(kernel, 0)(x, y))
        return jnp.sum(a * b) * kernel(x, y) + first + mixed

    n = len(xs)
    i, j = np.triu_indices(n, 1)
    return float(np.mean(jax.jit(jax.vmap(u))(xs[i], xs[j], scores[i], scores[j])))


def quadrature(log_q, log_p, s):
    """Return ∫∫ q(x) q(y) k(x, y) g(x) g(y) dx dy with g = (log p)' - (log q)', in 1-d."""
    x = np.linspace(-50, 50, 2501)
    g = jax.vmap(jax.grad(lambda t: log_p(t) - log_q(t)))(x)
    weight = np.exp(jax.vmap(log_q)(x)) * g * (x[1] - x[0])
    return float(weight @ np.exp(-((x[:, None] - x) ** 2) / (2 * s**2)) @ weight)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (40, 3), (501, 2)])
def test_it_is_the_direct_sum(n, d):
    xs, scores = normals(1, n, d, 0.3), normals(2, n, d)
    s = 0.9
    assert ksd(KEY, xs, scores, bandwidth=s) == pytest.approx(direct(xs, scores, s), rel=1e-9)
    # Only distances matter, also far from the origin.
    assert ksd(KEY, xs + 1e6, scores, bandwidth=s) == pytest.approx(direct(xs, scores, s), rel=1e-6)


@pytest.mark.parametrize(
    ("q", "p"),
    [
        (dist.Normal(0.5, 1.0), dist.Normal(0.0, 1.0)),
        (dist.Normal(0.0, 0.7), dist.Normal(0.0, 1.0)),
        (dist.StudentT(4.0), dist.Normal(0.0, 1.0)),
        (dist.Normal(0.0, 1.0), dist.StudentT(3.0)),
        (dist.Logistic(0.0, 1.0), dist.Normal(0.0, 1.8)),
    ],
)
def test_in_one_dimension_it_is_the_integral(q, p):
    truth = quadrature(q.log_prob, p.log_prob, s=1.3)
    values = []
    for seed in range(12):
        xs = np.asarray(q.sample(jax.random.key(seed), (1000,)))
        scores = jax.vmap(jax.grad(p.log_prob))(xs)
        values.append(ksd(KEY, xs[:, None], scores[:, None], bandwidth=1.3))
    error = np.std(values, ddof=1) / len(values) ** 0.5
    assert abs(np.mean(values) - truth) < 3 * error
    assert error < truth / 3


@pytest.mark.parametrize("d", [1, 2, 10])
def test_draws_of_the_density_are_at_zero(d):
    values = [ksd(KEY, x, -x) for x in (normals([d, i], 800, d) for i in range(20))]
    assert abs(np.mean(values)) < 3 * np.std(values, ddof=1) / len(values) ** 0.5
    assert sum(abs(v) < 2 * v.error for v in values) > 15
    assert all(v.also["v_statistic"] > 0 for v in values)


@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("wrong", ["shift", "narrow", "wide", "tail"])
def test_other_draws_are_not(d, wrong):
    xs = {
        "shift": normals(3, 2000, d, 0.3),
        "narrow": normals(3, 2000, d, scale=0.75),
        "wide": normals(3, 2000, d, scale=1.3),
        "tail": np.random.default_rng(3).standard_t(3, size=(2000, d)) / np.sqrt(3),
    }[wrong]
    value = ksd(KEY, xs, -xs)
    assert value > 4 * value.error
    assert value.also["p_value"] == 0.001


def test_it_does_not_see_a_mode_without_samples():
    """A weakness of the discrepancy that the documentation tells."""

    def log_density(x):
        return jnp.logaddexp(-0.5 * jnp.sum((x - 6) ** 2), -0.5 * jnp.sum((x + 6) ** 2))

    xs = normals(4, 1000, 1, 6.0)
    value = ksd(KEY, xs, jax.vmap(jax.grad(log_density))(xs))
    assert abs(value) < 3 * value.error


def test_rotations_and_the_order_of_rows_do_not_matter():
    xs, scores = normals(5, 700, 3), normals(6, 700, 3)
    turn = np.linalg.qr(normals(7, 3, 3))[0]
    order = np.random.default_rng(8).permutation(700)
    value = ksd(KEY, xs, scores, bandwidth=1.0)
    assert ksd(KEY, xs @ turn, scores @ turn, bandwidth=1.0) == pytest.approx(value, rel=1e-9)
    assert ksd(KEY, xs[order], scores[order], bandwidth=1.0) == pytest.approx(value, rel=1e-9)


def test_the_v_statistic_has_the_diagonal_too():
    xs, scores = normals(9, 50, 2), normals(10, 50, 2)
    s = 0.8
    found = ksd(KEY, xs, scores, bandwidth=s)
    diagonal = np.mean(np.sum(scores**2, 1)) + 2 / s**2
    assert found.also["v_statistic"] == pytest.approx((49 * found + diagonal) / 50, rel=1e-12)


GOOD = normals(11, 30, 2)


@pytest.mark.parametrize(
    ("samples", "scores", "message"),
    [
        (np.where(GOOD > 1, np.nan, GOOD), GOOD, "samples: .* not finite"),
        (GOOD, np.where(GOOD > 1, np.inf, GOOD), "scores: .* not finite"),
        (GOOD[:1], GOOD[:1], "at least 2 rows"),
        (GOOD, GOOD[:, :1], "shape of the samples"),
        (GOOD[:, 0], GOOD, "shape"),
        (np.ones((30, 2)), GOOD, "bandwidth, the median distance in the samples"),
    ],
)
def test_what_makes_no_sense_is_refused(samples, scores, message):
    with pytest.raises(UsageError, match=message):
        ksd(KEY, samples, scores)


def test_equal_rows_have_a_value_for_a_given_bandwidth():
    value = ksd(KEY, np.ones((30, 2)), np.full((30, 2), 0.5), bandwidth=2.0)
    assert value == pytest.approx(2 * 0.25 + 2 / 4)
    assert value.error == 0
    with pytest.raises(SbibenchError, match="too large"):
        ksd(KEY, GOOD, 1e200 * GOOD)


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


@pytest.mark.slow
def test_ten_thousand_rows_need_little_memory_and_time():
    code = """
import resource, time
import jax, numpy as np
from sbibench.metrics import ksd
xs = np.random.default_rng(0).normal(size=(10_000, 10))
key = jax.random.key(0)
ksd(key, xs[:1000], -xs[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seconds = []
for _ in range(3):
    start = time.process_time()
    ksd(key, xs, -xs)
    seconds.append(time.process_time() - start)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, min(seconds))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    size, seconds = done.stdout.split()
    mebibytes = int(size) * (1 if sys.platform == "darwin" else 1024) / 2**20
    print(f"{mebibytes:.0f} MiB, {float(seconds):.2f} s")
    assert mebibytes < 200
    assert float(seconds) < 2
