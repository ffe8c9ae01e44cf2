"""`sbibench diagnose` and `sbibench run --save` from outside."""

import json

import jax
import numpy as np
import pytest

import sbibench as sb
from sbibench.cli import main
from sbibench.core import registry
from sbibench.runner.judge import key_of
from sbibench.store.results import Results
from test_cli import call

RUN = ["run", "two_moons", "npe", "--budget", "300", "--samples", "200", "--metric", "mmd"]
SMALL = [
    "--npe.transforms",
    "2",
    "--npe.hidden",
    "8",
    "--npe.blocks",
    "1",
    "--npe.max_epochs",
    "40",
]
FEW = ["--pairs", "60", "--draws", "30"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the file of a small NPE posterior, and how the command that saved it ended."""
    folder = tmp_path_factory.mktemp("saved")
    arguments = [*RUN, *SMALL, "--out", folder / "results", "--save", folder / "npe.posterior"]
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    return folder / "npe.posterior", done.value.code


def test_a_saved_posterior_is_diagnosed(saved, capsys, tmp_path):
    path, code = saved
    assert code == 0
    assert sb.load(path).amortized
    code, out, _ = call(capsys, "diagnose", path, "two_moons", *FEW, "--out", tmp_path)
    assert code == 0
    assert all(name in out for name in registry.CHECKS.names())
    assert "60 pairs of 30 draws" in out
    assert "not done" not in out
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "calibration.png", "calibration.svg", "diagnosis.json"
    ]  # fmt: skip
    assert all(p.stat().st_size > 10_000 for p in tmp_path.iterdir())
    content = json.loads((tmp_path / "diagnosis.json").read_text())
    assert content["parameters"] == ["theta_1", "theta_2"]
    assert content["pairs"]["pairs"] == 60
    assert set(content["checks"]) == set(registry.CHECKS.names())
    assert len(content["checks"]["lc2st"]["arrays"]["null"]) == 1000
    # The same again, as JSON and without arrays.
    code, out, _ = call(capsys, "diagnose", path, "two_moons", *FEW, "--out", tmp_path, "--json")
    assert code == 0
    printed = json.loads(out)["checks"]
    for name, finding in printed.items():
        kept = content["checks"][name]
        assert finding == {k: v for k, v in kept.items() if k != "arrays"}


def test_a_fault_that_is_found_is_no_failure_of_the_command(capsys, tmp_path):
    path = tmp_path / "prior.posterior"
    problem = sb.get_task("two_moons").problem(1, 1)
    sb.get_algorithm("prior").fit(jax.random.key(0), problem).save(path)
    code, out, _ = call(
        capsys, "diagnose", path, "two_moons", "--pairs", "30", "--draws", "30", "--json",
        "--check", "nltp", "--check", "sbc", "--out", tmp_path,
    )  # fmt: skip
    assert code == 0
    checks = json.loads(out)["checks"]
    assert list(checks) == ["nltp", "sbc"]
    assert checks["nltp"]["passed"] is False
    assert checks["sbc"]["passed"] is True


def test_an_algorithm_is_fitted_anew_for_each_pair(capsys, tmp_path):
    arguments = ["diagnose", "rej_abc", "two_moons", "--refit", "--budget", "150", "--pairs", "12",
        "--draws", "20", "--rej_abc.kde", "false", "--out", tmp_path]  # fmt: skip
    code, out, _ = call(capsys, *arguments, "--json")
    assert code == 0
    checks = json.loads(out)["checks"]
    assert "there are no densities" in checks["coverage"]["missing"]
    assert checks["contraction"]["statistic"] > 0.2
    first = (tmp_path / "diagnosis.json").read_bytes()
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "12 pairs of 20 draws" in out
    assert (tmp_path / "diagnosis.json").read_bytes() == first
    code, out, _ = call(capsys, *arguments, "--check", "coverage")
    assert code == 1  # nothing could be said
    assert "not done" in out


def test_a_recorded_run_is_fitted_again_to_save_its_posterior(capsys, tmp_path):
    run = ["run", "two_moons", "rej_abc", "--budget", "200", "--samples", "50", "--metric", "mmd",
        "--out", tmp_path / "results"]  # fmt: skip
    assert call(capsys, *run)[0] == 0
    files = {p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("*") if p.is_file()}
    code, _, err = call(capsys, *run, "--save", tmp_path / "x.posterior")
    assert code == 0
    assert "the posterior is in" in err
    assert files == {
        p: p.stat().st_mtime_ns for p in (tmp_path / "results").rglob("*") if p.is_file()
    }
    # The one that the recorded samples are of.
    (record,) = Results(tmp_path / "results")
    samples = Results(tmp_path / "results").samples(record.spec.id)
    key = jax.random.split(key_of(record.spec.id))[1]
    np.testing.assert_array_equal(sb.load(tmp_path / "x.posterior").sample(key, 50), samples)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent", "two_moons"], "can't read absent"),
        (["npe", "two_moons"], "--refit fits the algorithm npe anew"),
        (["absent", "two_moons", "--budget", "5"], "--budget and --preset go with --refit"),
        (["absent", "two_moons", "--npe.hidden", "5"], "no option named '--npe.hidden'"),
        (["absent", "two_moon"], "did you mean 'two_moons'"),
        (["rej_abc", "two_moons", "--refit", "--check", "sbcc"], "did you mean 'sbc'"),
        (["rej_abc", "two_moons", "--refit", "--rej_abc.tip", "5"], "did you mean 'top'"),
        (["rej_abc", "two_moons", "--refit", "--pairs", "0"], "pairs are 1 or more"),
        (["rej_abc", "two_moons", "--refit", "--time-limit", "0"], "positive"),
        (["rej_abc", "two_moons", "--refit", "--budget", "0"], "a budget is"),
        (["rej_abcc", "two_moons", "--refit"], "did you mean 'rej_abc'"),
    ],
)
def test_wrong_usage_is_one_line_exit_2_and_nothing_written(
    capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "diagnose", *arguments)
    assert code == 2
    assert not out
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_posterior_of_one_observation_is_refused_with_the_way_out(capsys, tmp_path, toy_task):
    path = tmp_path / "smc.posterior"
    task = sb.get_task("two_moons")
    algorithm = sb.get_algorithm("smc_abc")
    algorithm.fit(jax.random.key(0), task.problem(1, 500)).save(path)
    code, _, err = call(capsys, "diagnose", path, "two_moons", "--out", tmp_path / "out")
    assert code == 2
    assert "for one observation only" in err
    assert "refit" in err
    assert not (tmp_path / "out").exists()
