"""The command line from outside: what it prints, what it writes, how it exits."""

import importlib
import json
import re

import numpy as np
import pytest

from sbibench import cli
from sbibench.cli import main
from sbibench.core import registry

QUICK = ["--budget", "2e2", "--samples", "300"]


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return done.value.code, captured.out, captured.err


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("tasks", registry.TASKS),
        ("algorithms", registry.ALGORITHMS),
        ("metrics", registry.METRICS),
        ("checks", registry.CHECKS),
    ],
)
def test_lists(capsys, command, kind):
    code, out, _ = call(capsys, command, "--json")
    assert code == 0
    assert [row["name"] for row in json.loads(out)] == kind.names()
    code, out, _ = call(capsys, command)
    assert code == 0
    assert all(name in out for name in kind.names())


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_every_command_is_listed_with_what_it_does(capsys, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = call(capsys, *arguments)
    for name, where in cli.COMMANDS.items():
        module, _, attribute = where.partition(":")
        command = getattr(importlib.import_module(f"sbibench.cli.{module}"), attribute)
        told = getattr(command, "help", None) or command.__doc__.partition("\n")[0]
        assert re.search(rf"{name} +{re.escape(told)}", out), name
    _, out, _ = call(capsys, "run", "--help")
    assert "--budget" in out
    _, out, _ = call(capsys, "suite", "--help")
    assert "plan" in out


def test_settings_of_an_algorithm_are_listed(capsys):
    code, out, _ = call(capsys, "algorithms", "npe", "--json")
    flags = {row["flag"]: row["default"] for row in json.loads(out)}
    assert code == 0
    assert flags["--npe.flow.hidden"] == 50
    shown = call(capsys, "algorithms", "npe")[1]
    assert all(flag in shown for flag in flags)


def test_a_run_is_kept_shown_and_not_run_twice(capsys, tmp_path):
    command = ["run", "two_moons", "rej_abc", *QUICK, "--out", tmp_path, "--rej_abc.top", "20"]
    code, out, _ = call(capsys, *command, "--json")
    assert code == 0
    record = json.loads(out)
    assert record["status"] == "done"
    assert record["calls"] == 200
    assert record["spec"]["settings"]["top"] == 20
    assert {"c2st", "mmd"} <= set(record["metrics"])
    assert {"fit", "simulate", "sample", "metrics", "compile"} <= set(record["seconds"])
    files = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert len(files) == 2
    code, out, err = call(capsys, *command)
    assert code == 0
    assert "c2st" in out
    assert "already; another --seed or --out runs it anew" in err
    told = re.search(r"300 samples are in (\S+\.npz): np\.load", out)
    samples = np.load(told[1])["samples"].astype(float)
    for i, name in enumerate(registry.TASKS.get("two_moons").parameter_names):
        row = next(line for line in out.splitlines() if f" {name} " in line)
        numbers = [float(v) for v in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", row)]
        column = samples[:, i]
        expected = [column.mean(), column.std(), *np.quantile(column, [0.025, 0.975])]
        np.testing.assert_allclose(numbers, expected, rtol=2e-3)
    assert files == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}

    code, out, _ = call(capsys, "results", "show", tmp_path, "--json")
    assert code == 0
    assert json.loads(out)[0]["task"] == "two_moons"
    code, _, err = call(capsys, "results", "show", tmp_path, "--task", "two_moon")
    assert code == 2
    assert "did you mean 'two_moons'" in err
    assert call(capsys, "results", "export", tmp_path, "--csv", tmp_path / "t.csv")[0] == 0
    assert "metric.c2st" in (tmp_path / "t.csv").read_text()


def test_a_run_that_fails_is_recorded_with_its_reason(capsys, tmp_path):
    code, out, _ = call(
        capsys, "run", "two_moons", "rej_abc", "--budget", "50", "--out", tmp_path, "--json"
    )
    record = json.loads(out)
    assert code == 1
    assert record["status"] == "failed"
    assert "100 of 50" in record["reason"]
    assert record["missing"]["c2st"] == "the run has no samples"
    code, out, _ = call(capsys, "results", "show", tmp_path)
    assert "Not done" in out


def test_a_time_limit_is_kept(capsys, tmp_path):
    code, out, _ = call(
        capsys, "run", "two_moons", "npe", "--budget", "5000", "--time-limit", "0.000001",
        "--out", tmp_path, "--json",
    )  # fmt: skip
    assert code == 1
    assert json.loads(out)["status"] == "timeout"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "two_moon", "npe"], "did you mean 'two_moons'"),
        (["run", "two_moons", "npee"], "did you mean 'npe'"),
        (["run", "two_moons", "npe", "--budget", "0"], "budget"),
        (["run", "two_moons", "npe", "--budget", "ten"], "'ten' is no whole number"),
        (["run", "two_moons", "npe", "--budget", "1.5"], "'1.5' is no whole number"),
        (["choose", "two_moons", "npe", "--budget", "nan"], "'nan' is no whole number"),
        (["run", "my_module.my_task", "npe"], "written module:name, with a colon"),
        (["run", "two_moons", "npe", "--seed", "-1"], "seed is 0 or more"),
        (["run", "two_moons", "npe", "--observation", "0"], "numbered from 1, up to 2147483647: 0"),
        (["run", "two_moons", "npe", "--samples", "0"], "samples is 1 or more"),
        (["run", "two_moons", "npe", "--time-limit", "0"], "positive"),
        (["run", "two_moons", "npe", "--metric", "c2s"], "did you mean 'c2st'"),
        (["run", "two_moons", "npe", "--npe.hiden", "3"], "did you mean 'flow.hidden'"),
        (["run", "two_moons", "npe", "--npe.hidden"], "needs a value"),
        (["run", "two_moons", "npe", "--npe.hidden", "many"], "Expected `int`"),
        (["run", "two_moons", "npe", "--npe.log_data", "2"], "true or false is wanted"),
        (["run", "two_moons", "npe", "--buget", "3"], "did you mean '--budget'"),
        (["run", "two_moons"], "algorithm"),
        (["rum"], "run"),
        (["suite", "run", "absent.toml"], "No such file"),
        (["suite", "plan", "absent.toml"], "No such file"),
        (["results", "show", "absent"], "no results in absent"),
        (["run", "os:path", "rej_abc"], "no task: it should be a Task"),
        (["run", "two_moons", "os:path"], "no algorithm: it should be a dataclass"),
        (["run", ":x", "npe"], "as module:name"),
        (["run", "two_moons", "npe", "--seed", "100000000000000000000"], "seed is less than"),
        (["run", "two_moons", "rej_abc", "--out", "/dev/null/x"], "can't write to"),
        (["results", "export", "absent", "--csv", "x.csv"], "no results in absent"),
    ],
)
def test_wrong_usage_is_one_line_exit_2_and_nothing_written(
    capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert not out
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
