import random
import shutil
import subprocess
import sys

import msgspec
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sbibench.core.run import RunRecord, RunSpec
from sbibench.store.index import everything, strangers
from sbibench.store.merge import merge
from sbibench.store.results import Results
from sbibench.store.table import table


def record(observation=1, seed=0, label="A", status="done", **more):
    spec = RunSpec(
        task=f"task_{seed % 7}", task_version=1, algorithm="a", settings={"k": 1}, label=label,
        budget=1000, observation=observation, seed=seed,
    )  # fmt: skip
    return RunRecord(spec=spec, status=status, reason="because", **more)


@pytest.fixture
def results(tmp_path):
    results = Results(tmp_path / "results")
    for i in range(1, 6):
        results.write(record(i, metrics={"c2st": 0.1 * i}, seconds={"fit": 1.0}), np.ones((2, 2)))
    return results


def check(results, rows):
    """The table is that of the records, by the index and without it."""
    runs, damaged = everything(results)
    assert len(runs) == rows
    assert_frame_equal(runs, table(list(results)))
    again, _ = everything(results)
    assert_frame_equal(runs, again)
    (results.path / "index.parquet").unlink(missing_ok=True)
    anew, _ = everything(results)
    assert_frame_equal(runs, anew)
    return damaged


def path(results, observation):
    return results.records / f"{record(observation).spec.id}.json"


def test_the_index_follows_the_records(results, monkeypatch):
    check(results, 5)
    with monkeypatch.context() as patch:
        patch.setattr(Results, "read", lambda *_: pytest.fail("a record was read again"))
        everything(results)
    results.write(record(6, metrics={"mmd": 1.0}, errors={"mmd": 0.5}), None)  # new columns
    everything(results)
    check(results, 6)
    results.update(record(6))  # they are gone
    everything(results)
    check(results, 6)
    path(results, 1).unlink()
    everything(results)
    check(results, 5)


def test_a_truncated_record_is_named_until_it_is_whole(results):
    everything(results)
    whole = path(results, 2).read_bytes()
    path(results, 2).write_bytes(whole[:50])
    assert check(results, 4) == [path(results, 2)]
    path(results, 2).write_bytes(whole)
    assert check(results, 5) == []


@pytest.mark.parametrize("content", [b"", b"no parquet", None])
def test_a_wrong_index_is_made_anew(results, content):
    everything(results)
    index = results.path / "index.parquet"
    index.write_bytes(index.read_bytes()[:-20] if content is None else content)
    check(results, 5)
    old = pl.DataFrame({"id": ["a"], "file.time": [1], "file.size": [2]})
    old.write_parquet(index)  # as another version may have written it
    check(results, 5)


def test_copies_of_records_do_not_count_and_are_named(results):
    whole = path(results, 2).read_bytes()
    run = path(results, 2).stem
    endings = (" (1).json", ".json.bak", ".json.bak.json")
    copies = [results.records / f"{run}{ending}" for ending in endings]
    for copy in copies:
        copy.write_bytes(whole)
    assert check(results, 5) == []
    assert strangers(results) == sorted(copies)


def test_an_index_copied_from_another_store_misleads_nobody(results, tmp_path):
    other = Results(tmp_path / "other")
    other.write(record(1, metrics={"c2st": 0.9}), None)
    other.write(record(8), None)
    everything(other)
    everything(results)
    shutil.copytree(other.path, results.path, dirs_exist_ok=True)  # the times are copied, too
    check(results, 6)
    assert results.read(record(1).spec.id).metrics == {"c2st": 0.9}


def test_a_store_that_cannot_be_written_to_is_read(results, monkeypatch):
    def refused(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sbibench.store.index.write_whole", refused)
    assert len(everything(results)[0]) == 5


def test_no_store_is_an_empty_table_and_is_not_made(tmp_path):
    runs, damaged = everything(Results(tmp_path / "none"))
    assert_frame_equal(runs, table([]))
    assert damaged == []
    assert not (tmp_path / "none").exists()


def test_merging_keeps_what_is_done(results, tmp_path):
    other = Results(tmp_path / "other")
    other.write(record(1, metrics={"c2st": 0.9}), np.zeros((2, 2)))
    other.write(record(7), np.full((2, 2), 7.0))
    results.write(record(8, status="failed"), None)
    other.write(record(8), np.full((2, 2), 8.0))
    results.write(record(9), np.full((2, 2), 9.0))
    other.write(record(9, status="failed"), None)
    assert merge(results, other) == 2
    assert results.read(record(1).spec.id).metrics == {"c2st": 0.1}
    for i in (7, 8, 9):
        assert results.read(record(i).spec.id).status == "done"
        assert results.samples(record(i).spec.id)[0, 0] == i
    assert merge(results, other) == 0


def test_samples_that_are_cut_short_count_as_none(results):
    run_id = record(1).spec.id
    file = results.path / "samples" / f"{run_id}.npz"
    whole = file.read_bytes()
    assert results.has_samples(run_id)
    for size in (0, 10, len(whole) // 2, len(whole) - 5):
        file.write_bytes(whole[:size])
        assert results.samples(run_id) is None
        assert not results.has_samples(run_id)


def used(command):
    """Return the seconds of computing and the most memory, in bytes, that a command takes."""
    code = (
        "import os, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "import resource; u = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(u.ru_utime + u.ru_stime, u.ru_maxrss)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, capture_output=True, text=True
    )
    seconds, kilobytes = map(float, run.stdout.split())
    return seconds, kilobytes * 1024


def test_twenty_thousand_records_are_shown_in_two_seconds(tmp_path):
    rng = random.Random(0)
    (tmp_path / "records").mkdir()
    for seed in range(2000):
        for observation in range(1, 11):
            made = record(
                observation, seed, f"algorithm {seed % 11}", info={"epochs": 10, "loss": 1.5},
                metrics={"c2st": rng.random(), "mmd": rng.random()}, errors={"c2st": 0.01},
                seconds=dict.fromkeys(("fit", "sample", "compile", "simulate"), 1.0),
            )  # fmt: skip
            encoded = msgspec.json.format(msgspec.json.encode(made), indent=1)
            (tmp_path / "records" / f"{made.spec.id}.json").write_bytes(encoded)
    show = [sys.executable, "-m", "sbibench.cli", "results", "show", str(tmp_path)]
    first = used(show)
    assert first[0] < 8  # reads them all
    then = min(used(show) for _ in range(3))
    assert then[0] < 2
    assert max(first[1], then[1]) < 2**30
    assert everything(Results(tmp_path))[0].height == 20_000
