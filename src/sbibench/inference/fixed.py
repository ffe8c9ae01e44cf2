"""A posterior that is a set of samples which somebody else's code has drawn."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray
from numpyro.distributions import Distribution

from sbibench.core import priors
from sbibench.core.errors import SamplingError, UsageError
from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info, check_count, check_same_x
from sbibench.core.problem import Problem
from sbibench.inference.saving import Portable


def fixed(problem: Problem, samples: Any, facts: Mapping[str, Any], whose: str) -> "FixedPosterior":
    """Return the posterior that these samples [m, d] are; those outside the support are left out.

    Parameters
    ----------
    problem
        What was to be inferred.
    samples
        What came back; [m] is understood where there is one parameter.
    facts
        More for the record.
    whose
        Who returned them, for messages.

    Raises
    ------
    UsageError
        If they are no samples: another shape, no numbers, values that are not finite.
    SamplingError
        If all of them lie outside the prior's support.
    """
    d = problem.d
    try:
        array = np.asarray(samples, np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{whose} returned {type(samples).__name__}, not an array of samples [m, {d}]"
        ) from error
    if array.ndim == 1 and d == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != d or not len(array):
        hint = "; transpose them" if array.ndim == 2 and array.shape[0] == d else ""
        raise UsageError(
            f"{whose} returned samples of shape {array.shape}, not [m, {d}] with one row per "
            f"sample{hint}"
        )
    bad = ~np.isfinite(array).all(1)
    if bad.any():
        raise UsageError(
            f"{whose} returned {int(bad.sum())} of {len(array)} samples that are not finite"
        )
    rows = priors.rows(problem.prior)
    inside = rows.inside(array)
    if not inside.any():
        raise SamplingError(
            f"{whose} returned {len(array)} samples, all outside the prior's support; "
            "prior.inside(thetas) says which are inside"
        )
    info: Info = {"returned": len(array), "outside_support": int((~inside).sum())}
    told = {str(name): _plain(fact) for name, fact in facts.items()}
    return FixedPosterior(problem.prior, rows.single(array[inside]), problem.x_obs, told | info)


def _plain(fact: Any) -> float | int | str | bool:
    value = fact.item() if getattr(fact, "size", None) == 1 else fact
    return value if isinstance(value, bool | int | float | str) else str(value)


class FixedPosterior(Portable):
    """Samples [m, d] of the posterior at one x_obs, all there is of it.

    Of these, n are drawn without replacement. Where n is more than m each comes equally often, up
    to one, and `info["repeated"]` says how often at most: repeated samples add nothing, and a
    metric that tells samples apart may see the copies.
    """

    amortized = False

    def __init__(
        self, prior: Distribution, samples: np.ndarray, x_obs: np.ndarray, info: Info
    ) -> None:
        self._prior = prior
        self._samples = samples
        self._x_obs = x_obs
        self.info = info

    def sample(self, key: PRNGKeyArray, n: int, x: Any = None) -> np.ndarray:
        """Return n of the samples [n, d], float32, in random order; x can only be x_obs."""
        check_count(n)
        check_same_x(x, self._x_obs)
        m = len(self._samples)
        turns = -(-n // m)
        self.info["repeated"] = turns
        order = np.tile(np.arange(m), (turns, 1))
        drawn: np.ndarray = self._samples[numpy_rng(key).permuted(order, axis=1).ravel()[:n]]
        return drawn
