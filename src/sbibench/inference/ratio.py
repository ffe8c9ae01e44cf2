"""Neural estimates of the likelihood-to-evidence ratio, by classification.

Hermans et al. 2020 (binary loss), Durkan et al. 2020 (contrastive sets).
"""

import functools
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.settings import check_types
from sbibench.inference.contrast import contrast
from sbibench.inference.estimator import Estimator
from sbibench.inference.networks import NormalizedNet, ResidualNet
from sbibench.inference.standardize import Standardizer


@dataclass(frozen=True)
class Classifier:
    """Settings of the classifier f(x, θ) that tells pairs that belong together from others.

    Attributes
    ----------
    network
        "resnet", residual blocks, or "mlp", layers with normalisation; both with ReLU.
    hidden, blocks
        Width and number of the blocks or layers.
    contrastive
        How many parameters each x meets in the loss, its own among them: K of Durkan et al. 2020,
        eq. 7. With 2 the loss is the binary cross entropy of Hermans et al. 2020, algorithm 1.
    """

    network: Literal["resnet", "mlp"] = "resnet"
    hidden: int = 50
    blocks: int = 2
    contrastive: int = 10

    def __post_init__(self) -> None:
        check_types(self)
        for name, least in (("hidden", 1), ("blocks", 1), ("contrastive", 2)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} is {least} or more, not {getattr(self, name)}")


class RatioParams(NamedTuple):
    """All that a fitted classifier is: weights and the two scalings."""

    weights: Any
    theta: Standardizer
    x: Standardizer


@functools.lru_cache(maxsize=64)
def ratio(settings: Classifier, d: int, p: int) -> Estimator:
    """Return the estimator of log p(x | θ) - log p(x) with these settings."""
    network = ResidualNet if settings.network == "resnet" else NormalizedNet

    def init(key: PRNGKeyArray, thetas: np.ndarray, xs: np.ndarray) -> RatioParams:
        weights = network(
            key, inputs=d + p, outputs=1, hidden=settings.hidden, blocks=settings.blocks
        )
        return RatioParams(weights, Standardizer.fit(thetas), Standardizer.fit(xs))

    def logits(
        params: RatioParams, thetas: Float[Array, "n d"], xs: Float[Array, "n p"]
    ) -> Float[Array, " n"]:
        pairs = jnp.concatenate([params.theta.columns(thetas), params.x.columns(xs)])
        out: Array = params.weights(pairs)[0]
        return out

    def loss(
        params: RatioParams, key: PRNGKeyArray, thetas: Float[Array, "n d"], xs: Float[Array, "n p"]
    ) -> Float[Array, " n"]:
        del key
        scores, weights = contrast(
            lambda t, x: logits(params, t, x), thetas, xs, settings.contrastive
        )
        if settings.contrastive == 2:
            value: Array = jax.nn.softplus(-scores[0]) + weights[1] * jax.nn.softplus(scores[1])
            return value
        losses: Array = jax.nn.logsumexp(scores, 0, b=weights) - scores[0]
        return losses

    def log_likelihood(
        params: RatioParams, x: Float[Array, " p"], theta: Float[Array, " d"]
    ) -> Float[Array, ""]:
        return logits(params, theta[None], x[None])[0]

    return Estimator(init, loss, log_likelihood, ("ratio", (settings, d, p)))
