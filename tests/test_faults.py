"""Whatever dies while a campaign runs, it goes on, and ends as one that was left alone."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

import light
from sbibench.cli import main
from sbibench.core import files
from sbibench.runner import process
from sbibench.runner.suite_file import load as load_suite
from sbibench.store.results import Results

QUICK = {"seconds": 0.05}


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a runner; what it leaves running is a failure."""
    started = []

    def start(n, does=QUICK, scheduler=()):
        command = [sys.executable, light.__file__, tmp_path / "out", str(n), json.dumps(does)]
        runner = subprocess.Popen(
            [*command, *scheduler], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(runner)
        return runner

    yield start
    for runner in started:  # nothing of it is left running, or the test has failed before
        runner.kill()
        runner.communicate()


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def recorded(results):
    return len(list(results.records.glob("[!.]*.json")))


def wait_for(condition, seconds=60):
    for _ in range(seconds * 50):
        if found := condition():
            return found
        time.sleep(0.02)
    return pytest.fail("it never came to that")


def finish(runner, seconds=120):
    out, err = runner.communicate(timeout=seconds)
    assert runner.returncode == 0, err
    assert "Traceback" not in err
    return out


@pytest.mark.slow
def test_a_runner_that_is_killed_at_ten_random_moments(start, results):
    rng, n, before = random.Random(20), 80, 0
    for moment in range(10):
        runner = start(n)
        if moment % 3:  # at work; else perhaps before that
            wait_for(lambda n=before: recorded(results) > n)
        time.sleep(rng.uniform(0, 0.4 if moment % 3 else 2))
        children = psutil.Process(runner.pid).children(recursive=True)
        runner.kill()
        runner.communicate()
        assert not psutil.wait_procs(children, timeout=20)[1]
        before = recorded(results)
    assert 0 < before < n
    assert f"to do {n - before}" in finish(start(n))
    assert light.outcome(results) == light.expected(light.specs(n, **QUICK))


def test_ctrl_c(start, results):
    runner = start(40)
    wait_for(lambda: recorded(results) > 3)
    asked = time.monotonic()
    runner.send_signal(signal.SIGINT)
    _, err = runner.communicate(timeout=30)
    assert time.monotonic() - asked < 10
    assert runner.returncode == 130
    assert err == ""
    finish(start(40))
    assert light.outcome(results) == light.expected(light.specs(40, **QUICK))


def test_ctrl_c_does_not_wait_for_what_never_ends(start, results):
    runner = start(2, {"fit": "spin"})
    wait_for(lambda: psutil.Process(runner.pid).children())
    time.sleep(1)
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=15)
    assert runner.returncode == 130


def test_workers_that_are_killed(start, results):
    runner = start(60)
    for n in (5, 15, 25):
        wait_for(lambda n=n: recorded(results) > n)
        last = max(results.records.glob("[!.]*.json"), key=lambda path: path.stat().st_mtime)
        os.kill(int(results.read(last.stem).versions["light"]), signal.SIGKILL)
    finish(runner)
    assert light.outcome(results) == light.expected(light.specs(60, **QUICK))


def test_two_runners_on_one_store_do_nothing_twice(start, results):
    lines = [line.split() for r in [start(60), start(60)] for line in finish(r).splitlines()]
    assert light.outcome(results) == light.expected(light.specs(60, **QUICK))
    done = {(run, process) for process, run, *_ in lines if len(run) == 16}
    assert len(done) == 60  # what the other runner had done was not done again
    assert len({process for _, process in done}) == 4


def test_a_runner_takes_over_from_one_that_dies(start, results, tmp_path):
    does = {"fit": f"sleep once {tmp_path / 'asleep'}"}
    first = start(2, does)
    wait_for((tmp_path / "asleep").exists)
    second = start(2, does)
    assert second.stdout.readline() == "to do 2\n"
    assert second.stdout.readline() == "waiting for what another runner on these results is doing\n"
    first.kill()
    finish(second)
    assert light.outcome(results) == light.expected(light.specs(2, **does))


def test_records_and_samples_that_are_cut_short(start, results):
    finish(start(10))
    paths = [results.path / f"{kind}/{s.id}.{end}" for s, kind, end in zip(
        light.specs(10, **QUICK), ["records", "samples"] * 5, ["json", "npz"] * 5, strict=True
    )]  # fmt: skip
    for path in paths[:4]:
        path.write_bytes(path.read_bytes()[:-30])
    for record in [r for r in results if r.status == "done"]:
        results.update(record.without(["m"]))  # the samples are needed
    assert "to do 10" in finish(start(10))
    assert light.outcome(results) == light.expected(light.specs(10, **QUICK))


SUITE = """
tasks = ["two_moons"]
budgets = [100]
observations = [1, 2, 3]
seeds = [0, 1]
metrics = ["mmd"]
samples = 100
[[algorithms]]
name = "rej_abc"
"""


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Return a function that calls the command line in this process, with light processes."""
    monkeypatch.setattr(process, "_MAIN", light.MAIN)
    (tmp_path / "suite.toml").write_text(SUITE)

    def call(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return done.value.code, captured.out, captured.err

    return call


@pytest.mark.parametrize("writes", [1, 6, 7, 9])
def test_a_full_disk_ends_the_campaign_in_one_line(call, results, monkeypatch, tmp_path, writes):
    command = ("suite", "run", tmp_path / "suite.toml", "--out", results.path, "--workers", "2")
    left = [writes]

    def full(_):
        left[0] -= 1
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        code, _, err = call(*command)
    assert code == 1
    (line,) = [line for line in err.splitlines() if not line.startswith(("done", "6 runs", "dash"))]
    assert line.startswith("error: can't write")
    assert "No space left on device; mend that, and the same command goes on from here" in line
    there = [p for p in results.path.rglob("*") if p.is_file() and p.name != "lock"]
    assert {p.stem for p in there} == {r.spec.id for r in results}  # whole, and nothing else
    assert all(results.samples(r.spec.id) is not None for r in results)
    code, _, err = call(*command)
    assert code == 0, err
    runs = load_suite(tmp_path / "suite.toml").runs()
    outcome = light.outcome(results)
    assert [outcome[s.id] for s in runs] == [
        ("done", {"mmd": float(light.drawn(s).mean())}, light.drawn(s).tolist()) for s in runs
    ]
