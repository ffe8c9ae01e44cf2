"""The named settings of an algorithm: in Python, in a suite, on the command line."""

import dataclasses
import json

import pytest

import sbibench as sb
from sbibench.algorithms.npe import NPE
from sbibench.cli import main
from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.inference.forest import Forest
from sbibench.inference.toolbox import TOOLBOX
from sbibench.runner.suite import spec
from sbibench.runner.suite_file import load as load_suite

NEURAL = {"npe", "nle", "nre", "snle", "snre", "snpe_a", "snpe_b", "snpe_c"}
MORE = {
    "rf_abc": {"forest": Forest(min_node=5)},
    "snpe_b": {"weights": "own", "warm_start": True},
    "snpe_c": {"combined": False, "warm_start": True},
    "snle": {"warm_start": True},
    "snre": {"warm_start": True},
    "sl": {"chains": 1, "candidates": 10_000, "warmup": 1000},
}

TEXT = """
tasks = ["two_moons"]
budgets = [1000]
observations = [1]
[[algorithms]]
name = "npe"
[[algorithms]]
name = "npe"
preset = "paper"
[[algorithms]]
name = "npe"
preset = "paper"
settings = { hidden = 20 }
[[algorithms]]
name = "rej_abc"
preset = "paper"
[[algorithms]]
name = "rej_abc"
"""


@pytest.mark.parametrize("name", registry.ALGORITHMS.names())
def test_every_algorithm_has_both_and_they_differ_where_the_paper_does(name):
    if missing := registry.ALGORITHMS.missing(name):
        pytest.skip(missing)
    default, paper = sb.get_algorithm(name), sb.get_algorithm(name, "paper")
    assert default == registry.ALGORITHMS.get(name)()
    if name not in NEURAL | MORE.keys():
        assert paper == default
        return
    expected = ({"training": TOOLBOX, "log_data": False} if name in NEURAL else {}) | MORE.get(
        name, {}
    )
    assert paper == dataclasses.replace(default, **expected)
    assert paper != default


def test_how_the_toolbox_trains():
    assert settings.as_dict(TOOLBOX) == {
        "batch_size": 50, "learning_rate": 5e-4, "averaging": 0.0, "clip_norm": 5.0,
        "validation_fraction": 0.1, "patience": 20, "max_epochs": 2000,
    }  # fmt: skip


def test_an_unknown_preset_is_one_line():
    with pytest.raises(UsageError, match="no preset named 'papr'; did you mean 'paper'") as caught:
        sb.get_algorithm("npe", "papr")
    assert "\n" not in str(caught.value)


def test_somebody_s_own_paper_settings_lie_in_the_same_file(tmp_path, monkeypatch):
    (tmp_path / "their_preset.py").write_text(
        "from sbibench.algorithms.rej_abc import RejABC\n"
        "class Mine(RejABC):\n    pass\n"
        "class Other(RejABC):\n    pass\n"
        "PAPER = Mine(top=7)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert sb.get_algorithm("their_preset:Mine", "paper").top == 7
    assert sb.get_algorithm("their_preset:Mine").top == 100
    assert sb.get_algorithm("their_preset:Other", "paper").top == 100


def test_a_suite_names_a_preset_and_changes_it(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(TEXT)
    runs = {run.label: run for run in load_suite(path).runs()}
    assert set(runs) == {"npe", "npe paper", "npe paper hidden=20", "rej_abc"}
    paper = sb.get_algorithm("npe", "paper")
    assert runs["npe paper"].settings == settings.as_dict(paper)
    changed = dataclasses.replace(paper, flow=dataclasses.replace(paper.flow, hidden=20))
    assert runs["npe paper hidden=20"].settings == settings.as_dict(changed)
    path.write_text(TEXT.replace('preset = "paper"', 'preset = "papr"', 1))
    with pytest.raises(UsageError, match="did you mean 'paper'"):
        load_suite(path).runs()


@pytest.mark.parametrize(
    ("name", "changed", "identity"),
    [
        ("npe", {}, "94e2f278097cb99d"),
        ("rej_abc", {}, "6260abcfed34d3db"),
    ],
)
def test_identities_are_those_of_before_there_were_presets(name, changed, identity):
    assert spec("two_moons", name, changed, 1000, 1, 0).id == identity


def test_an_identity_is_the_settings_in_full_whatever_they_are_called():
    paper = spec("two_moons", "npe", {}, 1000, 1, 0, preset="paper")
    spelt = spec("two_moons", "npe", settings.as_dict(sb.get_algorithm("npe", "paper")), 1000, 1, 0)
    assert paper.id == spelt.id != spec("two_moons", "npe", {}, 1000, 1, 0).id
    assert spec("two_moons", "smc_abc", {}, 1000, 1, 0, preset="paper").label == "smc_abc"


def test_values_override_the_base_in_part():
    base = sb.get_algorithm("npe", "paper")
    built = settings.build(NPE, {"batch_size": "7"}, "npe", base=base, text=True)
    assert built.training == dataclasses.replace(TOOLBOX, batch_size=7)
    assert built.log_data is False
    assert settings.label("npe paper", built, base) == "npe paper batch_size=7"


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return done.value.code, captured.out, captured.err


def test_the_command_line_runs_and_lists_them(capsys, tmp_path):
    quick = ["--budget", "200", "--samples", "100", "--metric", "mmd", "--out", tmp_path]
    code, out, _ = call(
        capsys, "run", "two_moons", "npe", *quick, "--preset", "paper",
        "--npe.max_epochs", "2", "--json",
    )  # fmt: skip
    assert code == 0
    run = json.loads(out)["spec"]
    assert run["label"] == "npe paper max_epochs=2"
    assert run["settings"]["training"]["batch_size"] == 50
    code, out, _ = call(capsys, "algorithms", "npe", "--json")
    rows = {row["flag"]: (row["default"], row["paper"]) for row in json.loads(out)}
    assert rows["--npe.training.batch_size"] == (100, 50)
    assert rows["--npe.log_data"] == (True, False)
    code, out, _ = call(capsys, "algorithms", "npe")
    assert "default" in out
    assert "paper" in out
    code, out, err = call(capsys, "run", "two_moons", "npe", *quick, "--preset", "papr")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "did you mean 'paper'" in err
