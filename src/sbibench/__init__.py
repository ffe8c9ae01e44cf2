"""sbibench: a benchmark of simulation-based inference."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
