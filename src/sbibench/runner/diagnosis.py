"""All checks of calibration on one set of pairs: each a finding, or why there is none."""

import zlib
from collections.abc import Mapping, Sequence

import jax
from jaxtyping import PRNGKeyArray

from sbibench.core import registry
from sbibench.core.calibration import Check, Pairs
from sbibench.core.errors import SbibenchError
from sbibench.core.finding import Finding

_WHY = {
    "log_probs_true": "there are no densities: the posterior has none, or they were not asked for",
    "draws_at_x_obs": "the posterior of this observation can't be sampled",
}
_WHY["log_probs"] = _WHY["log_probs_true"]


def needs_densities(checks: Sequence[str]) -> bool:
    """Return whether one of these checks reads densities of the posterior."""
    dense = {"log_probs", "log_probs_true"}
    return any(dense & {*registry.CHECKS.get(name).needs} for name in checks)


def diagnose(
    key: PRNGKeyArray, pairs: Pairs, checks: Sequence[str] | Mapping[str, Check] | None = None
) -> dict[str, Finding | str]:
    """Return what each check finds, by name, or in words why it can't be done.

    Parameters
    ----------
    key
        Decides what is random in checks; each has its own share, whatever the others.
    pairs
        What is judged.
    checks
        Names of the checks, or checks by name; by default all that are registered.

    Raises
    ------
    UsageError
        If there is no check of this name.
    """
    if not isinstance(checks, Mapping):
        names = registry.CHECKS.names() if checks is None else checks
        checks = {name: registry.CHECKS.get(name)() for name in names}
    found: dict[str, Finding | str] = {}
    for name, check in checks.items():
        absent = [need for need in check.needs if getattr(pairs, need) is None]
        if absent:
            found[name] = _WHY.get(absent[0], f"there are no {absent[0]}")
            continue
        try:
            found[name] = check(jax.random.fold_in(key, zlib.crc32(name.encode())), pairs)
        except SbibenchError as error:
            found[name] = str(error)
    return found
