"""Other people's algorithms: in a file, in an installed package."""

import importlib
import json
import re
import subprocess
import sys

import pytest

from sbibench.core import registry
from sbibench.runner.execute import execute
from sbibench.runner.suite import spec


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Return the name of a module with a dataclass, functions and a decorated function."""
    (tmp_path / "their_methods.py").write_text(
        "from dataclasses import dataclass\n"
        "import sbibench as sb\n"
        "from sbibench.inference.fixed import fixed\n"
        "def draw(prior, simulator, x_obs, budget, seed, *, shift=0.0):\n"
        "    simulator(prior.sample(budget, seed))\n"
        "    return prior.sample(500, seed) + shift\n"
        "def draw_more(prior, simulator, x_obs, budget, seed):\n"
        "    return prior.sample(900, seed)\n"
        "A = sb.from_function(draw)\n"
        "B = sb.from_function(draw_more)\n"
        "@sb.from_function\n"
        "def same(prior, simulator, x_obs, budget, seed):\n"
        "    return prior.sample(500, seed)\n"
        "@dataclass(frozen=True)\n"
        "class Own:\n"
        "    size: int = 10\n"
        "    def fit(self, key, problem):\n"
        "        return fixed(problem, [[0.0] * problem.d] * self.size, {}, 'Own')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "their_methods", raising=False)
    importlib.invalidate_caches()
    return "their_methods"


def test_functions_of_a_file_are_run_by_their_address_and_told_apart(theirs):
    runs = {
        name: spec("two_moons", f"{theirs}:{name}", {}, 200, 1, 0, 100)
        for name in ("A", "B", "same", "Own")
    }
    assert len({run.id for run in runs.values()}) == 4
    assert len({spec("two_moons", f"{theirs}:A", {"shift": s}, 200, 1, 0).id for s in (0, 1)}) == 2
    record, samples = execute(runs["A"], ["mmd"])
    assert record.status == "done", record.reason
    assert (record.calls, record.info["returned"]) == (200, 500)
    assert samples.shape == (100, 2)
    assert execute(runs["Own"], [])[0].status == "done"


def test_a_function_that_fails_is_a_record_with_its_reason(theirs):
    record, samples = execute(
        spec("two_moons", f"{theirs}:A", {"shift": 100.0}, 200, 1, 0, 100), ["mmd"]
    )
    assert record.status == "failed"
    assert "all outside the prior's support" in record.reason
    assert samples is None


def test_an_installed_package_brings_algorithms_by_an_entry_point(theirs, tmp_path):
    folder = tmp_path / "their_methods-1.2.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their-methods\nVersion: 1.2\n")
    (folder / "entry_points.txt").write_text(
        "[sbibench.algorithms]\ntheirs_own = their_methods:Own\ntheirs_draw = their_methods:A\n"
    )
    assert {"theirs_own", "theirs_draw"} <= set(registry.ALGORITHMS.names())
    assert registry.ALGORITHMS.get("theirs_own")().size == 10
    record, _ = execute(spec("two_moons", "theirs_draw", {}, 200, 1, 0, 100), [])
    assert record.status == "done"
    assert record.versions["their-methods"] == "1.2"


@pytest.mark.slow
def test_a_function_of_a_file_runs_from_the_command_line_and_in_workers(theirs, tmp_path):
    (tmp_path / "suite.toml").write_text(
        'tasks = ["two_moons"]\nbudgets = [200]\nobservations = [1, 2]\nmetrics = ["mmd"]\n'
        'samples = 200\n[[algorithms]]\nname = "their_methods:A"\n'
        '[[algorithms]]\nname = "their_methods:B"\n'
    )
    for command in (
        ["run", "two_moons", "their_methods:A", "--budget", "200", "--their_methods:A.shift", "0.1",
         "--samples", "200", "--metric", "mmd", "--out", "results", "--json"],
        ["suite", "run", "suite.toml", "--workers", "1", "--out", "results"],
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "sbibench.cli", *command],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if command[0] == "run":
            settings = json.loads(done.stdout)["spec"]["settings"]
            assert re.fullmatch("[0-9a-f]{16}", settings.pop("version"))  # of its code
            assert settings == {"shift": 0.1}
