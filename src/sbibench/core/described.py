"""Priors as plain values: the class of numpyro by name, and the arguments it is made with."""

import inspect
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import Distribution

from sbibench.core import product
from sbibench.core.errors import UsageError

_OURS = {cls.__name__: cls for cls in (product.Product, product.Moved)}

_FACTORED = ("covariance_matrix", "precision_matrix")
"""Other ways to say what `scale_tril` says."""


def describe(prior: Distribution) -> dict[str, Any]:
    """Return the class and the arguments of a prior: numbers, arrays or such descriptions.

    Raises
    ------
    UsageError
        If it is no prior that `rebuild` gives back as it is.
    """
    description = _description(prior)
    try:
        same = _probe(rebuild(description)) == _probe(prior)
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise _indescribable(prior) from error
    if not same:
        raise _indescribable(prior)
    return description


def _indescribable(prior: Distribution) -> UsageError:
    return UsageError(
        f"a prior of class {type(prior).__name__} can't be saved: it takes one of "
        "numpyro.distributions whose arguments are numbers, arrays or such distributions, as are "
        "those of Uniform, Normal, LogNormal, MultivariateNormal, Gamma, Beta, .to_event, .expand, "
        "truncations and mixtures; transforms and functions can't be described"
    )


def _description(prior: Distribution) -> dict[str, Any]:
    cls = type(prior)
    if _class(cls.__name__) is not cls:
        raise _indescribable(prior)
    names = [name for name in inspect.signature(cls.__init__).parameters if name != "validate_args"]
    left_out = _FACTORED if "scale_tril" in names else ()
    arguments: dict[str, Any] = {}
    for name in names[1:]:
        if name in left_out:
            continue
        value = getattr(prior, name, prior)
        if value is prior:
            raise _indescribable(prior)
        arguments[name] = _argument(prior, value)
    return {"class": cls.__name__, "arguments": arguments}


def _class(name: str) -> Any:
    """Return the class of this name, ours or numpyro's; None if there is none."""
    return _OURS.get(name) or getattr(dist, name, None)


def _argument(prior: Distribution, value: Any) -> Any:
    if isinstance(value, Distribution):
        return _description(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Distribution):
        return [_argument(prior, part) for part in value]
    if isinstance(value, jax.Array):
        return np.asarray(value)
    numbers = isinstance(value, tuple) and all(isinstance(item, int) for item in value)
    if not numbers and not isinstance(value, bool | int | float | np.ndarray | np.generic | None):
        raise _indescribable(prior)
    return value


def rebuild(description: dict[str, Any]) -> Distribution:
    """Return the prior that was described.

    Raises
    ------
    UsageError
        If numpyro has no such class.
    """
    cls = _class(str(description["class"]))
    if not isinstance(cls, type) or not issubclass(cls, Distribution):
        raise UsageError(f"numpyro.distributions has no class {description['class']!r}")
    return cls(**{name: _rebuilt(value) for name, value in description["arguments"].items()})


def _rebuilt(value: Any) -> Any:
    if isinstance(value, dict):
        return rebuild(value)
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return [rebuild(part) for part in value]
    return value


def _probe(prior: Distribution) -> tuple[bytes, bytes]:
    """Return what tells two priors apart: a draw and its density, to the last bit."""
    draw, density = probed(prior)
    return draw.tobytes(), density.tobytes()


def probed(prior: Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Return a draw [d] from a prior and its log density: always the same ones."""
    with jax.numpy_rank_promotion("allow"):  # numpyro's mixtures need it
        draw = prior.sample(jax.random.key(0))
        return np.asarray(draw), np.asarray(prior.log_prob(draw))
