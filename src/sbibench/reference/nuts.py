"""Draws of a smooth posterior with one mode by the no-U-turn sampler (Hoffman & Gelman 2014)."""

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpyro.infer import MCMC, NUTS

from sbibench.core.posterior import Info
from sbibench.core.problem import Progress, silent
from sbibench.reference.chains import mixing, starts
from sbibench.reference.target import Target, density

CHAINS, WARMUP, THINNING = 100, 300, 2


def nuts(
    key: PRNGKeyArray, target: Target, n: int, progress: Progress = silent
) -> tuple[np.ndarray, Info]:
    """Draw about n samples θ [m, d], m ≤ n, by numpyro's sampler, and say how well it has mixed."""
    start_key, run_key = jax.random.split(key)
    parts = density(target.task)

    def potential(u: Float[Array, " d"]) -> Array:
        log_prior, log_likelihood = parts(target.x, u)
        value: Array = -(log_prior + log_likelihood)
        return value

    draws = max(1, n // CHAINS)
    mcmc = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=WARMUP,
        num_samples=THINNING * draws,
        num_chains=CHAINS,
        thinning=THINNING,
        chain_method="vectorized",
        progress_bar=False,
    )
    progress("NUTS", 0, None)
    mcmc.run(run_key, init_params=starts(start_key, target, CHAINS))
    drawn = np.asarray(mcmc.get_samples(group_by_chain=True), np.float64)
    us = drawn.reshape(-1, drawn.shape[-1])
    diverging = int(np.sum(mcmc.get_extra_fields()["diverging"]))
    facts: Info = {"chains": CHAINS, "divergences": diverging}
    return target.thetas(us), facts | mixing(drawn)
