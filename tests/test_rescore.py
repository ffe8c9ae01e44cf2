"""Metrics of samples that are kept, computed later."""

import json

import msgspec
import numpy as np
import pytest

import light
from sbibench.cli import main
from sbibench.core.run import RunRecord
from sbibench.runner import process
from sbibench.runner.judge import judge
from sbibench.store.results import Results


@pytest.fixture
def call(monkeypatch, capsys):
    """Return a function that calls the command line in this process, with light processes."""
    monkeypatch.setattr(process, "_MAIN", light.MAIN)

    def call(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return done.value.code, captured.out, captured.err

    return call


@pytest.fixture
def store(tmp_path):
    results = Results(tmp_path)
    for i, spec in enumerate(light.specs(6)):
        known = RunRecord(
            spec=spec, status="done", reason="r", metrics={"x": float(i)}, missing={"mmd": "none"}
        )
        results.write(known, None if i == 5 else light.drawn(spec))
    return results


def test_metrics_are_computed_from_samples_and_nothing_else_changes(call, store):
    specs = light.specs(6)
    files = {p: p.read_bytes() for p in store.path.rglob("*.npz")}
    code, _, err = call("results", "rescore", store.path, "--metrics", "mmd", "c2st")
    assert code == 0
    assert "6 runs, 5 to judge, 1 without samples" in err
    for i, spec in enumerate(specs[:5]):
        value = float(light.drawn(spec).mean())
        record = store.read(spec.id)
        assert record.metrics == {"x": i, "mmd": value, "c2st": value}
        assert record.missing == {}
    assert store.read(specs[5].id).missing == {"mmd": "none"}
    assert files == {p: p.read_bytes() for p in store.path.rglob("*.npz")}
    code, _, err = call("results", "rescore", store.path, "--metrics", "mmd")
    assert "6 runs, 0 to judge" in err


def test_values_that_are_there_are_computed_again_on_request(call, store):
    spec = light.specs(1)[0]
    store.update(RunRecord(spec=spec, status="done", reason="r", metrics={"mmd": 9.0}))
    call("results", "rescore", store.path, "--metrics", "mmd")
    assert store.read(spec.id).metrics["mmd"] == 9.0
    _, _, err = call("results", "rescore", store.path, "--metrics", "mmd", "--anew")
    assert "5 to judge" in err
    assert store.read(spec.id).metrics["mmd"] == pytest.approx(light.drawn(spec).mean())


def test_a_metric_that_ends_its_process_leaves_the_rest_of_the_record(call, tmp_path):
    spec = light.specs(1, mmd="exit")[0]
    results = Results(tmp_path)
    results.write(RunRecord(spec=spec, status="done", reason="r", calls=7), light.drawn(spec))
    call("results", "rescore", tmp_path, "--metrics", "mmd", "c2st")
    record = results.read(spec.id)
    assert (record.status, record.calls, set(record.metrics)) == ("done", 7, {"c2st"})
    assert "exit status 7" in record.missing["mmd"]
    np.testing.assert_array_equal(results.samples(spec.id), light.drawn(spec))


def test_a_run_whose_metric_fails_is_told_in_one_line_and_by_the_exit_status(call, store):
    specs = [*light.specs(2, mmd="exit"), *light.specs(1)]
    for spec in specs:
        store.write(RunRecord(spec=spec, status="done", reason="r"), light.drawn(spec))
    code, _, err = call("results", "rescore", store.path, "--metrics", "mmd")
    assert code == 1
    told = [line for line in err.splitlines() if line.startswith("no mmd of a on t")]
    assert len(told) == 2
    assert all("exit status 7" in line for line in told)
    assert "mmd" in store.read(specs[2].id).metrics


def test_a_task_that_is_gone_is_the_reason_why_there_is_no_metric():
    spec = msgspec.structs.replace(light.specs(1)[0], task="nowhere_at_all:mine")
    known = RunRecord(spec=spec, status="done", reason="r", metrics={"mmd": 0.3, "c2st": 0.5})
    record = judge(known, light.drawn(spec), ["c2st", "ksd"])
    assert record.metrics == {"mmd": 0.3, "c2st": 0.5}
    assert set(record.missing) == {"c2st", "ksd"}
    assert "no module 'nowhere_at_all' can be imported" in record.missing["c2st"]


def test_values_that_cannot_be_computed_again_stay_and_it_is_told_why(call, store):
    spec = light.specs(1, mmd="exit")[0]
    known = RunRecord(
        spec=spec, status="done", reason="r",
        metrics={"mmd": 9.0, "mmd.also": 8.0, "x": 1.0}, errors={"mmd": 0.5},
    )  # fmt: skip
    store.write(known, light.drawn(spec))
    code, _, err = call("results", "rescore", store.path, "--metrics", "mmd", "--anew")
    record = store.read(spec.id)
    assert (record.metrics, record.errors) == (known.metrics, known.errors)
    assert "exit status 7" in record.missing["mmd"]
    assert code == 1
    (line,) = [line for line in err.splitlines() if line.startswith("no mmd of a on t")]
    assert "exit status 7" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metrics", "c2s"], "did you mean 'c2st'"),
        ([], "metrics"),
        (["--metrics", "mmd", "--task", "tt"], "did you mean 't'"),
        (["--metrics", "mmd", "--workers", "0"], "--workers is 1 or more"),
    ],
)
def test_wrong_usage(call, store, arguments, message):
    code, _, err = call("results", "rescore", store.path, *arguments)
    assert code == 2
    assert message in err


def test_without_samples_nothing_can_be_judged(call, tmp_path):
    Results(tmp_path).write(RunRecord(spec=light.specs(1)[0], status="done", reason="r"), None)
    code, _, err = call("results", "rescore", tmp_path, "--metrics", "mmd")
    assert code == 2
    assert "there are no samples in" in err


def test_what_is_shown_and_exported_can_be_chosen(call, store, tmp_path):
    spec = light.specs(8)[7]
    other = RunRecord(spec=spec, status="timeout", reason="slow", metrics={"y": 1.0})
    store.write(other, None)
    code, out, _ = call("results", "show", store.path, "--json", "--status", "done")
    assert code == 0
    (cell,) = json.loads(out)
    assert (cell["runs"], cell["failed"]) == (6, 0)
    code, out, _ = call("results", "show", store.path, "--json", "--metric", "x", "--label", "a")
    (cell,) = json.loads(out)
    assert cell["x"] == 2.5
    assert "y" not in cell
    assert cell["runs"] == 7
    for wrong in (["--metric", "z"], ["--status", "gone"], ["--budget", "2"], ["--algorithm", "b"]):
        code, _, err = call("results", "show", store.path, *wrong)
        assert code == 2
        assert "in these results named" in err
    code, out, _ = call("results", "show", store.path, "--status", "timeout")
    assert "slow" in out
    table = tmp_path / "table.csv"
    code, out, _ = call("results", "export", store.path, "--csv", table, "--status", "timeout")
    assert out == "1 runs written\n"
    assert len(table.read_text().splitlines()) == 2


def test_copies_of_records_are_noted_and_left_out(call, store):
    run = light.specs(1)[0].id
    copy = store.records / f"{run} (1).json"
    copy.write_bytes((store.records / f"{run}.json").read_bytes())
    code, out, err = call("results", "show", store.path, "--json")
    assert code == 0
    assert json.loads(out)[0]["runs"] == 6
    assert f"{run} (1).json is left out" in err


def test_stores_are_merged_from_the_command_line(call, store, tmp_path_factory):
    other = Results(tmp_path_factory.mktemp("other"))
    spec = light.specs(8)[7]
    other.write(RunRecord(spec=spec, status="done", reason="r"), light.drawn(spec))
    code, out, _ = call("results", "merge", store.path, other.path)
    assert code == 0
    assert "1 runs copied" in out.replace("\n", " ")
    assert len(list(store)) == 7
    assert call("results", "merge", store.path)[0] == 2
    assert call("results", "merge", store.path, store.path / "none")[0] == 2
