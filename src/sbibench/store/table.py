"""All records of a store as one table."""

from collections.abc import Sequence

import msgspec
import polars as pl

from sbibench.core.run import RunRecord

_SPEC = {
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
    "fingerprint": pl.String,
}
_RECORD = {
    "status": pl.String,
    "reason": pl.String,
    "calls": pl.Int64,
    "invalid": pl.Int64,
    "finished": pl.String,
}
_MEASURED = {"metric": "metrics", "error": "errors", "seconds": "seconds"}
COLUMNS = {"id": pl.String} | _SPEC | _RECORD
ORDER = ("task", "label", "budget", "observation", "seed")


def table(records: Sequence[RunRecord], ids: Sequence[str] | None = None) -> pl.DataFrame:
    """Return one row per run: identity, status, calls, values, `seconds.*`, `settings` (JSON).

    Values are `metric.*` and their standard errors `error.*`; one that there is not is null.

    Parameters
    ----------
    records
        What came of the runs.
    ids
        The hashes of the runs, where they are known.
    """
    # Column by column: a store has tens of thousands of records.
    columns: dict[str, list[object]] = {"id": [*(ids or (r.spec.id for r in records))]}
    columns |= {name: [getattr(r.spec, name) for r in records] for name in _SPEC}
    columns |= {name: [getattr(r, name) for r in records] for name in _RECORD}
    encode = msgspec.json.Encoder(order="deterministic").encode
    columns["settings"] = [encode(s).decode() for s in columns["settings"]]
    measured = {}
    for kind, field in _MEASURED.items():
        values = [getattr(r, field) for r in records]
        for name in set().union(*values):
            measured[f"{kind}.{name}"] = [v.get(name) for v in values]
    schema = COLUMNS | dict.fromkeys(sorted(measured), pl.Float64)
    return pl.DataFrame(columns | measured, schema=schema, strict=False).sort(ORDER)
