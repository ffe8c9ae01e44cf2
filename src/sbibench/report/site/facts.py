"""What a site tells of a task beside its runs: plain values and functions of plain values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """A task as its page shows it.

    Attributes
    ----------
    name, label, citation, description
        For links, for people, where it comes from; the model in formulas and what makes it hard.
    parameter_names, data_names
        d and p names.
    certificate
        (what, value) of its reference samples; empty if there are none.
    observed
        Number of an observation -> x [p], or None where it is not known.
    truth
        Number of an observation -> θ [d], or None where it is not known.
    reference
        Number of an observation -> samples [n, d] of the true posterior, or None.
    predict
        Sets of parameters [n, d] -> data [n, p] simulated from each, or None.
    """

    name: str
    label: str
    citation: str = ""
    description: str = ""
    parameter_names: tuple[str, ...] = ()
    data_names: tuple[str, ...] = ()
    certificate: Sequence[tuple[str, str]] = ()
    observed: Callable[[int], np.ndarray | None] = lambda _: None
    truth: Callable[[int], np.ndarray | None] = lambda _: None
    reference: Callable[[int], np.ndarray | None] = lambda _: None
    predict: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]] | None = None
