"""An outside toolbox as a guest in this process: seeded from the key, and silent."""

import contextlib
import io
import logging
import random
import warnings
from collections.abc import Iterator

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core.keys import numpy_rng
from sbibench.core.posterior import Info

LONGEST = 300
"""Characters of a toolbox's warnings that a record keeps."""


@contextlib.contextmanager
def silent_import() -> Iterator[None]:
    """Let a toolbox be imported: nothing is logged below errors, and logging stays as it was."""
    root, disabled = logging.root, logging.root.manager.disable
    handlers, level = list(root.handlers), root.level
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
        root.handlers[:] = handlers
        root.setLevel(level)


@contextlib.contextmanager
def guest(key: PRNGKeyArray, info: Info) -> Iterator[int]:
    """Let a toolbox run: all randomness comes from the key, and nothing is printed.

    The global generators of Python and NumPy are seeded, and are as they were afterwards; the
    seed, an integer below 2³¹, is what is yielded, for generators of the toolbox's own. What it
    prints or logs below the level of errors is dropped, what it warns of goes into
    `info["warnings"]`.
    """
    seed = int(numpy_rng(key).integers(2**31))
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 - restored
    disabled = logging.root.manager.disable
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - toolboxes draw from the global generator
    logging.disable(logging.WARNING)
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),  # bars of progress
    ):
        warnings.simplefilter("always")
        try:
            yield seed
        finally:
            logging.disable(disabled)
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002 - restored
            said = dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
            if said:
                info["warnings"] = " | ".join(said)[:LONGEST]
