"""The versions of everything that results depend on, for records."""

import importlib.metadata
import platform

import sbibench

LIBRARIES = (
    "jax", "jaxlib", "equinox", "numpyro", "optax", "diffrax", "numpy", "scipy", "scikit-learn"
)  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions of sbibench, Python and the libraries that compute."""
    found = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {"sbibench": sbibench.__version__, "python": platform.python_version(), **found}
