"""What a task is made with: observations as they are given, and whether fields fit each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sbibench.core.errors import UsageError
from sbibench.core.outputs import numbers


def observations(name: str, given: Any, x_obs: Any) -> np.ndarray:
    """Return the observations [m, p], float64, of what was given."""
    if (x_obs is None) == (len(given) == 0):
        raise UsageError(f"{name}: give one of x_obs [p] and observations [m, p]")
    if x_obs is None:
        return numbers(given, f"{name}: observations")
    x = numbers(x_obs, f"{name}: x_obs")
    if x.ndim == 0:
        x = x[None]
    if x.ndim != 1 or not len(x):
        raise UsageError(
            f"{name}: x_obs is one vector [p], its shape is {x.shape}; np.ravel makes one, and the "
            "simulator's data must be ravelled alike"
        )
    if not np.isfinite(x).all():
        where = np.flatnonzero(~np.isfinite(x)).tolist()
        raise UsageError(f"{name}: x_obs is not finite at index {where}; replace or remove these")
    return x[None]


def names(task: str, what: str, given: Sequence[str], n: int, stem: str) -> tuple[str, ...]:
    """Return the names that are given, each once, or stem_1 to stem_n if there are none."""
    if isinstance(given, str):
        raise UsageError(f"{task}: {what} is a list of names, not {given!r}")
    found = tuple(given) or tuple(f"{stem}_{i + 1}" for i in range(n))
    if twice := [name for name in found if found.count(name) > 1]:
        raise UsageError(f"{task}: {what} has {twice[0]!r} twice; give each a name of its own")
    return found


def check_shapes(task: Any) -> None:
    """Raise `UsageError` where two fields of a task don't fit each other."""
    d = task.prior.event_shape[0]
    if task.second_method not in {None, "grid", "slices", "nuts"}:
        raise UsageError(
            f"{task.name}: second_method is grid, slices, nuts or None, not {task.second_method!r}"
        )
    if task.second_method == "grid" and d > 2:
        raise UsageError(f"{task.name}: a grid is for 1 or 2 parameters; use slices")
    if len(task.parameter_names) != d:
        raise UsageError(
            f"{task.name}: the prior is over {d} parameters, parameter_names are "
            f"{len(task.parameter_names)}"
        )
    for what, got, names in (
        ("observations", task.observations, task.data_names),
        ("thetas_true", task.thetas_true, task.parameter_names),
    ):
        known = what == "observations" or len(got)
        if known and (got.ndim != 2 or got.shape[1] != len(names)):
            raise UsageError(f"{task.name}: {what} has shape {got.shape}, not [m, {len(names)}]")
    if 0 < len(task.thetas_true) < len(task.observations):
        raise UsageError(
            f"{task.name}: {len(task.observations)} observations, but "
            f"{len(task.thetas_true)} thetas_true; leave them out if they are unknown"
        )
