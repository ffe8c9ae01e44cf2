"""Our results beside the published ones, from the records of the campaign that goes on."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from docstrings import cell, table

from sbibench.report import published
from sbibench.report.compare import compare
from sbibench.store.results import Results
from sbibench.store.table import table as runs_of

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "suites" / "paper2021.toml"
RECORDS = ROOT / "results" / "paper2021"

ABOUT = """Mean C2ST (0.5 is best, 1 worst): ours ± the standard error of measuring it, in brackets
the published mean over ten observations (Lueckmann et al. 2021). Ours is the mean over those
observations among the first three that are recorded in `results/paper2021`; a dash: not run yet.
[More](../results.md).

"""


@cache
def _cells() -> tuple[dict[Any, Any], dict[Any, Any]]:
    theirs = published.of_all()
    ours = compare(runs_of(list(Results(RECORDS))), theirs)
    keys = ("task", "label", "budget")
    return (
        {tuple(r[k] for k in keys): r for r in ours.iter_rows(named=True)},
        {tuple(r[k] for k in keys): r["c2st"] for r in theirs.iter_rows(named=True)},
    )


def labels(algorithm: str) -> list[str]:
    """Return the names that this algorithm has in the published table."""
    entries = tomllib.loads(SUITE.read_text())["algorithms"]
    return [entry.get("label", entry["name"]) for entry in entries if entry["name"] == algorithm]


def beside(kind: str, name: str) -> str:
    """Return a section for a "task" or an algorithm's "label"; nothing where none is published."""
    ours, theirs = _cells()
    other, i = ("label", 0) if kind == "task" else ("task", 1)
    mine = sorted(key for key in theirs if key[i] == name)
    if not mine:
        return ""
    budgets = sorted({budget for *_, budget in mine})
    rows = []
    for row in dict.fromkeys(key[1 - i] for key in mine):
        cells = [cell(row) if i == 0 else f"[{row}](../tasks/{row}.md)"]
        for budget in budgets:
            key = (name, row, budget) if i == 0 else (row, name, budget)
            cells.append(_cell(ours.get(key), theirs.get(key)))
        rows.append(cells)
    head = ["algorithm" if other == "label" else "task", *(f"{b:,}" for b in budgets)]
    return "## Results\n\n" + ABOUT + table(head, rows)


def _cell(our: Any, their: Any) -> str:
    mean = "-"
    if our is not None:
        mean = f"{our['ours']:.3f}" + (f" ± {our['error']:.3f}" if our["error"] else "")
    return mean if their is None else f"{mean} ({their:.3f})"
