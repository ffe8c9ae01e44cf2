"""What was written by an older version is read for ever: `tests/data` holds a store of each."""

import shutil
from pathlib import Path

import pytest

from sbibench.report.summary import summary
from sbibench.runner.todo import unfinished
from sbibench.store.index import everything
from sbibench.store.results import Results

STORES = {
    # format: hash of its run, status, calls, a metric and its value, rows of samples
    1: ("037ca09ef1f9ccd9", "done", 1000, "c2st", 0.8677000999450684, None),
    2: ("0ff53987d3bd07d7", "done", 200, "mmd", 0.02370967734192675, 20),
}


@pytest.mark.parametrize("number", STORES)
def test_a_store_of_every_format_is_read(number, tmp_path):
    shutil.copytree(Path(__file__).parent / "data" / f"store_{number}", tmp_path / "store")
    run_id, status, calls, metric, value, rows = STORES[number]
    results = Results(tmp_path / "store")
    record = results.read(run_id)
    assert record.spec.id == run_id  # the run is known as the one it was
    assert (record.status, record.calls) == (status, calls)
    assert record.metrics == {metric: value}
    assert {"sbibench", "jax", "numpy"} <= set(record.versions)
    samples = results.samples(run_id)
    assert (None if samples is None else len(samples)) == rows
    assert unfinished([record.spec], [metric], results) == []
    runs, damaged = everything(results)
    assert (runs["id"].to_list(), damaged) == ([run_id], [])
    assert summary(runs)[metric].to_list() == [value]
    results.update(record)
    assert results.read(run_id) == record


def test_every_format_is_tested():
    stores = (Path(__file__).parent / "data").glob("store_*")
    assert {int(path.name.removeprefix("store_")) for path in stores} == set(STORES)
