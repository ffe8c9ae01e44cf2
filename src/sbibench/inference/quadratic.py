"""Logistic regression on all quadratic functions, with ridge penalties that the data choose.

The best classifier between two normal distributions is of this kind. Linear terms, squares and
products have a penalty each, so that one kind doesn't pay with its noise for another.
"""

import numpy as np
from jaxtyping import Float64, Int
from scipy.special import expit

ROUNDS = 12
"""Newton steps at most, with the penalties estimated anew after each; five are the rule."""
ENOUGH = 0.03
"""Change of all log odds below which it ends: what is left is for others to correct."""
SLACK = 1e-6
"""Rounding error of the loss: a step that raises it by more is halved."""
LEAST, MOST = 1e-3, 1e6
"""The penalties end here: separable sets need one, and a kind of no use has an infinite one."""
WIDEST = 20
"""Dimensions up to which there are products: a Newton step costs rows × functions²."""


def functions(xs: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "n p"]:
    """Return the constant 1, the columns, their squares less 1, and their products."""
    n, d = xs.shape
    i, j = np.triu_indices(d, 1) if d <= WIDEST else (np.array([], int),) * 2
    return np.concatenate([np.ones((n, 1)), xs, xs**2 - 1, xs[:, i] * xs[:, j]], 1)


def kinds(d: int) -> Int[np.ndarray, " p"]:
    """Return of what kind each of the `functions` of d columns is: 0 for the constant, to 3."""
    products = d * (d - 1) // 2 if d <= WIDEST else 0
    return np.repeat(np.arange(4), [1, d, d, products])


def log_odds_weights(
    terms: Float64[np.ndarray, "n p"], ys: Float64[np.ndarray, " n"], kind: Int[np.ndarray, " p"]
) -> Float64[np.ndarray, " p"]:
    """Return the weights of the log odds of ys = 1 against 0.

    The penalty of each kind is the inverse variance of its weights under which the labels are most
    probable, by MacKay's fixed point: effective number of weights over their sum of squares.

    References
    ----------
    MacKay 1992 (Neural Computation 4:415), section 4.
    """
    w, f = np.zeros(terms.shape[1]), np.zeros(len(terms))
    penalties = np.array([1e-6, 1.0, 1.0, 1.0])

    def entropy(f: Float64[np.ndarray, " n"]) -> float:
        return float(np.log1p(np.exp(-np.abs(f))).sum() + np.maximum(f, 0).sum() - ys @ f)

    now = entropy(f)
    for _ in range(ROUNDS):
        a = penalties[kind]
        mean = expit(f)
        # The floor keeps the matrix regular where all rows are told for certain.
        curvature = np.maximum(mean * (1 - mean), 1e-6)
        inverse = np.linalg.inv((terms * curvature[:, None]).T @ terms + np.diag(a))
        step = inverse @ (terms.T @ (ys - mean) - a * w)
        before, moved = now + a @ w**2 / 2, terms @ step
        while (now := entropy(f + moved)) + a @ (w + step) ** 2 / 2 > before + SLACK:
            step, moved = step / 2, moved / 2
        w, f = w + step, f + moved
        spread = np.diag(inverse)
        for k in range(1, 4):
            own = kind == k
            if own.any():
                count = max(own.sum() - penalties[k] * spread[own].sum(), 1e-3)
                penalties[k] = np.clip(count / max(w[own] @ w[own], 1e-12), LEAST, MOST)
        if np.abs(moved).max() < ENOUGH:
            break
    return w
