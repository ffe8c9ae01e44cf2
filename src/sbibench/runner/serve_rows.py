"""The process that simulates: a simulator and rows come through a pipe, their data go back."""

import pickle
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from sbibench.core.whose import line_of
from sbibench.runner.lifeline import die_with


def serve(pipe: int, lifeline: int) -> None:
    """Answer each (name, pickled simulator, rows) with None, once it is loaded, and (x, reason)s.

    The first answer, before any question, is empty. A simulator is loaded once.
    """
    die_with(lifeline)
    loaded: dict[str, Any] = {}
    with Connection(pipe) as connection:
        connection.send(None)
        while True:
            try:
                name, code, rows = connection.recv()
            except EOFError:
                return
            failure = ""
            if name not in loaded:
                try:
                    loaded = {name: pickle.loads(code)}
                except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's own module
                    failure = f"it can't be loaded: {_said(error)}"
            connection.send(None)
            for seed, theta in rows:
                connection.send((None, failure) if failure else _one(loaded[name], seed, theta))


def _one(simulator: Any, seed: int, theta: np.ndarray) -> tuple[np.ndarray | None, str]:
    """Return x [p] of one θ, or None and how it failed."""
    try:
        if hasattr(simulator, "one"):
            return simulator.one(seed, theta), ""
        x: np.ndarray = np.asarray(simulator(np.random.default_rng(seed), theta[None]), np.float64)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it costs this row
        return None, _said(error)
    if x.ndim not in {1, 2} or len(x) != 1:
        return None, f"simulate_batch returned shape {x.shape} for 1 parameter, not (1, p)"
    return x.reshape(-1), ""


def _said(error: BaseException) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    line = line_of(error)
    return f"{what} ({line})" if line else what
