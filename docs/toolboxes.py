"""Writes the table of docs/toolboxes.md from its records: `python docs/toolboxes.py`."""

from pathlib import Path

import polars as pl

from sbibench.store.results import Results
from sbibench.store.table import table

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).parent / "toolboxes.md"
START, END = "<!-- table: docs/toolboxes.py -->\n", "<!-- end of table -->\n"
TASKS = {"two_moons": (1, 2, 3), "slcp": (1,)}
LABELS = {
    "NPE": "npe", "SNPE": "snpe_c", "NLE": "nle", "SNLE": "snle", "NRE": "nre", "SNRE": "snre",
    "SMC-ABC": "smc_abc",
}  # fmt: skip
"""What the campaign calls our algorithms with their default settings."""

PAIRS = {
    "npe": ("sbi_npe", "bayesflow_npe", "sbi_fmpe", "sbi_npse"),
    "snpe_c": ("sbi_snpe",),
    "nle": ("sbi_nle",),
    "snle": ("sbi_snle",),
    "nre": ("sbi_nre",),
    "snre": ("sbi_snre",),
    "smc_abc": ("pyabc_smc", "elfi_bolfi"),
    "rf_abc": ("pyabcranger_rf",),
}


def shown(frame: pl.DataFrame, task: str, name: str) -> str:
    """Return C2ST of each observation, and the mean seconds to fit and to sample."""
    rows = frame.filter((pl.col("task") == task) & (pl.col("label") == name))
    cells, seconds = [], []
    for number in TASKS[task]:
        row = rows.filter(pl.col("observation") == number)
        if not len(row):
            cells.append("-")
            continue
        status, c2st = row["status"][0], row["metric.c2st"][0]
        cells.append(f"{c2st:.3f}" if status == "done" else f"{status}")
        seconds.append(row["seconds.fit"][0] + (row["seconds.sample"][0] or 0.0))
    mean = f"{sum(seconds) / len(seconds):.0f}" if seconds else "-"
    return f"{' / '.join(cells)} | {mean}"


def body() -> str:
    """Return the table: ours first, then what the toolboxes have for it."""
    stores = [Results(ROOT / "results" / name) for name in ("paper2021", "toolboxes")]
    frame = (
        pl.concat([table(list(store)) for store in stores], how="diagonal_relaxed")
        .filter(pl.col("budget") == 1000, pl.col("seed") == 0, pl.col("samples") == 10_000)
        .with_columns(pl.col("label").replace(LABELS))
        .unique(["task", "label", "observation"], keep="first", maintain_order=True)
    )
    text = f"| | {' | '.join(f'{task}: C2ST | seconds' for task in TASKS)} |\n"
    text += "|---" * (1 + 2 * len(TASKS)) + "|\n"
    for ours, theirs in PAIRS.items():
        for name in (ours, *theirs):
            label = f"**{name}**" if name == ours else name
            text += f"| {label} | {' | '.join(shown(frame, t, name) for t in TASKS)} |\n"
    return text


def page() -> str:
    """Return the page with the table of the present records."""
    before, rest = PAGE.read_text().split(START)
    return f"{before}{START}\n{body()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page())
