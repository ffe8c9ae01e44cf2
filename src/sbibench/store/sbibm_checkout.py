"""The files of sbibm's tasks in a checkout of it: observations, parameters, posterior samples."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown


@dataclass(frozen=True)
class Checkout:
    """A directory with sbibm's `sbibm/tasks/NAME/files/num_observation_I/*.csv`.

    Parameters
    ----------
    path
        The repository, the package `sbibm` in it or installed, or its folder `tasks`.

    Raises
    ------
    UsageError
        If no task lies there.
    """

    path: Path | str

    def __post_init__(self) -> None:
        self._folder()

    def _folder(self) -> Path:
        for part in ("sbibm/tasks", "tasks", ""):
            folder = Path(self.path) / part
            if any(folder.glob("*/files/num_observation_*")):
                return folder
        raise UsageError(
            f"{self.path} is no checkout of sbibm: there is no "
            "sbibm/tasks/NAME/files/num_observation_1 in it"
        )

    def tasks(self) -> list[str]:
        """Return the names of the tasks whose files are there."""
        found = self._folder().glob("*/files/num_observation_*")
        return sorted({path.parents[1].name for path in found})

    def observations(self, task: str) -> list[int]:
        """Return the numbers of a task's observations."""
        if task not in self.tasks():
            raise unknown("task in this checkout", task, self.tasks())
        found = (self._folder() / task / "files").glob("num_observation_*")
        return sorted(int(n[1]) for p in found if (n := re.search(r"_(\d+)$", p.name)))

    def observation(self, task: str, num_observation: int = 1) -> np.ndarray:
        """Return x [p], float64."""
        return self._row(task, num_observation, "observation")

    def true_parameters(self, task: str, num_observation: int = 1) -> np.ndarray:
        """Return the parameters θ [d] that generated x, float64."""
        return self._row(task, num_observation, "true_parameters")

    def reference_samples(self, task: str, num_observation: int = 1) -> np.ndarray:
        """Return its samples [n, d] of the true posterior, float32."""
        found = self._read(task, num_observation, "reference_posterior_samples")
        return found.astype(np.float32)

    def differs(self, task: str, num_observation: int = 1) -> str:
        """Return in words how observation and parameters differ from ours; empty if they don't.

        Both are float32 numbers in sbibm's files; equal is equal to one part in a million.
        """
        ours = registry.TASKS.get(task)
        pairs = {
            "observation": (self.observation(task, num_observation), ours.observation),
            "parameters": (self.true_parameters(task, num_observation), ours.true_parameters),
        }
        told = []
        for what, (theirs, function) in pairs.items():
            mine = function(num_observation)
            if theirs.shape != mine.shape:
                told.append(f"{what}: {len(theirs)} values, ours {len(mine)}")
            elif not np.allclose(theirs, mine, rtol=1e-6, atol=1e-6):
                told.append(f"{what}: by up to {np.abs(theirs - mine).max():.3g}")
        return "; ".join(told)

    def _row(self, task: str, number: int, what: str) -> np.ndarray:
        found = self._read(task, number, what)
        if len(found) != 1:
            raise UsageError(f"{what} {number} of {task} has {len(found)} rows, it should have 1")
        row: np.ndarray = found[0]
        return row

    def _read(self, task: str, number: int, what: str) -> np.ndarray:
        if number not in (known := self.observations(task)):
            raise UsageError(
                f"{task} has no observation {number} in this checkout, but "
                f"{', '.join(map(str, known))}"
            )
        folder = self._folder() / task / "files" / f"num_observation_{number}"
        paths = [path for end in (".csv", ".csv.bz2") if (path := folder / (what + end)).exists()]
        if not paths:
            raise UsageError(f"there is no {what}.csv or {what}.csv.bz2 in {folder}")
        try:
            found = np.loadtxt(paths[0], delimiter=",", skiprows=1, ndmin=2)
        except (OSError, ValueError, EOFError) as error:
            raise UsageError(f"{paths[0]} is no table of numbers: {error}") from error
        if not found.size or not np.isfinite(found).all():
            raise UsageError(f"{paths[0]}: empty, or some values are not finite")
        return found
