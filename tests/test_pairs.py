"""Sums over pairs of rows in blocks, against the same sums all at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sbibench.inference.discrepancy import two_sample
from sbibench.inference.norms import length_error
from sbibench.inference.pairs import pair_sums, squares

KEY = jax.random.key(0)


def _kernel(power, xs, ys):
    return squares(xs, ys) ** power + 1.0  # not 0 for a row with itself


def whole(xs, ys, power=0.5):
    h = cdist(xs, ys, "sqeuclidean") ** power + 1
    return h - np.diag(np.diagonal(h)) if xs is ys else h


@pytest.mark.parametrize(("n", "m", "size"), [(3, 2, 1), (30, 70, 4), (501, 499, 77), (1100, 4, 3)])
def test_blocks_and_groups_do_not_matter(n, m, size):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    first = np.arange(n) // size
    groups = [first, first[-1] + 1 + np.minimum(np.arange(m) // size, 1)]
    sums = pair_sums(_kernel, 0.5, [a, b], groups)
    for i, x in enumerate((a, b)):
        for j, y in enumerate((a, b)):
            h = whole(x, y)
            np.testing.assert_allclose(sums.rows[i][:, j], h.sum(1), rtol=1e-12)
            assert sums.squares[i, j] == pytest.approx(np.sum(h**2), rel=1e-12)
    marks = np.eye(1 + groups[1][-1])[np.concatenate(groups)]
    both = np.concatenate([a, b])
    np.testing.assert_allclose(sums.groups, marks.T @ whole(both, both) @ marks, rtol=1e-12)


def test_a_kernel_of_several_arrays():
    def kernel(_, a, b):
        (x, s), (y, t) = a, b
        return x @ y.T + s[:, None] * t[None, :]

    rng = np.random.default_rng(1)
    x, s = rng.normal(size=(700, 2)), rng.normal(size=700)
    sums = pair_sums(kernel, None, [(x, s)], [np.zeros(700, int)])
    h = x @ x.T + np.outer(s, s)
    assert sums.groups[0, 0] == pytest.approx(h.sum() - np.trace(h), rel=1e-9)


def test_the_same_shapes_compile_once(compilations):
    def kernel(_, x, y):
        return jnp.sin(squares(x, y))

    rng = np.random.default_rng(2)
    two_sample(KEY, kernel, None, *rng.normal(size=(2, 1200, 3)))
    before = compilations()
    two_sample(KEY, kernel, None, *rng.normal(size=(2, 1200, 3)))
    assert compilations() == before


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("length", [0.0, 2.0, 30.0])
def test_the_spread_of_a_length_is_found_with_and_without_noise(d, length):
    rng = np.random.default_rng([d, int(length)])
    spread = np.linspace(0.5, 1.5, d)  # of the noise
    v = np.zeros(d)
    v[0] = length
    found, errors = [], []
    for _ in range(300):
        a = v + spread * np.sqrt(10) * rng.normal(size=(20, d))
        b = np.sqrt(20) * spread * rng.normal(size=(40, d))
        mean = a.mean(0) - b.mean(0)
        found.append(np.linalg.norm(mean))
        errors.append(length_error(mean, a, b))
    # In between, along a direction with little noise, it is a quarter too large.
    assert 1 / 1.3 < np.sqrt(np.mean(np.square(errors))) / np.std(found, ddof=1) < 1.3
