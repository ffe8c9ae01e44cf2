"""`sbibench results rescore`: metrics of samples that are kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sbibench.cli.console import err
from sbibench.cli.engine import HERE, Where, carry_out
from sbibench.cli.stored import ALL, Only, existing
from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord
from sbibench.runner.limits import Limits
from sbibench.runner.todo import to_judge_again
from sbibench.store.results import Results


def results_rescore(
    directory: Path,
    *,
    metrics: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")],
    anew: Annotated[bool, Parameter(negative="")] = False,
    only: Only = ALL,
    where: Where = HERE,
    hard_limit: float | None = None,
) -> int:
    """Compute metrics of runs from their samples, where they have none; nothing is run again.

    The exit status is 1 if a metric of some run could not be computed; the reason is in its record.

    Parameters
    ----------
    directory
        Where the results are.
    metrics
        What to compute.
    anew
        Compute them where there is a value, too; it stays where no other can be computed.
    hard_limit
        Seconds after which the process of a metric is killed.
    """
    for name in metrics:
        registry.METRICS.get(name)
    limits = Limits(hard=hard_limit)
    ids = only.of(existing(directory))["id"]
    results = Results(directory)
    records = [r for r in map(results.read, ids) if r is not None]
    todo = to_judge_again(records, metrics, results, anew=anew)
    without = sum(not results.has_samples(r.spec.id) for r in records)
    if records and without == len(records):
        raise UsageError(f"there are no samples in {directory}; metrics are computed from them")
    err.print(f"{len(records)} runs, {len(todo)} to judge, {without} without samples")
    carry_out(todo, metrics, results, where, limits, len(records) - len(todo))
    return _say_missing([results.read(work.spec.id) for work in todo], metrics)


def _say_missing(records: Sequence[RunRecord | None], metrics: Sequence[str]) -> int:
    """Print a line for each run that lacks one of the metrics; return 1 if there is any, else 0."""
    lacks = 0
    for record in records:
        if record is None or not (
            missing := [m for m in metrics if m in record.missing or m not in record.metrics]
        ):
            continue
        lacks = 1
        reasons = dict.fromkeys(record.missing.get(m, "not computed") for m in missing)
        err.print(
            f"no {', '.join(missing)} of {record.spec}: {'; '.join(reasons)}",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip
    return lacks
