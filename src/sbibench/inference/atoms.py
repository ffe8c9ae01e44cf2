"""Losses under which a flow trained on θ from proposals becomes the posterior under the prior."""

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sbibench.core import priors
from sbibench.core.precision import SINGLE
from sbibench.inference.contrast import contrast, others
from sbibench.inference.flows import Flow


@functools.lru_cache(maxsize=64)
def atomic_loss(flow: Flow, prior: priors.Rows, atoms: int) -> Any:
    """Return the loss of automatic posterior transformation with atomic proposals.

    Greenberg et al. 2019, eq. 6 and section 4: among `atoms` parameters, the own one of each x has
    to be told, by q(θ | x) / p(θ). Rows that were simulated from the prior (`from_prior` = 1) add
    -log q(θ | x), which holds the density's mass inside the prior's support.

    Returns
    -------
    loss
        (params, key, θ [n, d], x [n, p], from_prior [n]) -> losses [n].
    """

    def log_prior(thetas: Float[Array, "m d"]) -> Float[Array, " m"]:
        # θ was rounded to float32 so that it lies inside; the density is that of float64.
        values: Array = jax.vmap(prior.log_density)(thetas.astype(float))
        return values.astype(SINGLE)

    def loss(
        params: Any,
        key: PRNGKeyArray,
        thetas: Float[Array, "n d"],
        xs: Float[Array, "n p"],
        from_prior: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        del key

        log_q, weights = contrast(lambda t, x: -flow.loss(params, None, t, x), thetas, xs, atoms)
        scores = log_q - others(log_prior(thetas), atoms)
        told: Array = jax.nn.logsumexp(scores, 0, b=weights) - scores[0]
        return told - from_prior * log_q[0]

    return loss


@functools.lru_cache(maxsize=64)
def weighted_loss(flow: Flow) -> Any:
    """Return (params, key, θ [n, d], x [n, p], weights [n]) -> weights · -log q(θ | x) [n]."""

    def loss(
        params: Any,
        key: PRNGKeyArray,
        thetas: Float[Array, "n d"],
        xs: Float[Array, "n p"],
        weights: Float[Array, " n"],
    ) -> Float[Array, " n"]:
        losses: Array = weights * flow.loss(params, key, thetas, xs)
        return losses

    return loss


def balance_weights(log_prior: np.ndarray, log_proposals: np.ndarray, sizes: Any) -> np.ndarray:
    """Return p(θ) over the mixture of all proposals that θ was drawn from, float32 [n].

    The balance heuristic (Veach & Guibas 1995, eq. 10): with the prior among r proposals of equal
    size no weight is above r.

    Parameters
    ----------
    log_prior
        Log densities [n] of θ.
    log_proposals
        Log densities [r, n] of θ under each proposal.
    sizes
        How many of the θ came from each proposal [r].
    """
    shares = np.log(np.asarray(sizes) / np.sum(sizes))[:, None]
    weights: np.ndarray = np.exp(log_prior - np.logaddexp.reduce(shares + log_proposals, axis=0))
    return weights.astype(np.float32)
