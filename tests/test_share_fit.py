"""One fit for many observations: on request, counted, said in the records, refused where wrong."""

import os
import signal
import subprocess
import sys
import time
import types
from dataclasses import dataclass

import msgspec
import numpy as np
import pytest

from sbibench.core.errors import UsageError
from sbibench.core.run import RunSpec
from sbibench.core.simulator import Simulator
from sbibench.runner.execute import execute, execute_together
from sbibench.runner.suite_file import load as load_suite
from sbibench.runner.todo import Work, groups, unfinished
from sbibench.store.results import Results

TEXT = """
tasks = ["two_moons"]
budgets = [300]
observations = [1, 2, 3]
metrics = ["mmd"]
samples = 200
share_fit = true
[[algorithms]]
name = "rej_abc"
"""


def spec(algorithm="rej_abc", observation=1, **more):
    return RunSpec(
        **{
            "task": "two_moons", "task_version": 1, "algorithm": algorithm, "settings": {},
            "label": "x", "budget": 300, "observation": observation, "seed": 0, "samples": 200,
            "share_fit": True,
        } | more
    )  # fmt: skip


@pytest.fixture
def simulated(monkeypatch):
    """Return a list of how many rows each call of a simulator had."""
    counts, call = [], Simulator.__call__

    def counted(self, key, thetas):
        counts.append(len(thetas))
        return call(self, key, thetas)

    monkeypatch.setattr(Simulator, "__call__", counted)
    return counts


def together(algorithm, observations, **more):
    specs = [spec(algorithm, i, **more) for i in observations]
    return {r.spec.observation: (r, s) for r, s in execute_together(specs, ["mmd"])}


@pytest.mark.parametrize("algorithm", ["rej_abc", "npe", "rf_abc"])
def test_one_fit_serves_all_observations_whichever_and_in_any_order(simulated, algorithm):
    found = together(algorithm, [1, 2, 3])
    assert simulated == [300]
    assert [record.status for record, _ in found.values()] == ["done"] * 3
    again = together(algorithm, [3, 1]) | {2: execute(spec(algorithm, 2), ["mmd"])}
    assert len(simulated) == 3
    for i, (record, samples) in again.items():
        np.testing.assert_array_equal(samples, found[i][1])
        assert record.metrics == found[i][0].metrics
        assert record.info == found[i][0].info
    assert not np.allclose(found[1][1].mean(0), found[2][1].mean(0), atol=0.01)


def test_the_records_say_so():
    records = [record for record, _ in together("npe", [2, 3]).values()]
    for record in records:
        assert record.info["shared_fit"] is True
        assert record.info["fitted_at"] == 1
        assert record.calls == 300
        assert "shared fit" in str(record.spec)
    first, second = (record.seconds for record in records)
    assert first["fit"] == second["fit"] > 0
    assert first["simulate"] == second["simulate"] > 0
    assert first["sample"] != second["sample"]
    alone, _ = execute(spec("npe", 2, share_fit=False), [])
    assert "shared_fit" not in alone.info


def test_an_identity_has_sharing_in_it_only_where_it_is_asked_for():
    plain = spec(share_fit=False, budget=1000, observation=3, seed=2, samples=500,
                 settings={"top": 100, "nested": {"a": None, "b": 0.5}})  # fmt: skip
    assert plain.id == plain.fit_id == "34c541a2466b61d7"  # of before there was sharing
    shared = msgspec.structs.replace(plain, share_fit=True)
    assert len({plain.id, shared.id, shared.fit_id}) == 3
    assert shared.fit_id == msgspec.structs.replace(shared, observation=9, label="y").fit_id
    assert shared.fit_id != msgspec.structs.replace(shared, seed=9).fit_id
    old = msgspec.json.decode(msgspec.json.encode(plain).replace(b',"share_fit":false', b""))
    assert "share_fit" not in old
    assert msgspec.convert(old, RunSpec) == plain


@pytest.mark.parametrize("algorithm", ["snpe_c", "snle", "smc_abc", "sl", "snpe_a", "reference"])
def test_what_is_fitted_for_one_observation_is_refused_before_anything_is_simulated(
    tmp_path, simulated, algorithm
):
    (tmp_path / "suite.toml").write_text(TEXT.replace("rej_abc", algorithm))
    with pytest.raises(UsageError, match=f"{algorithm} is fitted for one.*leave share_fit out"):
        load_suite(tmp_path / "suite.toml").runs()
    for record, samples in together(algorithm, [1, 2]).values():
        assert record.status == "failed"
        assert "leave share_fit out" in record.reason
        assert samples is None
    assert simulated == []


def test_with_one_round_there_is_something_to_share(tmp_path):
    text = TEXT.replace('"rej_abc"', '"snpe_c"\nsettings = { rounds = 1 }')
    (tmp_path / "suite.toml").write_text(text)
    assert all(run.share_fit for run in load_suite(tmp_path / "suite.toml").runs())


def test_runs_that_differ_in_more_than_the_observation_share_nothing():
    with pytest.raises(UsageError, match="differ in their observation alone"):
        next(execute_together([spec(), spec(seed=1)], []))


class Odd:
    """A posterior of somebody's own; what sampling reports is of the last observation."""

    def __init__(self, amortized):
        self.amortized = amortized
        self.info = {"fits": 1, "stopped": "deadline"}

    def sample(self, key, n, x=None):
        if x[0] > 0:
            self.info["positive"] = True
        if x[0] < -0.6:
            raise RuntimeError("their bug")
        return np.tile(x, (n, 1))


@dataclass(frozen=True)
class NotSaid:
    shared: bool = False

    def fit(self, key, problem):
        problem.simulator(key, problem.prior.sample(key, (5,)))
        return Odd(self.shared)


@pytest.fixture
def theirs(monkeypatch):
    module = types.ModuleType("theirs")
    module.NotSaid = NotSaid
    monkeypatch.setitem(sys.modules, "theirs", module)


@pytest.mark.usefixtures("theirs")
def test_what_does_not_say_beforehand_that_it_cannot_be_shared_fails_with_the_reason():
    for record, samples in together("theirs:NotSaid", [1, 2]).values():
        assert record.status == "failed"
        assert "theirs:NotSaid is fitted for one observation" in record.reason
        assert record.calls == 5
        assert samples is None


@pytest.mark.usefixtures("theirs")
def test_each_observation_has_its_own_facts_failures_and_the_status_of_the_fit(monkeypatch):
    from sbibench.core import registry

    task = registry.TASKS.get("two_moons")
    xs = {1: [0.0, 0.0], 2: [0.5, 0.0], 3: [-0.7, 0.0], 4: [-0.1, 0.0]}
    monkeypatch.setattr(type(task), "observation", lambda self, i: np.array(xs[i]))
    specs = [spec("theirs:NotSaid", i, settings={"shared": True}) for i in xs]
    records = {r.spec.observation: r for r, _ in execute_together(specs, [])}
    assert {i: r.status for i, r in records.items()} == {
        1: "timeout", 2: "timeout", 3: "failed", 4: "timeout"
    }  # fmt: skip
    assert "their bug" in records[3].reason
    assert [i for i, r in records.items() if "positive" in r.info] == [2]


def test_a_campaign_does_a_fit_s_runs_as_one_and_completes_records_singly(tmp_path):
    (tmp_path / "suite.toml").write_text(TEXT.replace("[300]", "[300, 400]"))
    runs = load_suite(tmp_path / "suite.toml").runs()
    assert {run.label for run in runs} == {"rej_abc shared fit"}
    results = Results(tmp_path / "out")
    results.write(*execute(runs[0], []))
    found = groups(unfinished(runs, ["mmd"], results)).values()
    assert [[w.spec.observation for w in group] for group in found] == [[1], [2, 3], [1, 2, 3]]
    independent = [msgspec.structs.replace(run, share_fit=False) for run in runs]
    assert len(groups([Work(run) for run in independent])) == 6


THEIRS = """
import os, time
from dataclasses import dataclass
from pathlib import Path
from sbibench.algorithms.rej_abc import RejABC

@dataclass(frozen=True)
class Logged:
    deadly: bool = False
    slow: bool = True

    def fit(self, key, problem):
        with Path("fits").open("a") as file:
            file.write("fit\\n")
        posterior = RejABC().fit(key, problem)
        sample, first = posterior.sample, []

        def slowly(key, n, x=None):
            if first and self.deadly:
                time.sleep(2)
                os._exit(1)
            if first and self.slow and not Path("fast").exists():
                time.sleep(60)
            first.append(1)
            return sample(key, n, x)

        posterior.sample = slowly
        return posterior
"""


@pytest.fixture
def start(tmp_path):
    (tmp_path / "their_log.py").write_text(THEIRS)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"

    def start(settings):
        text = TEXT.replace('"rej_abc"', f'"their_log:Logged"\nsettings = {settings}')
        (tmp_path / "suite.toml").write_text(text)
        command = [sys.executable, "-m", "sbibench.cli", "suite", "run", "suite.toml"]
        return subprocess.Popen(
            [*command, "--out", "out", "--workers", "1"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


def test_a_result_is_kept_before_its_group_is_done_and_only_the_others_run_again(start, tmp_path):
    process = start("{}")
    while len(list(tmp_path.glob("out/records/[!.]*.json"))) < 1:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    (kept,) = Results(tmp_path / "out")
    assert kept.spec.observation == 1
    (tmp_path / "fast").touch()
    process = start("{}")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "3 runs, 2 to do" in err
    assert (tmp_path / "fits").read_text().split() == ["fit"] * 2
    records = list(Results(tmp_path / "out"))
    assert sorted(r.spec.observation for r in records) == [1, 2, 3]
    assert all(r.info["shared_fit"] for r in records)


@pytest.mark.slow
def test_a_process_that_dies_takes_only_the_run_that_it_was_at(start, tmp_path):
    process = start("{ deadly = true }")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    records = {r.spec.observation: r for r in Results(tmp_path / "out")}
    assert [records[i].status for i in (1, 2, 3)] == ["done", "failed", "done"]
    assert "ended by itself" in records[2].reason
    assert (tmp_path / "fits").read_text().split() == ["fit"] * 2  # the last run needs one, too
