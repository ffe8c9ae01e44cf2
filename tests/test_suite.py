from pathlib import Path

import pytest

from sbibench.core.errors import UsageError
from sbibench.runner.suite import Suite

GOOD = """
tasks = ["two_moons", "gaussian_linear"]
budgets = [100, 200]
observations = [1, 2]
seeds = [0, 1]
[[algorithms]]
name = "rej_abc"
[[algorithms]]
name = "rej_abc"
label = "top 10"
settings = { top = 10 }
"""


def load(tmp_path, text):
    path = tmp_path / "suite.toml"
    path.write_text(text)
    return Suite.load(path)


def test_every_combination_is_one_run(tmp_path):
    runs = load(tmp_path, GOOD).runs()
    assert len(runs) == len({r.id for r in runs}) == 2 * 2 * 2 * 2 * 2
    assert {r.label for r in runs} == {"rej_abc", "top 10"}
    assert all(r.settings["kde"] is True for r in runs)  # settings are in full


def test_a_run_named_twice_is_one_run(tmp_path):
    doubled = GOOD.replace("[0, 1]", "[0, 0]")
    assert len(load(tmp_path, doubled).runs()) == 16


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"two_moons"', '"two_moon"', "did you mean 'two_moons'"),
        ('name = "rej_abc"\n[', 'name = "rejabc"\n[', "did you mean 'rej_abc'"),
        ("[100, 200]", "[0]", "budget"),
        ("[100, 200]", "[]", "budgets is empty"),
        ("[1, 2]", "[0]", "numbered from 1, up to 2147483647: 0"),
        ("[0, 1]", "[-1]", "seed is 0 or more"),
        ("top = 10", "topp = 10", "did you mean 'top'"),
        ("top = 10", 'top = "10"', "Expected `int`"),
        ("budgets", "budget", "did you mean 'budgets'"),
        ("seeds = [0, 1]", 'metrics = ["c2s"]', "did you mean 'c2st'"),
        ('label = "top 10"', 'label = "rej_abc"', "add a label"),
        ("seeds = [0, 1]", "time_limit = -1", "positive number of seconds"),
        ("[0, 1]", "[100000000000000]", "seed is less than"),
        ("tasks = [", "tasks = [[", "at line 3"),
        ("seeds = [0, 1]", 'share_fit = "yes"', "Expected `bool`"),
        ("seeds = [0, 1]", "share_fits = true", "did you mean 'share_fit'"),
        ("settings = { top = 10 }", "preset = 3", "Expected `str`"),
    ],
)
def test_what_no_run_can_be_made_of_is_refused(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(UsageError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1)).runs()
    assert message in str(caught.value)


def test_an_unreadable_file_is_an_error_in_words(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        Suite.load(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"binary\.toml"):
        Suite.load(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "suites").glob("*.toml")), ids=lambda p: p.stem
)
def test_shipped_suites_load(path):
    assert Suite.load(path).runs()
