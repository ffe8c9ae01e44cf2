"""A prior of numpyro as a distribution of torch: the same class, made with the same arguments."""

from typing import Any

import jax
import numpy as np
import torch
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.described import describe
from sbibench.core.errors import UsageError

CLOSE = 1e-3
"""How far the log densities of the two may be apart: torch's are float32."""


def torch_prior(prior: Distribution) -> Any:
    """Return the prior as a distribution of torch in float32, over vectors [d].

    Raises
    ------
    UsageError
        If torch has no such distribution, or its density is another.
    """
    made = _made(prior, describe(prior))
    thetas = priors.rows(prior).sample(jax.random.key(0), 100)
    ours = priors.rows(prior).log_prob(thetas)
    theirs = np.asarray(made.log_prob(torch.as_tensor(thetas)))
    if not np.allclose(theirs, ours, rtol=CLOSE, atol=CLOSE):
        raise _no_counterpart(prior)
    return made


def _no_counterpart(prior: Distribution) -> UsageError:
    return UsageError(
        f"torch has no distribution that is the same as this prior of class "
        f"{type(prior).__name__}; toolboxes on torch can't be run with it"
    )


def _made(prior: Distribution, description: dict[str, Any]) -> Any:
    name, arguments = description["class"], description["arguments"]
    if name == "Independent":
        inner = _made(prior, arguments["base_dist"])
        return torch.distributions.Independent(
            inner, arguments["reinterpreted_batch_ndims"], validate_args=False
        )
    if name == "ExpandedDistribution":
        return _made(prior, arguments["base_dist"]).expand(arguments["batch_shape"])
    cls = getattr(torch.distributions, name, None)
    if cls is None or any(isinstance(value, dict) for value in arguments.values()):
        raise _no_counterpart(prior)
    tensors = {k: torch.as_tensor(np.array(v, np.float32)) for k, v in arguments.items()}
    try:
        return cls(**tensors, validate_args=False)
    except TypeError as error:
        raise _no_counterpart(prior) from error
