"""The median distance of posterior predictive draws: closed form, invalid draws, awkward input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from sbibench.core import registry
from sbibench.core.errors import InvalidSimulationsError, SbibenchError, UsageError
from sbibench.core.forward import Vmapped
from sbibench.core.metric import Evidence
from sbibench.metrics import meddist

KEY = jax.random.key(0)
METRIC = registry.METRICS.get("meddist")


def _simulate(key, theta):
    return theta + jax.random.normal(key, theta.shape)


def _exact(key, theta):
    return theta


def _fails_below_zero(key, theta):
    return jnp.where(theta > 0, theta, jnp.nan)


def judged(samples, simulate=_simulate, x_obs=(0.0, 0.0), **options):
    forward = Vmapped(simulate, len(x_obs))
    evidence = Evidence(samples=samples, simulate=forward, x_obs=np.array(x_obs))
    return METRIC(**options)(KEY, evidence)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_of_a_gaussian_it_is_the_median_of_the_chi_distribution(d):
    xs = np.random.default_rng(1).normal(size=(10_000, d))
    found = meddist(KEY, xs, np.zeros(d))
    assert abs(found - stats.chi(d).median()) < 3 * found.error
    # The usual approximation: 1 / (2 f(median) √n).
    truth = 0.5 / stats.chi(d).pdf(stats.chi(d).median()) / 100
    assert found.error == pytest.approx(truth, rel=0.3)
    assert found.also["invalid"] == 0


def test_the_posterior_predictive_is_simulated():
    """θ ~ N(1, I), x ~ N(θ, I): x ~ N(1, 2 I), at a squared distance of 2 χ²(2, 1) from 0."""
    samples = 1 + np.random.default_rng(2).normal(size=(10_000, 2)).astype(np.float32)
    found = judged(samples)
    assert abs(found - np.sqrt(2 * stats.ncx2(2, 1).median())) < 3 * found.error


def test_each_of_as_many_samples_is_used_once_and_of_fewer_equally_often():
    samples = np.arange(1.0, 12)[:, None] * [1, 0]  # at distances 1, ..., 11
    assert judged(samples, _exact, draws=11) == 6
    assert judged(samples[::-1], _exact, draws=33) == 6
    assert judged(samples, _exact, draws=34) == 6
    many = [judged(np.repeat(samples, 50, axis=0), _exact, draws=9) for _ in range(2)]
    assert many[0] == many[1]  # the key decides which
    with pytest.raises(UsageError, match="one draw"):
        judged(samples, draws=0)


def test_invalid_simulations_are_left_out_and_counted():
    samples = np.array([[1.0], [2.0], [3.0], [-5.0]])
    found = judged(samples, _fails_below_zero, x_obs=[0.0], draws=4)
    assert (found, found.also["invalid"]) == (2, 1)
    with pytest.raises(InvalidSimulationsError, match="none of 4"):
        judged(-np.abs(samples), _fails_below_zero, x_obs=[0.0], draws=4)
    assert meddist(KEY, [[np.inf], [-1.0], [np.nan]], [0.0]).also["invalid"] == 2


def test_rotations_and_the_order_do_not_matter():
    rng = np.random.default_rng(3)
    xs, x = rng.normal(size=(501, 3)), rng.normal(size=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found = meddist(KEY, xs, x)
    assert found == np.median(np.linalg.norm(xs - x, axis=1))
    moved = meddist(KEY, rng.permutation(xs) @ turn - 4, x @ turn - 4)
    assert moved == pytest.approx(found, rel=1e-12)
    assert moved.error == pytest.approx(found.error, rel=1e-9)


def test_one_draw_equal_draws_and_the_ends_of_float64():
    one = meddist(KEY, [[3.0, 4.0]], [0.0, 0.0])
    assert (one, one.error) == (5, None)
    same = meddist(KEY, np.ones((50, 2)), [1.0, 1.0])
    assert (same, same.error) == (0, 0)
    assert meddist(KEY, np.full((9, 2), 3e200), [0.0, 0.0]) == pytest.approx(3e200 * np.sqrt(2))
    with pytest.raises(SbibenchError, match="too large"):
        meddist(KEY, np.full((9, 2), 1.7e308), [0.0, 0.0])


@pytest.mark.parametrize(
    ("predictions", "x_obs", "message"),
    [
        (np.ones(3), [0.0], "shape"),
        (np.ones((0, 1)), [0.0], "shape"),
        (np.ones((3, 2)), [0.0], "2 columns, x_obs has 1"),
        (np.ones((3, 1)), [np.nan], "x_obs"),
        (np.ones((3, 1)), [[0.0]], "x_obs"),
    ],
)
def test_what_makes_no_sense_is_refused(predictions, x_obs, message):
    with pytest.raises(UsageError, match=message):
        meddist(KEY, predictions, x_obs)
