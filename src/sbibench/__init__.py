"""sbibench: a benchmark of simulation-based inference.

import sbibench as sb

task = sb.get_task("two_moons")
problem = task.problem(observation=1, budget=1000)
posterior = sb.get_algorithm("npe").fit(key, problem)
samples = posterior.sample(key, 10_000)
sb.metrics.c2st(key, samples, task.reference_samples(1))
"""

import importlib
from typing import TYPE_CHECKING, Any

from sbibench.core import registry

if TYPE_CHECKING:
    from sbibench.core.posterior import Algorithm
    from sbibench.core.task import Task

__version__ = "0.1.0"
__all__ = [
    "SliceSampling", "Task", "calibration", "compare", "diagnose", "draw_pairs", "from_function",
    "get_algorithm", "get_check", "get_metric", "get_task", "load", "metrics", "plot",
    "read_results", "reference", "refit_pairs", "sbibm", "simulators",
    "slice_chains",
]  # fmt: skip

_LATER = {
    "SliceSampling": "inference.slice:SliceSampling",
    "Task": "core.task:Task",
    "calibration": "calibration:",
    "compare": "runner.compare:compare",
    "diagnose": "runner.diagnosis:diagnose",
    "draw_pairs": "runner.pairs:draw_pairs",
    "from_function": "inference.from_function:from_function",
    "load": "inference.saving:load",
    "metrics": "metrics:",
    "plot": "report.plot:",
    "read_results": "store.index:read",
    "reference": "reference:",
    "refit_pairs": "runner.pairs:refit_pairs",
    "sbibm": "store.sbibm:",
    "simulators": "simulators:",
    "slice_chains": "inference.slice:slice_chains",
}


def __getattr__(name: str) -> Any:
    """Load the parts that are slow to import when they are first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'sbibench' has no attribute {name!r}")
    module, _, attribute = _LATER[name].partition(":")
    loaded = importlib.import_module(f"sbibench.{module}")
    return getattr(loaded, attribute) if attribute else loaded


def get_task(name: str) -> "Task":
    """Return the task of this name, or the one at `module:name`."""
    task: Task = registry.TASKS.get(name)
    return task


def get_algorithm(name: str, preset: str = "default") -> "Algorithm":
    """Return the algorithm of this name with its "default" settings or those of the "paper".

    It is a frozen dataclass: `dataclasses.replace(algorithm, ...)` changes settings.
    """
    algorithm: Algorithm = registry.ALGORITHMS.preset(name, preset)
    return algorithm


def get_metric(name: str) -> Any:
    """Return the metric of this name with its default options."""
    return registry.METRICS.get(name)()


def get_check(name: str) -> Any:
    """Return the calibration check of this name with its default options."""
    return registry.CHECKS.get(name)()
