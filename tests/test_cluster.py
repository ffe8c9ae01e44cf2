"""Schedulers that others have started, Slurm, and what is said of them."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
import urllib.request

import dask
import psutil
import pytest

import light
from sbibench.cli.engine import Where
from sbibench.core.errors import EngineError, UsageError
from sbibench.runner import campaign, cluster
from sbibench.store.results import Results

QUICK = {"seconds": 0.05}
DASK = [sys.executable, "-m", "dask"]


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a process, which is ended after the test."""
    started = []

    def start(*command, **options):
        pipe = subprocess.PIPE
        options = {"stdout": pipe, "stderr": pipe, "text": True, "cwd": tmp_path} | options
        started.append(subprocess.Popen([str(c) for c in command], **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def several(start, tmp_path):
    """Return a scheduler with two workers on loopback, and a function that starts a runner."""
    file, silent = tmp_path / "scheduler.json", subprocess.DEVNULL
    scheduler = start(
        *DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", file, stderr=silent,
    )  # fmt: skip
    wait_for(file.exists)
    workers = [
        start(
            *DASK, "worker", "--scheduler-file", file, "--nthreads", "1", "--no-dashboard",
            "--no-nanny", "--preload", light.__file__, stderr=silent,
        )
        for _ in range(2)
    ]  # fmt: skip

    def runner(n, does):
        return start(sys.executable, light.__file__, tmp_path / "out", n, json.dumps(does), file)

    return scheduler, workers, runner


def wait_for(condition, seconds=60):
    for _ in range(seconds * 20):
        if found := condition():
            return found
        time.sleep(0.05)
    return pytest.fail("it never came to that")


def recorded(folder):
    return len(list(folder.glob("out/records/[!.]*.json")))


def test_a_worker_that_dies_on_a_scheduler_of_others(several, tmp_path):
    _, workers, start = several
    runner = start(60, QUICK)
    wait_for(lambda: recorded(tmp_path) > 10)
    workers[0].kill()
    _, err = runner.communicate(timeout=120)
    assert (runner.returncode, err) == (0, "")
    assert light.outcome(Results(tmp_path / "out")) == light.expected(light.specs(60, **QUICK))


@pytest.mark.parametrize("again", [True, False])
def test_a_worker_that_dies_with_results_nobody_has_fetched(several, tmp_path, monkeypatch, again):
    _, workers, _ = several
    ended, lost = campaign._Campaign._ended, []
    slow = {"seconds": 0.5}  # so that what is lost is not there again before one looks

    def late(self, future):
        if not lost:
            (holder,) = self._client.who_has([future])[future.key]
            pid = self._client.run(os.getpid, workers=[holder])[holder]
            next(w for w in workers if w.pid == pid).kill()
            wait_for(lambda: future.status != "finished")
            lost.append(future.key)
        ended(self, future)

    monkeypatch.setattr(campaign._Campaign, "_ended", late)
    monkeypatch.setattr(campaign._Campaign, "_announced", lambda self, event: None)
    with cluster.existing(str(tmp_path / "scheduler.json")) as client:
        if not again:
            monkeypatch.setattr(campaign, "_DEATHS", 0)
            with pytest.raises(EngineError, match="keep dying"):
                light.run_on(client, tmp_path / "out", 6, slow)
            return
        light.run_on(client, tmp_path / "out", 6, slow)
    assert lost
    assert light.outcome(Results(tmp_path / "out")) == light.expected(light.specs(6, **slow))


def test_a_scheduler_that_dies(several, tmp_path):
    scheduler, _, start = several
    runner = start(60, QUICK)
    wait_for(lambda: recorded(tmp_path) > 10)
    scheduler.kill()
    _, err = runner.communicate(timeout=60)
    assert runner.returncode == 1
    assert err == "the scheduler is gone; the same command goes on from here\n"
    left = subprocess.run(
        [sys.executable, light.__file__, tmp_path / "out", "60", json.dumps(QUICK)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "to do 60" not in left.stdout
    assert light.outcome(Results(tmp_path / "out")) == light.expected(light.specs(60, **QUICK))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_runner_that_goes_leaves_no_worker_busy(several, tmp_path, how):
    _, workers, start = several
    runner = start(2, {"fit": "spin"})
    computing = wait_for(
        lambda: [c for w in workers for c in psutil.Process(w.pid).children()], seconds=30
    )
    time.sleep(1)
    runner.send_signal(how)
    runner.communicate(timeout=30)
    assert not psutil.wait_procs(computing, timeout=30)[1]
    runner = start(10, QUICK)
    assert runner.wait(60) == 0
    assert all(w.poll() is None for w in workers)


def test_no_scheduler_is_wrong_usage(monkeypatch, tmp_path):
    monkeypatch.setattr(cluster, "_WAIT", 0.5)
    with (
        pytest.raises(UsageError, match=r"no scheduler answers at tcp://127.0.0.1:1 .*dask sch"),
        cluster.existing("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "--workers is 1 or more, not 0"),
        ({"slurm": -1}, "--slurm is 1 or more, not -1"),
        ({"workers": 2, "scheduler": "tcp://x:1"}, "one of --workers, --scheduler and --slurm"),
    ],
)
def test_one_place_to_work_at(given, message):
    with pytest.raises(UsageError, match=message):
        Where(**given)


def test_two_campaigns_have_their_own_dashboards_and_no_warnings(caplog):
    pytest.importorskip("bokeh")
    with cluster.local(1) as one, cluster.local(1) as other:
        addresses = {cluster.dashboard(one), cluster.dashboard(other)}
        assert len(addresses) == 2
        for address in addresses:
            with urllib.request.urlopen(address) as page:
                assert b"Dask" in page.read()
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_without_bokeh_there_is_no_dashboard(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with cluster.local(1) as client:
        assert cluster.dashboard(client) is None


def test_what_a_slurm_job_asks_for():
    pytest.importorskip("dask_jobqueue")
    with cluster.slurm_cluster() as made:
        script = made.job_script()
    assert "#SBATCH --cpus-per-task=1" in script
    assert "#SBATCH --mem=4G" in script
    settings = {"jobqueue.slurm.cores": 8, "jobqueue.slurm.memory": "32 GiB"}
    settings |= {"jobqueue.slurm.queue": "long", "jobqueue.slurm.walltime": "12:00:00"}
    with dask.config.set(settings), cluster.slurm_cluster() as made:
        script = made.job_script()
    for line in ("-p long", "--cpus-per-task=8", "--mem=32G", "-t 12:00:00"):
        assert f"#SBATCH {line}" in script
    assert "--nthreads 1 " in script
    assert "--nworkers 8" in script


# The script is gone once this returns: as Slurm does, it is copied first.
SBATCH = """#!/bin/sh
script=$(cat "$1")
setsid sh -c "$script" >>jobs.log 2>&1 &
echo "Submitted batch job $!"
"""


def test_a_campaign_in_slurm_jobs(tmp_path, monkeypatch):
    pytest.importorskip("dask_jobqueue")
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/sh\nkill -- "-$1"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    settings = {"jobqueue.slurm.worker-extra-args": ["--preload", light.__file__]}
    settings |= {"jobqueue.slurm.scheduler-options": {"host": "127.0.0.1"}}
    with dask.config.set(settings), cluster.slurm(2) as client:
        light.run_on(client, tmp_path / "out", 40, QUICK)
    assert light.outcome(Results(tmp_path / "out")) == light.expected(light.specs(40, **QUICK))
