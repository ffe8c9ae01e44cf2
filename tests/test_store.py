import io
import os

import msgspec
import numpy as np
import polars as pl
import pytest
from rich.console import Console

from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report.summary import summary
from sbibench.report.terminal import benchmark_table, failure_table
from sbibench.store.index import everything
from sbibench.store.results import Results
from sbibench.store.table import table


def record(observation=1, status="done", label="A", **more):
    spec = RunSpec(
        task="t",
        task_version=1,
        algorithm="a",
        settings={"k": 1, "nested": {"b": 2.5, "a": None}},
        label=label,
        budget=1000,
        observation=observation,
        seed=0,
    )
    return RunRecord(spec=spec, status=status, reason="because", **more)


def test_the_identity_is_everything_but_the_label():
    a = record().spec
    assert a.id == msgspec.structs.replace(a, label="B").id
    assert a.id == msgspec.structs.replace(a, settings={"nested": {"a": None, "b": 2.5}, "k": 1}).id
    for change in (
        {"seed": 1},
        {"budget": 1},
        {"task_version": 2},
        {"settings": {}},
        {"samples": 1},
    ):
        assert msgspec.structs.replace(a, **change).id != a.id


def test_an_identity_is_the_same_for_ever():
    assert record().spec.id == "19674d515f047adc"


def test_what_is_written_is_read_back(tmp_path):
    results = Results(tmp_path / "deep" / "results")
    samples = np.arange(6, dtype=np.float32).reshape(3, 2)
    results.write(record(metrics={"c2st": 0.5}), samples)
    run_id = record().spec.id
    assert results.read(run_id).metrics == {"c2st": 0.5}
    np.testing.assert_array_equal(results.samples(run_id), samples)
    assert list(results) == [results.read(run_id)]
    assert results.read("0" * 16) is None
    assert results.samples("0" * 16) is None


def test_a_later_failure_does_not_keep_the_samples_of_a_success(tmp_path):
    results = Results(tmp_path)
    results.write(record(status="timeout"), np.zeros((2, 2)))
    results.write(record(status="failed"), None)
    assert results.samples(record().spec.id) is None


def test_what_cannot_be_written_is_known_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="can't write to"):
        Results(tmp_path / "file" / "results").prepare()


def test_other_settings_under_one_label_are_another_cell():
    one = record(1, metrics={"c2st": 0.5})
    spec = msgspec.structs.replace(one.spec, settings={"k": 2})
    other = msgspec.structs.replace(one, spec=spec, metrics={"c2st": 0.9})
    assert sorted(summary(table([one, other]))["c2st"]) == [0.5, 0.9]


def test_names_and_reasons_are_text_not_markup():
    runs = table([record(status="failed", label="[red]a[/] [n, 2] b[/x]")])
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(benchmark_table(summary(runs)))
    console.print(failure_table(runs))
    assert console.export_text().count("[red]a[/] [n, 2] b[/x]") == 2


def test_a_failing_write_leaves_the_old_files_and_no_rubbish(tmp_path, monkeypatch):
    results = Results(tmp_path)
    results.write(record(metrics={"c2st": 0.5}), np.zeros((2, 2)))
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space"):
        results.write(record(metrics={"c2st": 0.9}), np.ones((2, 2)))
    assert results.read(record().spec.id).metrics == {"c2st": 0.5}
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


def test_what_a_killed_process_left_half_written_is_swept_up(tmp_path):
    results = Results(tmp_path)
    results.write(record(), np.zeros((2, 2)))
    old, new = tmp_path / "samples" / ".tmp1", tmp_path / "records" / ".tmp2"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    results.prepare()
    assert not old.exists()
    assert new.exists()  # perhaps somebody is writing it
    assert len(list(results)) == 1


def test_a_damaged_record_counts_as_missing_and_is_named(tmp_path):
    results = Results(tmp_path)
    results.write(record(1), None)
    results.write(record(2), None)
    path = tmp_path / "records" / f"{record(1).spec.id}.json"
    path.write_bytes(path.read_bytes()[:40])
    assert [r.spec.observation for r in results] == [2]
    runs, damaged = everything(results)
    assert (runs["observation"].to_list(), damaged) == ([2], [path])


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is a file"):
        Results(tmp_path / "file")


def test_the_summary_averages_over_observations_and_counts_failures():
    records = [
        record(1, metrics={"c2st": 0.5}, seconds={"fit": 1.0, "sample": 2.0}),
        record(2, metrics={"c2st": 0.7}, seconds={"fit": 3.0, "sample": 0.0}),
        record(3, status="failed"),
    ]
    runs = table(records)
    assert runs.height == 3
    assert runs.filter(pl.col("observation") == 3)["metric.c2st"].item() is None
    cell = summary(runs).to_dicts()[0]
    assert (cell["runs"], cell["failed"]) == (3, 1)
    np.testing.assert_allclose([cell["c2st"], cell["c2st.sd"]], [0.6, np.sqrt(0.02)])


def test_an_empty_store_is_an_empty_table():
    assert table([]).height == 0
    assert summary(table([])).height == 0
