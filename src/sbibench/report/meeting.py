"""Which of our cells are which of theirs."""

import polars as pl

from sbibench.store.sbibm import ALGORITHMS, LABELS

_CELL = ("task", "budget")

_WAYS = (
    ("label", ("label", "settings")),
    ("label", ("label",)),
    ("settings", ("algorithm", "settings")),
    ("algorithm", ("algorithm",)),
)
"""What has to be the same, and what that is called; each where the ones before find nothing."""


def meet(ours: pl.DataFrame, theirs: pl.DataFrame, *, by_algorithm: bool = False) -> pl.DataFrame:
    """Return our cells beside those of theirs that they meet.

    Task and budget are the same, and the label, `rej_abc` being that of `REJ-ABC`. With
    `by_algorithm` the rest meet by algorithm and settings, or by the algorithm alone: where a cell
    of theirs has no counterpart by its label, and is the only one that it could be. By
    the algorithm alone ours has to be the only one, too.

    Parameters
    ----------
    ours
        Cells: task, budget, label, algorithm, settings, and others.
    theirs
        Cells: task, budget, label, and others; algorithm and settings where they are known.

    Returns
    -------
    DataFrame
        Columns of ours, those of theirs that ours lack, `their_label`, and `matched`: by "label",
        "settings" (and algorithm) or "algorithm".
    """
    ours = ours.with_columns(pl.col("label").replace(LABELS))
    theirs = theirs.with_columns(pl.col("label").replace(LABELS))
    if "algorithm" not in theirs.columns:
        known = pl.col("label").replace_strict(ALGORITHMS, default=None, return_dtype=pl.String)
        theirs = theirs.with_columns(known.alias("algorithm"))
    if "settings" not in theirs.columns:
        theirs = theirs.with_columns(pl.lit(None, pl.String).alias("settings"))
    theirs = theirs.with_row_index("_cell").with_columns(pl.col("label").alias("their_label"))
    found = []
    for name, same in _WAYS if by_algorithm else _WAYS[:2]:
        on = [*_CELL, *same]
        only = theirs.filter(
            (pl.len().over(on) == 1) & pl.all_horizontal(pl.col(same).is_not_null())
        )
        more = [c for c in theirs.columns if c not in ours.columns]
        # Of several settings of ours none is more theirs than the others.
        could = ours.filter(pl.len().over(on) == 1) if name == "algorithm" else ours
        met = could.join(only.select(*on, *more), on=on)
        ours = ours.join(met, on=on, how="anti") if len(met) else ours
        theirs = theirs.filter(~pl.col("_cell").is_in(met["_cell"].implode()))
        found.append(met.with_columns(pl.lit(name).alias("matched")))
    return pl.concat(found).drop("_cell")
