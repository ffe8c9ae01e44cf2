"""Results against published figures and against files of runs."""

import json

import polars as pl
import pytest

from sbibench.cli import app
from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report import published
from sbibench.report.compare import compare, verdict
from sbibench.store.results import Results
from sbibench.store.table import table

CELL = ("two_moons", "NPE", 1000)


def record(
    c2st, observation, label="NPE", status="done", task="two_moons", error=None, settings=None
):
    spec = RunSpec(
        task=task, task_version=1, algorithm="npe", settings=settings or {}, label=label,
        budget=1000, observation=observation, seed=0,
    )  # fmt: skip
    metrics = {} if c2st is None else {"c2st": c2st}
    errors = {} if error is None else {"c2st": error}
    return RunRecord(spec=spec, status=status, reason="x", metrics=metrics, errors=errors)


def others(mean, sd, n=10):
    return pl.DataFrame(
        {"task": ["two_moons"], "label": ["NPE"], "budget": [1000], "n": [n], "c2st": [mean]}
        | {"c2st.sd": [sd]},
        schema_overrides={"c2st.sd": pl.Float64},
    )


def test_algorithms_that_the_main_table_lacks_have_the_figures_of_the_supplement():
    cells = published.of_all()
    assert cells.equals(pl.concat([published.cells(), cells[240:]]))
    assert set(cells[240:]["label"]) == {"RF-ABC", "SL"}
    at = _is("slcp", "RF-ABC", 1000)
    figure = published.table("supplement_rf_abc").row(
        by_predicate=_is("slcp", "RF-ABC", 1000, "algorithm"), named=True
    )
    assert cells.row(by_predicate=at, named=True)["c2st"] == figure["c2st_mean"]


@pytest.mark.parametrize("study", published.studies())
def test_every_published_table_has_cells_with_plausible_figures(study):
    cells = published.cells(study)
    assert len(cells) == len(cells.unique(["task", "label", "budget"]))
    assert cells["c2st"].is_between(0.49, 1).all()
    assert (cells["c2st.sd"] < 0.25).all()
    assert set(cells["budget"]) <= {10**3, 10**4, 10**5, 10**8}


def _is(task, label, budget, column="label"):
    return (pl.col("task") == task) & (pl.col(column) == label) & (pl.col("budget") == budget)


def test_the_corrected_task_has_the_figures_of_its_rerun():
    cells = published.cells()
    assert len(cells) == 240
    ours = cells.row(by_predicate=_is("gaussian_mixture", "NPE", 1000), named=True)
    at = _is("gaussian_mixture", "NPE", 1000, "algorithm")
    rerun = published.table("gaussian_mixture_rerun").row(by_predicate=at, named=True)
    before = published.table("main_paper").row(by_predicate=at, named=True)
    assert ours["c2st"] == rerun["c2st_mean"] != before["c2st_mean"]


@pytest.mark.parametrize(
    ("values", "sd", "expected"),
    [
        ([0.6, 0.7], 0.1, "equal"),  # 0.1 above, 1.3 standard errors
        ([0.6, 0.7], 0.05, "worse"),
        ([0.4, 0.5], 0.05, "better"),
        ([0.55, 0.55], 0.0, "equal"),
        ([0.6, 0.7], None, "unknown"),
    ],
)
def test_a_verdict_is_by_the_standard_error_of_the_difference(values, sd, expected):
    runs = table([record(value, i + 1) for i, value in enumerate(values)])
    found = compare(runs, others(0.55, sd)).row(0, named=True)
    mean = sum(values) / 2
    assert found["verdict"] == expected
    assert (found["n"], found["ours"]) == (2, pytest.approx(mean))
    assert found["difference"] == pytest.approx(mean - 0.55)
    if sd:
        assert found["in_spreads"] == pytest.approx((mean - 0.55) / sd)


def test_the_error_of_measuring_is_that_of_the_mean_of_the_runs_that_tell_theirs():
    runs = [record(0.5, 1, error=0.03), record(0.6, 2, error=0.04)]
    assert compare(table(runs), others(0.5, 0.1))["error"][0] == pytest.approx(0.025)
    more = table([*runs, record(0.6, 3)])
    assert compare(more, others(0.5, 0.1))["error"][0] == pytest.approx(0.025)


def test_runs_that_failed_and_cells_that_only_one_has_do_not_count():
    runs = table(
        [
            record(0.5, 1),
            record(None, 2, status="failed"),
            record(0.9, 1, label="mine"),
            record(0.9, 1, task="slcp"),
        ]
    )
    found = compare(runs, others(0.5, 0.1))
    assert found.select("task", "label", "budget").rows() == [CELL]
    assert found["n"].to_list() == [1]
    assert verdict(found) == "1 cells: 1 equal; on average 0.000 above theirs"
    assert "no cell" in verdict(found.clear())


def test_a_run_without_a_label_is_found_by_its_algorithm():
    assert compare(table([record(0.5, 1, label="npe")]), others(0.5, 0.1))["label"][0] == "NPE"


def theirs(*rows):
    return pl.DataFrame(
        [
            {"task": "two_moons", "label": label, "budget": 1000, "n": 1, "c2st": 0.5} | more
            for label, more in rows
        ]
    )


def told(ours, others):
    found = compare(table(ours), others, by_algorithm=True)
    return sorted(found.select("label", "their_label", "matched").rows())


def test_labels_that_differ_meet_by_algorithm():
    ours = [record(0.5, 1, label="npe hidden=20"), record(0.5, 1, label="mine", task="slcp")]
    assert told(ours, theirs(("NPE", {}))) == [("npe hidden=20", "NPE", "algorithm")]
    assert "1 matched by algorithm" in verdict(
        compare(table(ours), theirs(("NPE", {})), by_algorithm=True)
    )
    assert not len(compare(table(ours), theirs(("NPE", {}))))  # only where it is wanted
    assert told(ours, theirs(("SNPE", {}))) == []
    # One that meets by its label leaves nothing to the others.
    both = [*ours, record(0.7, 1, label="npe")]
    assert told(both, theirs(("npe", {}))) == [("NPE", "NPE", "label")]


def test_of_several_settings_of_ours_none_is_the_one_of_theirs():
    ours = [record(0.5, 1, label=f"npe hidden={n}", settings={"hidden": n}) for n in (20, 50)]
    assert told(ours, theirs(("NPE", {}))) == []
    assert told(ours[:1], theirs(("NPE", {}))) == [("npe hidden=20", "NPE", "algorithm")]
    labels = [record(0.5, 1, label=label) for label in ("one", "two")]
    assert told(labels, theirs(("NPE", {}))) == []
    # By its label one of several is meant.
    assert told([*ours, record(0.7, 1, label="npe")], theirs(("NPE", {}))) == [
        ("NPE", "NPE", "label")
    ]


def test_settings_decide_where_they_are_known():
    ours = [record(0.5, 1, label="mine")]
    known = {"algorithm": "npe", "settings": "{}"}
    other = {"algorithm": "npe", "settings": '{"a":1}'}
    assert told(ours, theirs(("b", known), ("c", other))) == [("mine", "b", "settings")]
    assert told(ours, theirs(("c", other))) == [("mine", "c", "algorithm")]
    two = [("c", other), ("d", other | {"settings": "x"})]
    assert told(ours, theirs(*two)) == []  # it could be either
    assert told(ours, theirs(("mine", known), ("mine", other))) == [("mine", "mine", "label")]


def test_two_directories_of_results_are_compared(tmp_path, capsys):
    for name, label, value in (("a", "mine", 0.9), ("b", "theirs", 0.6)):
        Results(tmp_path / name).write(record(value, 1, label=label), None)
    _run(tmp_path / "a", "--with", tmp_path / "b", "--json")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["label"], row["their_label"], row["matched"]) == ("mine", "theirs", "settings")
    assert row["difference"] == pytest.approx(0.3)
    _run(tmp_path / "a", "--with", tmp_path / "b")
    assert "1 matched by algorithm, not by label" in " ".join(capsys.readouterr().out.split())


def test_a_file_of_runs_is_read_whatever_its_numbers_look_like(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(
        "task,num_simulations,num_observation,algorithm,C2ST,MMD,RT\n"
        "two_moons,10³,1,NPE,0.6,0.1,9\ntwo_moons,10^3,2,NPE,0.8,0.3,9\n"
        "two_moons,1e4,1,NPE,0.5,,9\ntwo_moons,10⁵,1,NPE,0.5,0,9\n"
    )
    cells = published.read_runs(path)
    assert cells["budget"].to_list() == [10**3, 10**4, 10**5]
    assert cells["n"].to_list() == [2, 1, 1]
    assert cells["c2st"][0] == pytest.approx(0.7)
    assert cells["c2st.sd"][0] == pytest.approx(0.1 * 2**0.5)
    found = compare(table([record(0.6, 1)]), cells)
    assert found["verdict"].to_list() == ["equal"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task,algorithm\na,b\n", "lacks num_simulations"),
        ("task,algorithm,num_simulations\na,b,1\n", "lacks a metric"),
        ("task,algorithm,num_simulations,C2ST\na,b,many,0.5\n", "line 2: num_simulations 'many'"),
        ("task,algorithm,num_simulations,C2ST\na,b,,0.5\n", "line 2: num_simulations"),
        ("task,algorithm,num_simulations,C2ST\na,b,1000.7,0.5\n", "line 2: num_simulations"),
        ("task,algorithm,num_simulations,C2ST\na,b,9^99,0.5\n", "line 2: num_simulations"),
        ("task,algorithm,num_simulations,C2ST\na,b,-1,0.5\n", "line 2: num_simulations"),
        ("task,algorithm,num_simulations,C2ST\na,b,1,1\na,b,1,xx\n", "line 3: C2ST is not"),
        ("task,algorithm,num_simulations,C2ST\na,b,1,nan\n", "line 2: C2ST is not"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        published.read_runs(tmp_path / "bad.csv")


def test_a_file_without_a_value_has_no_cell(tmp_path):
    for rows in ("", "a,b,1000,\n"):
        (tmp_path / "empty.csv").write_text("task,algorithm,num_simulations,C2ST\n" + rows)
        assert published.read_runs(tmp_path / "empty.csv").height == 0


def _run(*arguments):
    app(
        ["compare", *map(str, arguments)],
        exit_on_error=False,
        print_error=False,
        result_action="return_value",
    )


def test_the_command_prints_a_table_or_json(tmp_path, capsys):
    Results(tmp_path).write(record(0.9, 1), None)
    _run(tmp_path, "--json")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["task"], row["label"], row["verdict"]) == ("two_moons", "NPE", "worse")
    _run(tmp_path)
    assert "1 worse" in capsys.readouterr().out
    with pytest.raises(UsageError, match="metric 'foo', but c2st, mmd, meddist"):
        _run(tmp_path, "--metric", "foo")
    with pytest.raises(UsageError, match="main_paper"):
        _run(tmp_path, "--study", "main_papers")
    with pytest.raises(UsageError, match="rescore"):
        _run(tmp_path, "--metric", "mmd")
