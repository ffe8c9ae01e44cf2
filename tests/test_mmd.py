"""The maximum mean discrepancy against direct sums and closed forms, and on awkward input."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from sbibench.core.errors import UsageError
from sbibench.inference.pairs import median_distance
from sbibench.metrics import mmd

KEY = jax.random.key(0)


def normals(seed, n, m, d, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + shift, rng.normal(size=(m, d))


def direct(a, b, bandwidth):
    """Equation 3 of Gretton et al. 2012, generalised to n and m rows."""

    def kernel(x, y):
        return np.exp(-cdist(x, y, "sqeuclidean") / (2 * bandwidth**2))

    def within(x):
        return (kernel(x, x).sum() - len(x)) / (len(x) * (len(x) - 1))

    return within(a) + within(b) - 2 * kernel(a, b).mean()


def expected(shift, d, s):
    """E MMD² of N(0, I) and N(shift, I): Gaussian integrals of the kernel."""
    same = (s**2 / (s**2 + 2)) ** (d / 2)
    return 2 * same * (1 - np.exp(-d * shift**2 / (2 * (s**2 + 2))))


@pytest.mark.parametrize(
    ("n", "m", "d"), [(2, 2, 1), (30, 70, 3), (500, 501, 2), (999, 1203, 10), (1500, 400, 1)]
)
@pytest.mark.parametrize("far", [0, 1e6])
def test_it_is_the_direct_sum(n, m, d, far):
    a, b = normals(1, n, m, d, 0.5)
    bandwidth = float(np.median(pdist(b)))
    value = mmd(KEY, a + far, b + far)
    assert value == pytest.approx(direct(a, b, bandwidth), abs=1e-9 if far else 1e-13)


@pytest.mark.parametrize(("d", "shift", "s"), [(1, 1.0, 0.5), (2, 0.5, 1.0), (5, 0.3, 3.0)])
def test_gaussians_have_their_closed_form_in_the_mean(d, shift, s):
    values = [mmd(KEY, *normals(seed, 200, 300, d, shift), bandwidth=s) for seed in range(40)]
    error = np.std(values, ddof=1) / len(values) ** 0.5
    assert abs(np.mean(values) - expected(shift, d, s)) < 3 * error
    assert error < expected(shift, d, s) / 10


def test_equal_distributions_are_at_zero_in_the_mean():
    values = np.array([mmd(KEY, *normals(seed, 100, 150, 2)) for seed in range(60)])
    assert abs(values.mean()) < 3 * values.std(ddof=1) / len(values) ** 0.5
    # The biased estimate, with the diagonal, would be above 0 by about 1/n + 1/m.
    assert abs(values.mean()) < (1 / 100 + 1 / 150) / 4
    assert (values < 0).any()


def test_it_is_symmetric_for_a_given_bandwidth():
    a, b = normals(2, 600, 900, 3, 0.2)
    assert mmd(KEY, a, b, bandwidth=1.3) == pytest.approx(mmd(KEY, b, a, bandwidth=1.3), abs=1e-14)


def test_scale_and_origin_do_not_matter():
    a, b = normals(3, 200, 200, 2, 0.5)
    assert mmd(KEY, 7 * a - 3, 7 * b - 3) == pytest.approx(mmd(KEY, a, b), rel=1e-9)


def test_the_median_of_a_part_is_near_that_of_all_pairs():
    for d in (1, 2, 10):
        _, b = normals(d, 1, 6000, d)
        assert median_distance(b) == pytest.approx(np.median(pdist(b)), rel=0.03)
    _, b = normals(4, 1, 2000, 3)
    assert median_distance(b) == np.median(pdist(b))


def test_identical_sets_are_below_zero():
    a, _ = normals(5, 50, 1, 2)
    value = mmd(KEY, a, a)
    assert value == pytest.approx(direct(a, a, np.median(pdist(a))), abs=1e-13)
    assert value < 0


def test_a_constant_reference_needs_a_bandwidth():
    a, b = normals(6, 20, 20, 2)
    with pytest.raises(UsageError, match=r"median distance in the reference.*positive"):
        mmd(KEY, a, np.ones_like(b))
    assert mmd(KEY, np.ones_like(b), np.ones_like(b), bandwidth=1) == pytest.approx(0, abs=1e-15)
    far = mmd(KEY, np.ones_like(b) + 100, np.ones_like(b), bandwidth=1)
    assert far == pytest.approx(2, abs=1e-15)


def test_samples_at_the_ends_of_float64_are_infinitely_far():
    a, b = normals(7, 50, 60, 2)
    assert np.isfinite(mmd(KEY, 1e200 * a, b))
    assert mmd(KEY, 1e200 * a, b) > mmd(KEY, a, b)


def test_lists_integers_and_single_precision_are_accepted():
    a, b = (np.round(5 * x).astype(int) for x in normals(8, 40, 50, 2, 1))
    value = mmd(KEY, a.astype(float), b.astype(float))
    assert value == mmd(KEY, a, b) == mmd(KEY, a.tolist(), b.astype(np.float32))
    assert isinstance(value, float)


GOOD, OTHER = normals(9, 10, 12, 2)
BROKEN = np.where(np.arange(10)[:, None] == 3, np.nan, GOOD)


@pytest.mark.parametrize(
    ("samples", "reference", "message"),
    [
        (BROKEN, GOOD, "not finite"),
        (GOOD, np.where(np.isnan(BROKEN), np.inf, BROKEN), "not finite"),
        (GOOD[:1], OTHER, "at least 2 rows"),
        (GOOD, OTHER[:1], "at least 2 rows"),
        (GOOD, OTHER[:, :1], "columns"),
        (GOOD[:, 0], OTHER, "shape"),
        (GOOD, 1e200 * OTHER, "bandwidth"),
    ],
)
def test_what_makes_no_sense_is_refused(samples, reference, message):
    with pytest.raises(UsageError, match=message):
        mmd(KEY, samples, reference)


@pytest.mark.parametrize("bandwidth", [0, -1, np.nan, np.inf, 1e-200])
def test_a_bandwidth_that_makes_no_sense_is_refused(bandwidth):
    with pytest.raises(UsageError, match="bandwidth"):
        mmd(KEY, GOOD, OTHER, bandwidth=bandwidth)


def test_ten_thousand_rows_need_little_memory():
    code = """
import resource
import jax, numpy as np
from sbibench.inference.pairs import median_distance
from sbibench.metrics import mmd
rng = np.random.default_rng(0)
a, b = rng.normal(size=(2, 10_000, 10))
mmd(jax.random.key(0), a[:1000], b[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
mmd(jax.random.key(0), a, b)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    mebibytes = int(done.stdout) * unit / 2**20
    print(f"{mebibytes:.0f} MiB")
    assert mebibytes < 200
