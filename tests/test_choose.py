"""`sbibench choose` from outside."""

import json

import pytest

from sbibench.core.words import duration, nats
from test_cli import call

FEW = ["--budget", "150", "--pairs", "40", "--draws", "40", "--samples", "100",
    "--predictions", "50"]  # fmt: skip
SMALL = ["--npe.transforms", "2", "--npe.hidden=8", "--npe.blocks", "1", "--npe.max_epochs", "30"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Return where the comparison of this module is kept."""
    return tmp_path_factory.mktemp("choose") / "comparison"


def test_methods_are_compared_and_kept(capsys, monkeypatch, directory):
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ["choose", "two_moons", "npe", *SMALL, "rej_abc", "smc_abc", "prior", *FEW,
        "--out", directory]  # fmt: skip
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert all(len(line) <= 80 for line in out.splitlines())
    said = " ".join(out.split())
    assert "150 simulations method gain SBC cover TARP L-C2ST narrower distance time" in said
    for words in (
        "With 150 simulations:",
        "it can't be ranked: it has no density",
        "smc_abc was not judged at the pairs: fitted for this observation alone.",
        "The next factor of ten, 1,500 simulations",
        "40 held-out pairs of parameters and data",
        "200 simulations for the distances",
    ):
        assert words in said
    kept = json.loads((directory / "comparison.json").read_text())
    labels = [e["label"] for e in kept["entries"]]
    assert labels[0].startswith("npe ")
    assert "hidden=8" in labels[0]
    assert labels[1:] == ["rej_abc", "smc_abc", "prior"]
    assert kept["entries"][0]["settings"]["training"]["max_epochs"] == 30
    # The same again makes nothing again, as JSON.
    files = {p: p.stat().st_mtime_ns for p in directory.rglob("*.*") if p.suffix != ".json"}
    code, out, _ = call(capsys, *arguments, "--json")
    assert code == 0
    printed = json.loads(out)
    assert printed["verdicts"] == kept["verdicts"]
    assert "arrays" not in printed["entries"][0]["checks"]["sbc"]
    assert files == {p: p.stat().st_mtime_ns for p in directory.rglob("*.*") if p.suffix != ".json"}


def test_a_method_that_fails_is_told_and_the_exit_status_is_1(capsys, directory):
    # 100 of 60 simulations can't be kept.
    few = [*FEW[2:], "--budget", "60"]
    code, out, _ = call(
        capsys, "choose", "two_moons", "rej_abc", "prior", *few, "--out", directory, "--json"
    )
    assert code == 1
    found = json.loads(out)
    assert found["verdicts"][0]["places"] == {"rej_abc": "failed", "prior": "uninformative"}
    assert "100 of 60 simulations would be kept" in found["entries"][0]["reason"]
    assert found["entries"][1]["checks"]["sbc"]["passed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two_moons"], "name the algorithms"),
        (["two_moon", "npe"], "did you mean 'two_moons'"),
        (["two_moons", "npee"], "did you mean 'npe'"),
        (["two_moons", "npe", "--npe.hiden", "3"], "did you mean"),
        (["two_moons", "npe", "--nle.hidden", "3"], "no option named '--nle.hidden'"),
        (["two_moons", "npe", "--npe.hidden"], "needs a value"),
        (["two_moons", "npe", "--pairs", "1"], "pairs are"),
        (["two_moons", "npe", "--budget", "0"], "a budget is"),
    ],
)
def test_wrong_usage_is_one_line_exit_2_and_nothing_written(
    capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, "choose", *arguments)
    assert code == 2
    assert not out
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_numbers_in_words():
    times = [0.04, 7, 45, 240, 3600 * 3, 3600 * 24 * 3]
    assert [duration(s) for s in times] == ["0.0 s", "7.0 s", "45 s", "4.0 min", "3.0 h", "3 days"]
    assert nats(0.4123, 0.0812) == "0.41 ± 0.08 nats"
    assert nats(0.4123, 0.0131) == "0.412 ± 0.013 nats"
    assert nats(12.3, 2.2) == "12 ± 2 nats"
    assert nats(0.0, 0.0) == "0.00 ± 0.00 nats"
    assert nats(-3.0, 1e-9) == "-3.0000 ± 0.0000 nats"
