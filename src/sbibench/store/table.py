"""All records of a store as one table."""

from collections.abc import Iterable

import msgspec
import polars as pl

from sbibench.core.run import RunRecord

COLUMNS = {
    "id": pl.String,
    "task": pl.String,
    "algorithm": pl.String,
    "label": pl.String,
    "budget": pl.Int64,
    "observation": pl.Int64,
    "seed": pl.Int64,
    "samples": pl.Int64,
    "task_version": pl.Int64,
    "settings": pl.String,
    "share_fit": pl.Boolean,
    "status": pl.String,
    "reason": pl.String,
    "calls": pl.Int64,
    "invalid": pl.Int64,
    "finished": pl.String,
}


ORDER = ("task", "label", "budget", "observation", "seed")


def table(records: Iterable[RunRecord], *, sort: bool = True) -> pl.DataFrame:
    """Return one row per run: identity, status, calls, values, `seconds.*`, `settings` (JSON).

    Values are `metric.*` and their standard errors `error.*`; one that there is not is null.
    """
    rows = []
    for r in records:
        s = r.spec
        row = {
            "id": s.id,
            "task": s.task,
            "algorithm": s.algorithm,
            "label": s.label,
            "budget": s.budget,
            "observation": s.observation,
            "seed": s.seed,
            "samples": s.samples,
            "task_version": s.task_version,
            "settings": msgspec.json.encode(s.settings, order="deterministic").decode(),
            "share_fit": s.share_fit,
            "status": r.status,
            "reason": r.reason,
            "calls": r.calls,
            "invalid": r.invalid,
            "finished": r.finished,
        }
        row |= {f"metric.{k}": float(v) for k, v in r.metrics.items()}
        row |= {f"error.{k}": float(v) for k, v in r.errors.items()}
        row |= {f"seconds.{k}": float(v) for k, v in r.seconds.items()}
        rows.append(row)
    measured = sorted({k for row in rows for k in row} - set(COLUMNS))
    schema = COLUMNS | dict.fromkeys(measured, pl.Float64)
    runs = pl.DataFrame(rows, schema=schema, orient="row")
    return runs.sort(ORDER) if sort else runs
