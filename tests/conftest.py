"""Shapes and types are checked while the tests run; compiled programs are shared between them."""

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import install_import_hook

with install_import_hook("sbibench", "typechecking.checked"):
    import sbibench.core.task  # noqa: F401 - and what it imports
    from sbibench.core import precision
    from sbibench.core.compilation import keep_compiled_programs

from sbibench.contract.compilations import compilations
from sbibench.contract.toy import TOY

assert precision.SINGLE is jnp.float32
jax.config.update("jax_numpy_rank_promotion", "raise")
keep_compiled_programs()


@pytest.fixture(scope="session")
def toy_task():
    """Return a two-dimensional Gaussian model with a closed-form posterior."""
    return TOY


@pytest.fixture
def key():
    """Return a fixed key."""
    return jax.random.key(20261130)


@pytest.fixture(scope="session", name="compilations")
def count_compilations():
    """Return a function that counts the programs compiled or loaded so far."""
    return compilations
