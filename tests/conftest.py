"""Shapes and types are checked while the tests run; compiled programs are shared between them."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from jaxtyping import install_import_hook

with install_import_hook("sbibench", "typechecking.checked"):
    import sbibench.core.task
    from sbibench.core import precision
    from sbibench.core.compilation import keep_compiled_programs
    from sbibench.core.keys import numpy_rng

assert precision.SINGLE is jnp.float32
jax.config.update("jax_numpy_rank_promotion", "raise")
keep_compiled_programs()

SD = 0.5


def _simulate(key, theta):
    return theta + SD * jax.random.normal(key, theta.shape)


def _log_likelihood(theta, x):
    return jnp.sum(-0.5 * ((x - theta) / SD) ** 2 - np.log(SD * np.sqrt(2 * np.pi)))


def _reference(key, x, n):
    """Draw from the posterior under a standard normal prior: N(x / (1 + SD²), SD² / (1 + SD²))."""
    variance = SD**2 / (1 + SD**2)
    noise = numpy_rng(key).standard_normal((n, 2))
    return variance / SD**2 * x + np.sqrt(variance) * noise


@pytest.fixture(scope="session")
def toy_task():
    """Return a two-dimensional Gaussian model with a closed-form posterior."""
    return sbibench.core.task.Task(
        name="toy",
        label="Toy",
        citation="none",
        prior=dist.Normal(np.zeros(2), np.ones(2)).to_event(1),
        simulate=_simulate,
        log_likelihood=_log_likelihood,
        reference=_reference,
        parameter_names=("a", "b"),
        data_names=("u", "v"),
        observations=np.array([[0.5, -0.2], [2.0, 1.0]]),
        thetas_true=np.array([[0.4, 0.0], [1.5, 1.0]]),
    )


@pytest.fixture
def key():
    """Return a fixed key."""
    return jax.random.key(20261130)


@pytest.fixture(scope="session")
def compilations():
    """Return a function that counts the programs compiled or loaded so far."""
    count = [0]

    def listen(event, duration_secs, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            count[0] += 1

    jax.monitoring.register_event_duration_secs_listener(listen)
    return lambda: count[0]
