"""The table that people read."""

import io

import numpy as np
from rich.console import Console

from sbibench.core.run import RunRecord, RunSpec
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table
from sbibench.store.table import table


def record(observation, metrics, errors):
    spec = RunSpec(
        task="two_moons", task_version=1, algorithm="npe", settings={}, label="NPE", budget=1000,
        observation=observation, seed=0,
    )  # fmt: skip
    return RunRecord(spec=spec, status="done", reason="x", metrics=metrics, errors=errors)


RUNS = table(
    [
        record(1, {"c2st": 0.5, "c2st.auc": 0.51, "mmd": 0.1}, {"c2st": 0.06}),
        record(2, {"c2st": 0.7, "c2st.auc": 0.75, "mmd": 0.1}, {"c2st": 0.08}),
        record(3, {"c2st": 0.6, "mmd": 0.1}, {}),
    ]
)


def test_the_error_of_a_mean_is_that_of_its_runs_with_an_error():
    cell = summary(RUNS).to_dicts()[0]
    np.testing.assert_allclose(cell["c2st.error"], 0.1 / 2)
    assert summary(RUNS.filter(RUNS["observation"] == 3))["c2st.error"].to_list() == [None]


def test_the_terminal_shows_errors_and_leaves_out_what_is_told_besides():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(benchmark_table(summary(RUNS)))
    text = console.export_text()
    assert "0.600 ± 0.100 (0.05)" in text
    assert "0.1 ± 0" in text
    assert "auc" not in text
