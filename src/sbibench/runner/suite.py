"""A suite: which tasks, algorithms, budgets, observations, seeds and metrics; and its runs."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.core.posterior import check_shareable
from sbibench.core.run import RunSpec
from sbibench.runner.limits import Limits

LARGEST = 2**31
"""Budgets, seeds and numbers of samples are less than this."""


class SuiteError(UsageError):
    """An entry of a suite that no run can be made of; `keys` lead to it."""

    def __init__(self, message: str, keys: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.keys = keys


@contextmanager
def _blaming(*keys: str | int) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise SuiteError(str(error), keys) from error


class Contestant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An algorithm of a suite: its name, what tables call it, its settings on top of a preset.

    `tasks` and `budgets` are those of the suite where they are left out.
    """

    name: str
    label: str = ""
    preset: str = "default"
    settings: dict[str, Any] = {}
    tasks: tuple[str, ...] = ()
    budgets: tuple[int, ...] = ()


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
        self._check()
        tasks = dict.fromkeys([*self.tasks, *(t for c in self.algorithms for t in c.tasks)])
        budgets = dict.fromkeys([*self.budgets, *(b for c in self.algorithms for b in c.budgets)])
        made = {
            (i, task): self._spec(c, task)
            for i, c in enumerate(self.algorithms)
            for task in c.tasks or self.tasks
        }
        specs = [
            (i, replace(made[i, task], budget=budget, observation=observation, seed=seed))
            for task, budget, observation, seed, (i, c) in itertools.product(
                tasks, budgets, self.observations, self.seeds, enumerate(self.algorithms)
            )
            if (i, task) in made and budget in (c.budgets or self.budgets)
        ]
        labels: dict[tuple[str, str, int], str] = {}
        for i, run in specs:
            who = msgspec.json.encode((run.algorithm, run.settings), order="deterministic").decode()
            if labels.setdefault((run.label, run.task, run.budget), who) != who:
                said = f"two different algorithms are called {run.label!r}; add a label"
                raise SuiteError(said, ("algorithms", i, "label"))
        return list({run.id: run for _, run in specs}.values())

    def _check(self) -> None:
        """Raise `SuiteError` for the first entry that no run can be made of."""
        for name in ("tasks", "algorithms", "budgets", "observations", "seeds", "metrics"):
            with _blaming(name):
                if not getattr(self, name):
                    raise UsageError(f"{name} is empty; a suite needs at least one")
        for task in self.tasks:
            with _blaming("tasks", task):
                registry.TASKS.get(task)
        for metric in self.metrics:
            with _blaming("metrics", metric):
                registry.METRICS.get(metric)
        for observation in self.observations:
            with _blaming("observations", observation):
                registry.TASKS.get(self.tasks[0]).problem(observation, 1)
        for names, numbers, least in (
            ("budgets", self.budgets, 1), ("seeds", self.seeds, 0), ("samples", [self.samples], 1)
        ):  # fmt: skip
            for number in numbers:
                with _blaming(names, number):
                    _check_number(names.removesuffix("s"), number, least)
        with _blaming("time_limit"):
            _ = self.limits
        for i, c in enumerate(self.algorithms):
            with _blaming("algorithms", i):
                for budget in c.budgets:
                    _check_number("budget", budget, 1)
                for task in c.tasks or self.tasks[:1]:
                    self._spec(c, task)

    def _spec(self, c: Contestant, task: str) -> RunSpec:
        """Return a run of an algorithm on a task, checked; others differ in numbers alone."""
        return spec(
            task,
            c.name,
            c.settings,
            (c.budgets or self.budgets)[0],
            self.observations[0],
            self.seeds[0],
            self.samples,
            c.label,
            preset=c.preset,
            share_fit=self.share_fit,
        )


def _check_number(what: str, number: int, least: int) -> None:
    if number < least:
        raise UsageError(f"{what} is {least} or more, not {number}")
    if number >= LARGEST:
        raise UsageError(f"{what} is less than {LARGEST}, not {number}")


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
        _check_number(what, number, least)
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
        fingerprint=task.fingerprint if ":" in task_name else "",
    )
    try:
        _ = run.id
    except TypeError as error:
        raise UsageError(f"settings of {algorithm_name} must be plain values: {error}") from error
    return run
