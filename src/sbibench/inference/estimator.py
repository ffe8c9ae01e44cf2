"""What is learned from simulations, whatever is estimated: three pure functions."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.inference.coupling import SplineFlow
from sbibench.inference.flows import FlowParams, conditional_flow
from sbibench.inference.maf import MaskedFlow


class Estimator(NamedTuple):
    """A network family of one shape. Get one from a function that returns the same object always.

    Attributes
    ----------
    init
        (key, θ [n, d], x [n, p]) -> parameters, with scalings fitted to these rows.
    loss
        (params, key, θ [n, d], x [n, p]) -> losses [n].
    log_likelihood
        (params, x [p], θ [d]) -> log p(x | θ) up to a term without θ.
    made
        What to say of it in a file: which function returns it, and for which arguments.
    """

    init: Callable[[PRNGKeyArray, np.ndarray, np.ndarray], Any]
    loss: Callable[..., Any]
    log_likelihood: Callable[..., Any]
    made: tuple[str, tuple[Any, ...]]


@functools.lru_cache(maxsize=64)
def likelihood_flow(architecture: SplineFlow | MaskedFlow, d: int, p: int) -> Estimator:
    """Return the flow q(x | θ) of this architecture (Papamakarios et al. 2019)."""
    flow = conditional_flow(architecture, p, d)

    def loss(
        params: Any, key: PRNGKeyArray, thetas: Float[Array, "n d"], xs: Float[Array, "n p"]
    ) -> Float[Array, " n"]:
        losses: Array = flow.loss(params, key, xs, thetas)
        return losses

    def log_likelihood(
        params: Any, x: Float[Array, " p"], theta: Float[Array, " d"]
    ) -> Float[Array, ""]:
        value: Array = flow.log_prob(params, theta, x)
        return value

    def init(key: PRNGKeyArray, thetas: np.ndarray, xs: np.ndarray) -> FlowParams:
        return flow.init(key, xs, thetas)

    return Estimator(init, loss, log_likelihood, ("likelihood_flow", (architecture, d, p)))
