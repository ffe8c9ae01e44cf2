"""The canonical observations that ship with the package, one file a task."""

import json
from importlib import resources

import numpy as np


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the observations [m, p] and true parameters [m, d] of a task, float64.

    They are those of the public benchmark (Lueckmann et al. 2021), so that results compare.
    """
    file = resources.files("sbibench") / "data" / "observations" / f"{name}.json"
    content = json.loads(file.read_text())
    return np.array(content["observations"]), np.array(content["true_parameters"])
