"""The kernelised Stein discrepancy against direct sums and quadrature, and on awkward input."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core.errors import SbibenchError, UsageError
from sbibench.metrics import ksd

KEY = jax.random.key(0)


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
