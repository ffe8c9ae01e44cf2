"""What a simulator returned, as x [n, p]: taken as meant, or refused in one line."""

from typing import Any

import numpy as np

from sbibench.core.errors import UsageError

ROWWISE = "if the function is for one θ, pass simulate_batch=sb.simulators.rowwise(f)"
"""How to mend a simulator that knows nothing of batches."""


def numbers(value: Any, what: str) -> np.ndarray:
    """Return an array, list, tensor or table of real numbers as float64.

    Raises
    ------
    UsageError
        If it is none.
    """
    try:
        if isinstance(value, np.ma.MaskedArray):  # what is hidden is no data
            value = np.ma.filled(value.astype(np.float64), np.nan)
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(f"{what} can't be read as an array of numbers: {error}") from error
    if value is None:
        raise UsageError(f"{what} is None, not numbers; does it return anything?")
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"{what} is {type(value).__name__} of Python objects, not of numbers: {error}"
            ) from error
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{what} is of type {array.dtype}; return real numbers, as float64")
    return array.astype(np.float64)


def matrix(value: Any, n: int, p: int) -> np.ndarray:
    """Return what a batched simulator gave for n parameters as x [n, p], float64.

    (n,) is taken for [n, 1] where there is one data value.

    Raises
    ------
    UsageError
        If the shape is another; the message says what it looks like.
    """
    xs = numbers(value, "what simulate_batch returned")
    if xs.shape == (n,) and p == 1:
        xs = xs[:, None]
    if xs.shape != (n, p):
        raise UsageError(
            f"simulate_batch returned shape {xs.shape} for {n} parameters, not ({n}, {p}): "
            f"{_why(xs.shape, n, p)}"
        )
    return xs


def _why(shape: tuple[int, ...], n: int, p: int) -> str:
    """Return what is probably wrong, and how to mend it."""
    match shape:
        case (a, b) if (a, b) == (p, n):
            return "its axes are swapped; return xs.T"
        case (a, *rest) if a == n and len(rest) > 1 and np.prod(rest) == p:
            return "return xs.reshape(len(thetas), -1)"
        case (a, b) if a == n:
            return f"it makes {b} data values, x_obs has {p}; make them agree"
        case (a,) if a == n:
            return f"it makes one data value, x_obs has {p}; return one row for each θ"
        case (a,) if a == p and n == 1:
            return "keep the first axis when there is one row (no squeeze)"
        case _:
            return f"return one row for each row of thetas; {ROWWISE}"
