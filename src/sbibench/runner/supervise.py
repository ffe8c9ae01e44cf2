"""A group of work done by a process under supervision: whatever happens, each run has a record."""

import dataclasses
import pickle
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from distributed import get_worker

from sbibench.core.run import RunRecord
from sbibench.core.versions import outside
from sbibench.runner.limits import GIB, Limits
from sbibench.runner.process import Ended, Wanted, borrowed
from sbibench.runner.todo import Work, given_up, lacking

Result = tuple[RunRecord, np.ndarray | None]


class _Progress:
    """How far a group is: what is left of it, and the stage in which its first run is."""

    def __init__(self, group: Sequence[Work], metrics: Sequence[str]) -> None:
        self.left = list(group)
        self.stage = "fit"
        self.since = time.monotonic()
        self.facts: tuple[dict[str, str], dict[str, Any]] = ({}, {})
        self._metrics = metrics

    def begins(self, stage: str) -> None:
        self.stage, self.since = stage, time.monotonic()

    def comes(self, record: RunRecord, samples: np.ndarray | None) -> Iterator[Result]:
        """Take what is known of the first run; yield it if that is all."""
        first = self.left[0]
        samples = first.samples if samples is None else samples
        if lacking(record, self._metrics):
            self.left[0] = Work(first.spec, record, samples)
        else:
            del self.left[0]
            yield record, samples

    def ended(self, end: Ended) -> Iterator[Result]:
        """Give a record to each run that can't go on after its process has ended."""
        first = self.left[0]
        if first.record is not None:  # it has samples: a metric ended the process
            metric = lacking(first.record, self._metrics)[:1]
            yield from self.comes(given_up(first, metric, end.status, end.reason), None)
            return
        versions, machine = self.facts
        seconds = {self.stage: time.monotonic() - self.since}
        # What ended a fit would end it again for those that share it.
        for work in list(self.left) if self.stage == "fit" else [first]:
            self.left.remove(work)
            record = given_up(
                work, self._metrics, end.status, end.reason, seconds=seconds, machine=machine,
                versions=versions | outside(work.spec.task, work.spec.algorithm),
            )  # fmt: skip
            yield record, None


def supervised(
    group: Sequence[Work], metrics: Sequence[str], limits: Limits, wanted: Wanted
) -> Iterator[Result]:
    """Do work that shares one fit in a process of its own; yield each record and its samples.

    A process that is killed by a signal that did not come from here gets a second chance: others
    are killed by mistake, and by a machine that is short of memory.

    Raises
    ------
    EngineError
        If no process can start.
    Unwanted
        If `wanted` says that nobody waits any more.
    """
    progress = _Progress(group, metrics)
    died: set[str] = set()
    while progress.left:
        try:
            with borrowed(limits, wanted) as process:
                progress.facts = process.facts
                progress.begins("fit")
                process.send((progress.left, metrics, limits.time))
                while progress.left:
                    said = process.receive(limits, wanted)
                    if isinstance(said, str):
                        progress.begins(said)
                    else:
                        yield from progress.comes(*said)
        except Ended as end:
            run = progress.left[0].spec.id
            if end.foreign and run not in died:
                died.add(run)
                continue
            if end.foreign:
                end.reason += ", twice; perhaps the machine has too little memory"
            yield from progress.ended(end)


def wanted_here() -> Wanted:
    """Return a function that says whether what this dask worker's thread does is still wanted."""
    worker = get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    return wanted


def share_of_memory(limits: Limits) -> Limits:
    """Return the limits with this thread's share of the dask worker's memory, if there is none."""
    worker = get_worker()
    if limits.memory is None and (share := worker.memory_manager.memory_limit):
        return dataclasses.replace(limits, memory=share / worker.state.nthreads / GIB)
    return limits


def work_here(
    group: Sequence[Work], metrics: Sequence[str], limits: Limits, topic: str
) -> list[Result]:
    """Do a group in a dask worker; return the results, and announce each of several at once."""
    done = []
    for result in supervised(group, metrics, share_of_memory(limits), wanted_here()):
        done.append(result)
        if len(group) > 1:
            get_worker().log_event(topic, pickle.dumps(result))
    return done
