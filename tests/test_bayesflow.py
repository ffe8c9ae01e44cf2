import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench as sb

pytest.importorskip("bayesflow", reason="the toolbox bayesflow is not installed")

from sbibench.adapters.bayesflow_npe import BayesflowNPE
from sbibench.toolboxes import bayesflow as module

SETTINGS = BayesflowNPE(depth=3, epochs=4, batch_size=50)
PRIORS = {
    "box": dist.Uniform(np.array([-1.0, 0.0]), np.array([1.0, 4.0])).to_event(1),
    "positive": dist.LogNormal(np.zeros(2), np.full(2, 0.4)).to_event(1),
}


def fitted(prior, key, settings=SETTINGS):
    task = sb.Task(name="own", prior=prior, simulate_batch=noisy, x_obs=np.array([0.5, 0.7]))
    return settings.fit(key, task.problem(1, 400))


def noisy(rng, thetas):
    return thetas + 0.3 * rng.normal(size=thetas.shape)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_density_is_one_over_the_parameters_at_any_x(prior, key):
    """The network sees unconstrained parameters: its volume counts, and counts once."""
    posterior = fitted(PRIORS[prior], key)
    low, high = (np.array([-1, 0]), np.array([1, 4])) if prior == "box" else (0, 12)
    sides = np.linspace(low, high, 400)
    grid = np.stack(np.meshgrid(*sides.T if sides.ndim == 2 else [sides] * 2), -1).reshape(-1, 2)
    area = np.prod((high - low) * np.ones(2)) / 399**2
    for x in ([0.5, 0.7], [-0.6, 2.0]):
        density = np.exp(posterior.log_prob(grid, x))
        assert density.sum() * area == pytest.approx(1, abs=0.02)
        mean = (density[:, None] * grid).sum(0) * area
        samples = posterior.sample(key, 4000, x)
        error = 5 * samples.std(0) / np.sqrt(4000) + 0.02
        np.testing.assert_array_less(np.abs(samples.mean(0) - mean), error)


def test_a_step_that_another_network_compiled_trains_as_its_own(key):
    shallow = BayesflowNPE(depth=2, epochs=4, batch_size=50)  # compiled by the first of these
    first, again = (fitted(PRIORS["box"], jax.random.key(3), shallow) for _ in range(2))
    other = fitted(PRIORS["box"], jax.random.key(4), shallow)
    np.testing.assert_array_equal(first.sample(key, 100), again.sample(key, 100))
    assert np.abs(first.sample(key, 100) - other.sample(key, 100)).max() > 0.01


def test_steps_are_used_again_and_those_not_used_for_longest_are_given_up(key, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    monkeypatch.setattr(module, "_STEPS", {})
    one, two, three = (module.Shapes(d=2, p=2, depth=1, batch_size=n) for n in (8, 16, 32))
    with module.keras_guest(key, {}):
        made = module.approximator(one)
        module.approximator(two)
        assert module.approximator(one).train_function is made.train_function
        module.approximator(three)
    assert list(module._STEPS) == [one, three]
