"""Whatever a run does to its process, it has a record, and the others go on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import light
from sbibench.core.errors import EngineError, UsageError
from sbibench.core.run import RunRecord, RunSpec
from sbibench.runner import process
from sbibench.runner.limits import Limits
from sbibench.runner.supervise import supervised
from sbibench.runner.todo import Work

PATIENT = Limits(hard=60)
HASTY = Limits(hard=1)


@pytest.fixture(autouse=True)
def light_processes(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr(process, "_MAIN", light.MAIN)
    yield
    process.dismiss()
    assert not psutil.Process().children()


def spec(observation=1, **does):
    return RunSpec(
        task="t", task_version=1, algorithm="a", settings=does, label="a", budget=1,
        observation=observation, seed=0, share_fit=True,
    )  # fmt: skip


def outcome(specs, limits=PATIENT, metrics=(), wanted=lambda: True):
    group = [Work(s) for s in specs]
    records = [record for record, _ in supervised(group, metrics, limits, wanted)]
    assert [r.spec for r in records] == specs
    return records


@pytest.mark.parametrize(
    ("does", "limits", "status", "reason"),
    [
        ("spin", HASTY, "timeout", "killed after 1 s, the hard limit"),
        ("sleep", HASTY, "timeout", "killed after 1 s, the hard limit"),
        ("eat", Limits(memory=0.25), "out_of_memory", "more memory than its limit, 0.25 GiB"),
        ("exit", PATIENT, "failed", "ended by itself, with exit status 7"),
        ("die", PATIENT, "failed", "killed by SIGKILL, twice"),
    ],
)
def test_a_run_that_ends_its_process_is_recorded(does, limits, status, reason):
    (record,) = outcome([spec(fit=does)], limits, ["m"])
    assert record.status == status
    assert reason in record.reason
    assert record.missing == {"m": "the run has no samples"}
    assert record.versions["light"]
    assert set(record.seconds) == {"fit"}
    assert record.finished
    (record,) = outcome([spec()])
    assert record.status == "done"


def test_one_process_does_one_thing_after_the_other():
    records = outcome([spec()]) + outcome([spec(1), spec(2)])
    assert len({r.versions["light"] for r in records}) == 1


def test_a_process_that_is_killed_from_outside_is_replaced(tmp_path):
    (record,) = outcome([spec(fit=f"die once {tmp_path / 'died'}")])
    assert record.status == "done"
    assert (tmp_path / "died").exists()


def test_an_idle_process_that_is_killed_is_replaced():
    pids = set()
    for _ in range(2):
        (record,) = outcome([spec()])
        pids.add(record.versions["light"])
        os.kill(int(record.versions["light"]), signal.SIGKILL)
    assert len(pids) == 2


def test_a_process_that_keeps_too_much_memory_is_replaced(monkeypatch):
    outcome([spec()])
    before = process._idle[None][0]
    outcome([spec()], Limits(memory=1))
    assert process._idle[None] == [before]
    outcome([spec()], Limits(memory=1.5 * before.memory / 2**30))
    assert process._idle[None] != [before]


def test_a_fit_that_ends_the_process_is_lost_to_all_that_share_it():
    records = outcome([spec(1, fit="exit"), spec(2), spec(3)])
    assert [r.status for r in records] == ["failed"] * 3


def test_sampling_that_ends_the_process_is_lost_alone():
    records = outcome([spec(1), spec(2, sample="exit"), spec(3)])
    assert [r.status for r in records] == ["done", "failed", "done"]
    assert set(records[1].seconds) == {"sample"}


def test_a_metric_that_ends_the_process_costs_only_itself():
    records = outcome([spec(1, b="spin"), spec(2)], HASTY, ["a", "b", "c"])
    assert [r.status for r in records] == ["done", "done"]
    assert set(records[0].metrics) == {"a", "c"}
    assert records[0].missing == {"b": "killed after 1 s, the hard limit"}
    assert set(records[1].metrics) == {"a", "b", "c"}


def test_a_record_to_complete_keeps_what_it_has():
    known = RunRecord(spec=spec(a="exit"), status="done", reason="r", calls=5, metrics={"x": 2.0})
    ((record, _),) = supervised([Work(known.spec, known)], ["x", "a"], PATIENT, lambda: True)
    assert (record.status, record.calls, record.metrics) == ("done", 5, {"x": 2.0})
    assert "exit status 7" in record.missing["a"]


def test_what_nobody_wants_is_ended_at_once():
    start = time.monotonic()
    with pytest.raises(process.Unwanted):
        outcome([spec(fit="spin")], wanted=lambda: time.monotonic() < start + 1)


def gone(pid):
    """Return whether a process ends within a few seconds."""
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.1)
    return False


def test_what_a_process_has_started_is_killed_with_it(tmp_path):
    outcome([spec(fit=f"parent {tmp_path / 'pids'}")], HASTY)
    assert all(gone(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_a_process_dies_with_the_one_that_watches_it(tmp_path):
    code = (
        "import sys; sys.path.insert(0, {folder!r}); "
        "import light, test_supervise as t; from sbibench.runner import process; "
        "process._MAIN = light.MAIN; t.outcome([t.spec(fit='parent {pids}')])"
    ).format(folder=str(Path(__file__).parent), pids=tmp_path / "pids")
    watcher = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text():
        assert watcher.poll() is None
        time.sleep(0.05)
    pid, child = map(int, (tmp_path / "pids").read_text().split())
    assert psutil.pid_exists(pid)
    watcher.kill()
    watcher.wait()
    assert gone(pid)  # in a loop in C
    os.kill(child, signal.SIGKILL)


def test_a_process_that_cannot_start_is_no_fault_of_the_run(monkeypatch):
    monkeypatch.setattr(process, "_MAIN", "raise SystemExit(3) # {path} {pipe} {lifeline}")
    with pytest.raises(EngineError, match=r"can.t start.*exit status 3"):
        outcome([spec()])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"time": 0}, "a time limit is a positive number of seconds, not 0"),
        ({"memory": -1.0}, "a memory limit is a positive number of GiB"),
        ({"time": 10.0, "hard": 10.0}, "longer than the time limit of 10 s"),
    ],
)
def test_impossible_limits_are_refused(limits, message):
    with pytest.raises(UsageError, match=message):
        Limits(**limits)


def test_a_time_limit_brings_a_hard_one():
    assert Limits(time=100).hard == 260
    assert Limits(time=100, hard=101).hard == 101
    assert Limits().hard is None
