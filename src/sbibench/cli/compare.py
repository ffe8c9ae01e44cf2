"""`sbibench compare`: results against published figures."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Json, out, print_json
from sbibench.core.errors import UsageError
from sbibench.report import published
from sbibench.report.compare import compare as cells_of
from sbibench.report.compare import verdict
from sbibench.store.index import everything
from sbibench.store.results import Results

_COLOURS = {"better": "green", "worse": "red"}


def compare(
    results: Path,
    *,
    metric: str = "c2st",
    study: str | None = None,
    other: Annotated[Path | None, Parameter(name="--with")] = None,
    as_json: Json = False,
) -> int:
    """Compare results with published ones, cell by cell: same task, budget and algorithm.

    Cells meet by their labels (rej_abc is REJ-ABC); those that don't by algorithm and settings, or
    by the algorithm alone, and the table says so. By the algorithm alone only if both sides have
    one cell of it: of several settings none is more theirs than the others.

    "Better" and "worse" are differences of more than two standard errors, by the deviation of
    theirs over observations; "/sd" is the difference in such deviations, "±" the standard error of
    measuring ours. The exit status is 1 if there is no cell to compare.

    Parameters
    ----------
    results
        The directory of the results.
    metric
        c2st, mmd or meddist; smaller is better for all of them.
    study
        Which table of the 2021 paper: main_paper or one of its supplements; by default the main
        one and, of RF-ABC and SL, the supplement's.
    other
        What to compare with in place of these: CSV with one row per run, as sbibm has them, or
        another directory of results.
    """
    if not results.is_dir():
        raise UsageError(f"{results} is no directory of results")
    if study is not None and other is not None:
        raise UsageError("say one of --study and --with")
    runs = everything(Results(results))[0]
    if not len(runs):
        raise UsageError(f"there are no results in {results}")
    if other:
        others = published.read_runs(other)
    else:
        others = published.cells(study) if study else published.of_all()
    found = cells_of(runs, others, metric, by_algorithm=True)
    if as_json:
        print_json(found.to_dicts())
        return int(not len(found))
    shown = Table(title=f"{metric}, mean over observations", box=SIMPLE, padding=0, pad_edge=False)
    shown.add_column("task", overflow="fold")
    shown.add_column("algorithm", no_wrap=True)
    for name in ("budget", "runs", "ours", "±", "theirs", "diff", "/sd", "verdict"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in found.iter_rows(named=True):
        colour = _COLOURS.get(row["verdict"], "dim")
        shown.add_row(
            escape(row["task"]),
            escape(_who(row)),
            f"{row['budget']:,}",
            str(row["n"]),
            f"{row['ours']:.3f}",
            "-" if row["error"] is None else f"{row['error']:.3f}",
            f"{row['theirs']:.3f}",
            f"{row['difference']:+.3f}",
            "-" if row["in_spreads"] is None else f"{row['in_spreads']:+.1f}",
            f"[{colour}]{row['verdict']}[/]",
        )
    if len(found):
        out.print(shown)
    out.print(verdict(found))
    if not len(found):
        for whose, labels in (("ours", runs["label"]), ("theirs", others["label"])):
            names = ", ".join(labels.unique().sort())
            out.print(f"labels of {whose}: {names}", markup=False, highlight=False)
    return int(not len(found))


def _who(row: dict[str, Any]) -> str:
    """Return the label of a cell; with that of theirs where they differ."""
    if row["matched"] == "label":
        return str(row["label"])
    return f"{row['label']} ~ {row['their_label']} (by {row['matched']})"
