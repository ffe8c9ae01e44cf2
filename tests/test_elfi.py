import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

from sbibench.core.errors import UsageError

elfi = pytest.importorskip("elfi", reason="the toolbox elfi is not installed")

from sbibench.toolboxes.elfi import Process, bounds, cube_prior, demand_independent  # noqa: E402
from sbibench.toolboxes.guest import guest  # noqa: E402


def test_priors_are_known_again_and_few_are_kept():
    made = [dist.Normal(np.zeros(1), np.full(1, 1.0 + i)).to_event(1) for i in range(2)]
    first = cube_prior(made[0])
    assert cube_prior(made[0]) is first
    assert cube_prior(made[1]) is not first
    assert 0 < cube_prior.cache_info().maxsize < 1000


def test_predictions_are_those_of_the_toolbox(key):
    names = ["a", "b"]
    theirs = elfi.GPyRegression(names, bounds=dict.fromkeys(names, (0.0, 1.0)))
    found = []
    for process in (Process(names), theirs):
        rng = np.random.default_rng(0)
        with guest(key, {}):  # GPy warns
            for optimize in (False, True):
                us = rng.uniform(size=(30, 2))
                process.update(us, np.log(np.linalg.norm(us - 0.3, axis=1)), optimize)
                at = rng.uniform(size=(5, 2))
                found += [process.predict(at), process.predict(at, noiseless=True)]
                found += [process.predictive_gradients(at)]
    half = len(found) // 2
    for mine, its in zip(found[:half], found[half:], strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-8)


def test_bounds_are_the_ends_of_the_support_or_quantiles():
    low, high = bounds(dist.Uniform(np.array([-1.0, 0.0]), np.array([1.0, 0.7])).to_event(1))
    np.testing.assert_allclose([low, high], [[-1, 0], [1, 0.7]], rtol=0, atol=1e-6)
    low, high = bounds(dist.Normal(np.array([0.0, 500.0]), np.array([1.0, 300.0])).to_event(1))
    np.testing.assert_allclose(low, [-3.29, 500 - 987], rtol=0.05, atol=0)
    np.testing.assert_allclose(high, [3.29, 500 + 987], rtol=0.05, atol=0)
    low, high = bounds(dist.LogNormal(np.zeros(1), np.ones(1)).to_event(1))
    np.testing.assert_allclose(np.log([low, high]), [[-3.29], [3.29]], rtol=0.05, atol=0)


@pytest.mark.parametrize(
    "prior",
    [
        dist.MultivariateNormal(np.zeros(2), np.array([[1.0, 0.3], [0.3, 1.0]])),
        dist.MultivariateStudentT(3.0, np.zeros(2), np.eye(2)),
    ],
)
def test_parameters_that_depend_on_each_other_are_refused(prior):
    with pytest.raises(UsageError, match="independent"):
        demand_independent(prior)


@pytest.mark.parametrize(
    "prior",
    [
        dist.MultivariateNormal(np.zeros(2), jnp.diag(jnp.array([1.0, 4.0]))),
        dist.Uniform(-np.ones(2), np.ones(2)).to_event(1),
        dist.Gamma(np.ones(3), np.ones(3)).to_event(1),
    ],
)
def test_independent_parameters_are_accepted(prior):
    demand_independent(prior)
