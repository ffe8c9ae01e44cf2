import msgspec
import numpy as np
import polars as pl
import pytest

from sbibench.core.errors import UsageError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report.summary import summary
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


def test_a_damaged_record_counts_as_missing_and_is_named(tmp_path):
    results = Results(tmp_path)
    results.write(record(1), None)
    results.write(record(2), None)
    path = tmp_path / "records" / f"{record(1).spec.id}.json"
    path.write_bytes(path.read_bytes()[:40])
    assert [r.spec.observation for r in results] == [2]
    assert results.damaged() == [path]


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
