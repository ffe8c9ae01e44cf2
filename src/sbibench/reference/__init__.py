"""True posteriors: samplers, the tests they must pass, and the certificates that say so.

sb.reference.sample(task, key, x, n) draws from the posterior of any observation x.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import PRNGKeyArray

if TYPE_CHECKING:
    from sbibench.core.task import Task

__all__ = ["sample"]


def sample(task: "Task", key: PRNGKeyArray, x: Any, n: int = 10_000) -> np.ndarray:
    """Draw n samples [n, d], float32, of the true posterior of a task at any observation x [p].

    By the task's own exact sampler, or by the scheme of `sbibench.reference.flow_rejection`. The
    samples have no certificate; those of numbered observations have (`task.reference_samples`).

    Raises
    ------
    UsageError
        If x is not p finite numbers or n < 1.
    NoReferenceError
        If the task has neither a likelihood nor a sampler of its posterior.
    SamplingError
        If the sampler reaches its cap.
    """
    from sbibench.core.errors import UsageError  # noqa: PLC0415 - the package itself stays light
    from sbibench.core.problem import silent  # noqa: PLC0415 - as above
    from sbibench.reference.certify import sampler  # noqa: PLC0415 - as above

    x = np.asarray(x, np.float64)
    if x.shape != (task.p,) or not np.isfinite(x).all():
        raise UsageError(f"x must be {task.p} finite numbers, as {task.name} has")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise UsageError(f"the number of samples is 1 or more, not {n!r}")
    return sampler(task).draw(key, x, int(n), silent)[0]
