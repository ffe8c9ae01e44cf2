"""A suite: which tasks, algorithms, budgets, observations, seeds and metrics; and its runs."""

import itertools
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.core.posterior import check_shareable
from sbibench.core.run import RunSpec
from sbibench.runner.limits import Limits

LARGEST = 2**31
"""Budgets, seeds and numbers of samples are less than this."""


class Contestant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An algorithm of a suite: its name, what tables call it, its settings on top of a preset."""

    name: str
    label: str = ""
    preset: str = "default"
    settings: dict[str, Any] = {}


class Suite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a suite file says; every combination is one run.

    Attributes
    ----------
    tasks, algorithms, budgets, observations, seeds
        Whose combinations are run.
    metrics
        What is computed for each run.
    samples
        How many samples are drawn of each posterior.
    time_limit, hard_limit, memory_limit
        What one run may take: see `Limits`.
    share_fit
        Whether one fit of a task, algorithm, budget and seed serves all observations; otherwise, as
        in the 2021 paper, each observation has its own.
    """

    tasks: tuple[str, ...]
    algorithms: tuple[Contestant, ...]
    budgets: tuple[int, ...]
    observations: tuple[int, ...]
    seeds: tuple[int, ...] = (0,)
    metrics: tuple[str, ...] = ("c2st",)
    samples: int = 10_000
    time_limit: float | None = None
    hard_limit: float | None = None
    memory_limit: float | None = None
    share_fit: bool = False

    @classmethod
    def load(cls, path: Path) -> "Suite":
        """Return the suite in a TOML file.

        Raises
        ------
        UsageError
            If the file can't be read, or says something that no run can be made of.
        """
        try:
            content = tomllib.loads(path.read_text())
            _check_names(content, cls)
            suite = msgspec.convert(content, cls)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path}: {error}") from error
        except msgspec.ValidationError as error:
            raise UsageError(f"{path}: {str(error).replace('`$.', '`')}") from error
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
        return suite

    @property
    def limits(self) -> Limits:
        """Return what one run may take.

        Raises
        ------
        UsageError
            If these limits are not possible.
        """
        return Limits(self.time_limit, self.hard_limit, self.memory_limit)

    def runs(self) -> list[RunSpec]:
        """Return the runs, each once, in the order of the file.

        Raises
        ------
        UsageError
            If a name, a setting or a number is not possible.
        """
        for name in ("tasks", "algorithms", "budgets", "observations", "seeds", "metrics"):
            if not getattr(self, name):
                raise UsageError(f"{name} is empty; a suite needs at least one")
        for metric in self.metrics:
            registry.METRICS.get(metric)
        _ = self.limits
        specs = [
            spec(
                task,
                c.name,
                c.settings,
                budget,
                observation,
                seed,
                self.samples,
                c.label,
                preset=c.preset,
                share_fit=self.share_fit,
            )
            for task, budget, observation, seed, c in itertools.product(
                self.tasks, self.budgets, self.observations, self.seeds, self.algorithms
            )
        ]
        labels: dict[str, str] = {}
        for run in specs:
            who = msgspec.json.encode((run.algorithm, run.settings), order="deterministic").decode()
            if labels.setdefault(run.label, who) != who:
                raise UsageError(f"two different algorithms are called {run.label!r}; add a label")
        return list({run.id: run for run in specs}.values())


def _check_names(content: dict[str, Any], cls: type[msgspec.Struct]) -> None:
    for name in content:
        if name not in cls.__struct_fields__:
            raise unknown("entry of a suite", name, cls.__struct_fields__)


def spec(
    task_name: str,
    algorithm_name: str,
    values: dict[str, Any],
    budget: int,
    observation: int,
    seed: int,
    samples: int = 10_000,
    label: str = "",
    *,
    preset: str = "default",
    share_fit: bool = False,
    text: bool = False,
) -> RunSpec:
    """Return the identity of one run, checked: names exist, settings and numbers are possible.

    The values override settings of the preset; see `Suite` for `share_fit`.

    Raises
    ------
    UsageError
        If a run can't be made of this.
    """
    task = registry.TASKS.get(task_name)
    cls = registry.ALGORITHMS.get(algorithm_name)
    base = registry.ALGORITHMS.preset(algorithm_name, preset)
    named = base != cls()
    shown = f"{algorithm_name} {preset}" if named else algorithm_name
    full = settings.build(cls, values, algorithm_name, base=base, text=text)
    if share_fit:
        check_shareable(algorithm_name, getattr(full, "amortized", True))
    task.problem(observation, budget)
    for what, number, least in (("budget", budget, 1), ("seed", seed, 0), ("samples", samples, 1)):
        if number < least:
            raise UsageError(f"{what} is {least} or more, not {number}")
        if number >= LARGEST:
            raise UsageError(f"{what} is less than {LARGEST}, not {number}")
    run = RunSpec(
        task=task_name,
        task_version=task.version,
        algorithm=algorithm_name,
        settings=settings.as_dict(full),
        label=label or settings.label(shown, full, base) + (" shared fit" if share_fit else ""),
        budget=budget,
        observation=observation,
        seed=seed,
        samples=samples,
        share_fit=share_fit,
    )
    try:
        _ = run.id
    except TypeError as error:
        raise UsageError(f"settings of {algorithm_name} must be plain values: {error}") from error
    return run
