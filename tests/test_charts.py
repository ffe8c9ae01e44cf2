"""Cells, ranks and charts of many runs."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report import plot
from sbibench.report.cells import cells, checked, metrics, named
from sbibench.report.intervals import intervals
from sbibench.report.ranks import mean_ranks
from sbibench.report.shades import CIVIDIS, shade
from sbibench.report.timing import timed
from sbibench.store.table import table


def record(label, c2st, task="two_moons", budget=1000, observation=1, hidden=50, status="done"):
    spec = RunSpec(
        task=task, task_version=1, algorithm="npe", settings={"hidden": hidden}, label=label,
        budget=budget, observation=observation, seed=0,
    )  # fmt: skip
    told = {"c2st": c2st, "c2st.auc": 0.7} if status == "done" else {}
    return RunRecord(
        spec=spec, status=status, reason="x", metrics=told, errors={"c2st": 0.003} if told else {},
        seconds={"fit": budget / 100, "sample": 1.0, "metrics": 50.0},
    )  # fmt: skip


RUNS = table(
    [
        record(label, c2st + 0.02 * o + bias, task, budget, o)
        for label, c2st in (("NPE", 0.6), ("NLE", 0.7), ("ABC", 0.9))
        for task, bias in (("two_moons", 0.0), ("slcp", 0.03))
        for budget in (1000, 10_000)
        for o in (1, 2, 3)
    ]
)


def test_metrics_come_without_what_they_tell_besides_and_c2st_first():
    assert metrics(RUNS) == ["c2st"]
    assert metrics(RUNS.with_columns(pl.lit(1.0).alias("metric.a"))) == ["c2st", "a"]


def test_results_without_any_metric_say_what_judges_them():
    with pytest.raises(UsageError, match=r"has a metric: .* sb\.compare"):
        checked(pl.DataFrame({"task": ["mine"], "label": ["NPE"]}), "c2st")


def test_a_metric_with_the_name_of_the_time_of_runs_is_refused():
    assert metrics(timed(RUNS)) == ["c2st", "seconds"]
    assert timed(RUNS)["metric.seconds"].to_list() == [b / 100 + 1 for b in RUNS["budget"]]
    with pytest.raises(UsageError, match=r"called 'seconds'.*another name"):
        timed(RUNS.with_columns(pl.lit(0.5).alias("metric.seconds")))


def test_text_on_a_heat_map_has_the_ink_of_the_site():
    values = {f"m{i}": 0.5 + i / 40 for i in range(21)}
    runs = table([record(n, v, hidden=i) for i, (n, v) in enumerate(values.items())])
    spec = plot.heatmap(runs).to_dict()
    drawn = {d["name"]: d["ink"] for data in spec["datasets"].values() for d in data if "ink" in d}
    assert drawn == {n: shade(2 * v - 1)[1] for n, v in values.items()}
    assert set(drawn.values()) == {"#000000", "#ffffff"}
    colour = spec["layer"][1]["encoding"]["color"]
    assert colour["condition"]["value"] == "#ffffff"
    assert colour["condition"]["test"] == "datum.ink === '#ffffff'"


def test_a_label_with_other_settings_is_another_name():
    runs = table([record("NPE", 0.5), record("NPE", 0.6, hidden=100), record("NLE", 0.7)])
    found = dict(named(runs).select("settings", "name").rows())
    assert found['{"hidden":50}'] in {"NLE", "NPE (2)"}
    assert set(named(runs)["name"]) == {"NLE", "NPE", "NPE (2)"}


def test_cells_have_students_interval():
    found = intervals(cells(RUNS, "c2st"), "c2st")
    cell = found.row(
        by_predicate=(pl.col("name") == "NPE") & (pl.col("task") == "slcp")
        & (pl.col("budget") == 1000), named=True,
    )  # fmt: skip
    values = [0.65, 0.67, 0.69]
    expected = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (cell["low"], cell["high"]) == pytest.approx(expected)
    assert cell["error"] == pytest.approx(0.003 / 3**0.5)
    assert cell["seconds"] == pytest.approx(11)
    alone = intervals(cells(table([record("NPE", 0.5)]), "c2st"), "c2st")
    assert alone["low"].to_list() == [None]


def test_ranks_are_within_observations_that_all_were_run_on():
    ranks, blocks = mean_ranks(RUNS, "c2st", 1000)
    assert blocks == 6
    assert list(ranks) == ["NPE", "NLE", "ABC"]
    assert [r.mean for r in ranks.values()] == [1, 2, 3]
    assert all(r.low == r.high == r.mean for r in ranks.values())
    fewer = RUNS.filter((pl.col("label") != "ABC") | (pl.col("observation") == 1))
    assert mean_ranks(fewer, "c2st", 1000)[1] == 2
    assert mean_ranks(RUNS.filter(pl.col("label") == "NPE"), "c2st", 1000) == ({}, 0)


def test_a_failed_run_ranks_last_and_intervals_are_over_tasks():
    runs = table(
        [record("A", 0.5, t, observation=o) for t in "xy" for o in (1, 2)]
        + [record("B", 0.6, "x", observation=o) for o in (1, 2)]
        + [
            record("B", 0.4, "y", observation=1),
            record("B", 0, "y", observation=2, status="failed"),
        ]
    )
    ranks, _ = mean_ranks(runs, "c2st", 1000)
    assert ranks["A"].mean == pytest.approx((1 + 1.5) / 2)
    # Of resamples of tasks and observations 1 in 64 has mean 2, 1 in 16 has 1.75.
    assert (ranks["A"].low, ranks["A"].high) == (1, 1.75)


def test_colours_get_lighter_in_even_steps_and_text_can_be_read():
    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    at = np.linspace(0, 1, 41)
    shown = [shade(v) for v in at]
    lightness = [116 * luminance(c) ** (1 / 3) - 16 for c, _ in shown]
    assert (np.diff(lightness) > 0).all()
    assert max(np.diff(lightness)) < 2.5 * np.mean(np.diff(lightness))
    for colour, ink in shown:
        one, other = sorted([luminance(colour), luminance(ink)])
        assert (other + 0.05) / (one + 0.05) > 4.5
    assert (shade(-1)[0], shade(2)[0]) == (CIVIDIS[0], CIVIDIS[-1])


def test_a_heat_map_says_why_cells_have_no_value():
    runs = table(
        [record("A", 0.5, t) for t in "xy"]
        + [record("B", 0.6, "x"), record("C", 0, "y", status="failed")]
    )
    told = [d for d in plot.heatmap(runs).to_dict()["datasets"].values() if "mean" not in d[0]]
    assert [tuple(r.values()) for r in told[0]] == [
        ("x", "C", "not run"),
        ("y", "B", "not run"),
        ("y", "C", "failed"),
    ]


@pytest.mark.parametrize(
    "chart",
    [
        lambda: plot.metric(RUNS, "slcp"),
        lambda: plot.metric(RUNS.filter(pl.col("budget") == 1000), "slcp"),
        lambda: plot.heatmap(RUNS),
        lambda: plot.heatmap(RUNS, budget=1000),
        lambda: plot.cost(RUNS),
        lambda: plot.cost(RUNS, "slcp"),
    ],
)
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_charts_are_drawn_offline(chart, kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    chart().save(path)
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot.metric(RUNS, "slpc"), "slcp"),
        (lambda: plot.metric(RUNS, "slcp", "c2s"), "c2st"),
        (lambda: plot.heatmap(RUNS, "mmd"), "c2st"),
        (lambda: plot.cost(RUNS, "none"), "two_moons"),
        (lambda: plot.metric(RUNS.clear(), "slcp"), "no runs"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(draw, message):
    with pytest.raises(UsageError, match=message):
        draw()
