"""What the commands that do many things share: where they are done, and what is said meanwhile."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from cyclopts import Parameter
from distributed import Client

from sbibench.cli.console import Number, bars
from sbibench.core.cores import cores
from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord
from sbibench.runner import campaign, cluster
from sbibench.runner.limits import Limits
from sbibench.runner.todo import Work, groups
from sbibench.store.results import Results


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Where the work is done.

    Parameters
    ----------
    workers
        Processes on this machine; by default one per core.
    scheduler
        The address of a dask scheduler whose workers do it, as tcp://host:8786, or its file.
    slurm
        Slurm jobs that do it; what each asks for is in dask's configuration.
    """

    workers: Number | None = None
    scheduler: str | None = None
    slurm: Number | None = None

    def __post_init__(self) -> None:
        for what, number in (("workers", self.workers), ("slurm", self.slurm)):
            if number is not None and number < 1:
                raise UsageError(f"--{what} is 1 or more, not {number}")
        if sum(x is not None for x in (self.workers, self.scheduler, self.slurm)) > 1:
            raise UsageError("say one of --workers, --scheduler and --slurm")

    def cluster(self, most: int) -> AbstractContextManager[Client]:
        """Return the cluster that does it, which needs no more processes than this."""
        if self.scheduler:
            return cluster.existing(self.scheduler)
        if self.slurm:
            return cluster.slurm(self.slurm)
        return cluster.local(min(self.workers or cores(), most))


HERE = Where()


def carry_out(
    todo: Sequence[Work],
    metrics: Sequence[str],
    results: Results,
    where: Where,
    limits: Limits,
    known: int = 0,
) -> None:
    """Do it all, with a bar on a terminal and a line for each run; `known` are done already."""
    if not todo:
        return
    results.prepare()

    def note(text: str) -> None:
        shown.console.print(text, markup=False, highlight=False, soft_wrap=True)

    with (
        where.cluster(len(groups(todo))) as client,
        bars(transient=False) as shown,
    ):
        bar = shown.add_task("runs", total=known + len(todo), completed=known)

        def report(record: RunRecord) -> None:
            shown.advance(bar)
            values = ", ".join(f"{k} {v:.3f}" for k, v in record.metrics.items())
            note(f"{record.status}: {record.spec}: {values or record.reason}")

        if address := cluster.dashboard(client):
            note(f"dashboard: {address}")
        campaign.run(client, todo, metrics, results, report, note, limits)
