"""Campaigns survive being stopped: each run is recorded once or still to do."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from sbibench.core.run import RunRecord
from sbibench.runner.execute import execute
from sbibench.runner.steps import steps
from sbibench.runner.suite_file import load as load_suite
from sbibench.runner.todo import Work, unfinished
from sbibench.store.results import Results

TEXT = """
tasks = ["two_moons", "gaussian_mixture"]
budgets = [200]
observations = [1, 2, 3]
metrics = ["mmd"]
samples = 200
[[algorithms]]
name = "rej_abc"
"""


@pytest.fixture
def suite_file(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(TEXT)
    return path


def start(suite_file, out):
    command = [sys.executable, "-m", "sbibench.cli", "suite", "run", suite_file, "--out", out]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def outcome(results):
    """Return what must not depend on how a campaign came about."""
    return {
        r.spec.id: (r.status, r.calls, r.metrics, results.samples(r.spec.id).tolist())
        for r in results
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed")
    (path / "suite.toml").write_text(TEXT)
    plan = load_suite(path / "suite.toml")
    results = Results(path / "out")
    for spec in plan.runs():  # in this process, one after the other
        results.write(*execute(spec, plan.metrics))
    return outcome(results)


def wait_for_records(out, n, process):
    while len(list(out.glob("records/[!.]*.json"))) < n:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_campaign_goes_on_where_it_was(suite_file, tmp_path, undisturbed, how):
    out = tmp_path / "out"
    first = start(suite_file, out)
    wait_for_records(out, 1, first)
    os.kill(first.pid, how)
    first.communicate(timeout=60)
    assert first.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    kept = {p: p.stat().st_mtime_ns for p in out.glob("records/[!.]*.json")}
    assert 1 <= len(kept) < 6
    second = start(suite_file, out)
    _, err = second.communicate(timeout=300)
    assert second.returncode == 0, err
    assert f"6 runs, {6 - len(kept)} to do" in err
    assert all(p.stat().st_mtime_ns == at for p, at in kept.items())  # only what is missing runs
    assert outcome(Results(out)) == undisturbed


def test_a_failed_run_is_recorded_and_the_others_go_on(suite_file, tmp_path):
    suite_file.write_text(TEXT.replace("budgets = [200]", "budgets = [50, 200]"))
    process = start(suite_file, tmp_path / "out")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 1, err
    records = list(Results(tmp_path / "out"))
    assert sorted(r.status for r in records) == ["done"] * 6 + ["failed"] * 6
    assert all("100 of 50" in r.reason for r in records if r.status == "failed")
    assert "Not done" in out


def test_failures_run_again_only_on_request(suite_file, tmp_path):
    runs = load_suite(suite_file).runs()
    results = Results(tmp_path)
    results.write(RunRecord(spec=runs[0], status="failed", reason="x"), None)
    results.write(RunRecord(spec=runs[1], status="done", reason="x"), np.zeros((1, 2)))
    work = [Work(spec, seen=results.read(spec.id)) for spec in runs]
    assert unfinished(runs, [], results) == work[2:]
    assert unfinished(runs, [], results, retry=True) == [work[0], *work[2:]]


def test_a_metric_that_a_record_lacks_is_computed_from_its_samples(suite_file, tmp_path):
    spec = load_suite(suite_file).runs()[0]
    results = Results(tmp_path / "out")
    results.write(*execute(spec, ["mmd"]))
    (todo,) = unfinished([spec], ["mmd", "c2st"], results)
    samples = results.samples(spec.id)
    ((record, new),) = steps([replace(todo, samples=samples)], ["mmd", "c2st"])
    assert new is None
    assert {"mmd", "c2st"} <= set(record.metrics)
    assert record.metrics["mmd"] == results.read(spec.id).metrics["mmd"]
    results.update(record)
    np.testing.assert_array_equal(results.samples(spec.id), samples)
    assert unfinished([spec], ["mmd", "c2st"], results) == []


@pytest.mark.slow
def test_neural_samples_do_not_depend_on_the_process_or_the_number_of_workers(tmp_path):
    text = TEXT.replace("rej_abc", "npe").replace("[1, 2, 3]", "[1]")
    (tmp_path / "suite.toml").write_text(text)
    outcomes = []
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        command = [sys.executable, "-m", "sbibench.cli", "suite", "run", tmp_path / "suite.toml"]
        subprocess.run([*command, "--out", out, "--workers", str(workers)], check=True)
        outcomes.append(outcome(Results(out)))
    alone = tmp_path / "alone"
    for task in ("two_moons", "gaussian_mixture"):
        command = [sys.executable, "-m", "sbibench.cli", "run", task, "npe", "--budget", "200"]
        subprocess.run(
            [*command, "--samples", "200", "--metric", "mmd", "--out", alone], check=True
        )
    assert outcomes[0] == outcomes[1] == outcome(Results(alone))


@pytest.mark.slow
def test_a_run_that_kills_its_worker_is_recorded_and_the_others_go_on(tmp_path):
    (tmp_path / "deadly.py").write_text(
        "import os\n"
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Deadly:\n"
        "    def fit(self, key, problem):\n"
        "        os._exit(1)\n"
    )
    text = TEXT.replace('"rej_abc"', '"rej_abc"\n[[algorithms]]\nname = "deadly:Deadly"')
    (tmp_path / "suite.toml").write_text(text.replace("[1, 2, 3]", "[1]"))
    command = [sys.executable, "-m", "sbibench.cli", "suite", "run", "suite.toml", "--out", "out"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False
    )
    assert done.returncode == 1
    records = list(Results(tmp_path / "out"))
    assert sorted(r.status for r in records) == ["done", "done", "failed", "failed"]
    failed = [r for r in records if r.status == "failed"]
    assert all("ended by itself, with exit status 1" in r.reason for r in failed)
    assert all(r.versions["jax"] and r.machine["cores"] for r in failed)
    assert all(r.missing == {"mmd": "the run has no samples"} for r in failed)


def test_a_plan_runs_nothing(suite_file, tmp_path, capsys):
    from sbibench.cli import main

    with pytest.raises(SystemExit) as done:
        main(["suite", "plan", str(suite_file), "--out", str(tmp_path / "out"), "--json"])
    assert done.value.code == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["to_do"] for row in rows] == [True] * 6
    with pytest.raises(SystemExit):
        main(["suite", "plan", str(suite_file), "--budgets", "2e2", "--out", str(tmp_path / "out")])
    assert capsys.readouterr().out.count("0 of ") == len({(r["task"], r["label"]) for r in rows})
    assert not (tmp_path / "out").exists()
