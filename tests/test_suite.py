import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from sbibench.core.errors import UsageError
from sbibench.report import published
from sbibench.runner.part import Part
from sbibench.runner.suite_file import load as load_suite

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
    return load_suite(path)


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
        ("top = 10", "top = -5", "top is 1 or more"),
        ('"top 10"\n', '"top 10"\nfoo = 3\n', "unknown field `foo`"),
        ('name = "rej_abc"\n[', 'name = "rej-abc"\n[', "did you mean 'rej_abc'"),
    ],
)
def test_what_no_run_can_be_made_of_is_refused(tmp_path, old, new, message):
    assert old in GOOD
    bad = GOOD.replace(old, new, 1)
    with pytest.raises(UsageError) as caught:
        load(tmp_path, bad)
    assert message in str(caught.value)
    # The line of the error is the one that was changed.
    if isinstance(caught.value.__cause__, tomllib.TOMLDecodeError):
        return  # it names the line where it noticed
    where = re.search(r"line (\d+)", str(caught.value))
    changed = [a != b for a, b in zip(bad.splitlines(), GOOD.splitlines(), strict=False)]
    assert where
    assert int(where[1]) == changed.index(True) + 1


def test_an_unreadable_file_is_an_error_in_words(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        load_suite(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"binary\.toml"):
        load_suite(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("part", "count"),
    [
        (Part(), 32),
        (Part(tasks=("two_moons",)), 16),
        (Part(algorithms=("top 10",), budgets=(100,)), 8),
        (Part(observations=(2,), tasks=("two_moons", "gaussian_linear")), 16),
    ],
)
def test_a_part_of_a_suite_is_its_runs_with_these_names_and_numbers(tmp_path, part, count):
    runs = load(tmp_path, GOOD).runs()
    found = part.of(runs)
    assert len(found) == count
    assert found == [run for run in runs if run in found]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part(tasks=("two_moon",)), "did you mean 'two_moons'"),
        (Part(algorithms=("top 1",)), "did you mean 'top 10'"),
        (Part(budgets=(100, 300)), "no budget of the suite is 300; there are 100, 200"),
    ],
)
def test_a_part_that_a_suite_does_not_have_is_refused(tmp_path, part, message):
    with pytest.raises(UsageError, match=message):
        part.of(load(tmp_path, GOOD).runs())


SUITES = Path(__file__).parents[1] / "suites"


def test_an_algorithm_may_have_tasks_and_budgets_of_its_own(tmp_path):
    own = GOOD.replace("settings = {", 'tasks = ["slcp"]\nbudgets = [50]\nsettings = {')
    cells = {(r.label, r.task, r.budget) for r in load(tmp_path, own).runs()}
    assert {c for c in cells if c[0] == "top 10"} == {("top 10", "slcp", 50)}
    assert {c[1:] for c in cells if c[0] == "rej_abc"} == {
        (task, budget) for task in ("two_moons", "gaussian_linear") for budget in (100, 200)
    }
    wrong = own.replace('tasks = ["slcp"]', 'tasks = ["slpc"]')
    with pytest.raises(UsageError, match=r"line 11: .*did you mean 'slcp'"):
        load(tmp_path, wrong)


@pytest.mark.parametrize(
    ("suite", "table"),
    [
        ("paper2021", "main_paper"),
        ("paper2021_abc_lra_sass", "supplement_abc_lra_sass"),
        ("paper2021_rej_abc", "supplement_hyperparameters_rej_abc"),
        ("paper2021_rf_abc", "supplement_rf_abc"),
        ("paper2021_sl", "supplement_sl"),
        ("paper2021_smc_abc_ours", "supplement_hyperparameters_smc_abc_ours"),
        ("paper2021_smc_abc_pyabc", "supplement_hyperparameters_smc_abc_pyabc"),
        ("paper2021_snle", "supplement_hyperparameters_snle"),
        ("paper2021_snpe", "supplement_hyperparameters_snpe"),
        ("paper2021_snre", "supplement_hyperparameters_snre"),
    ],
)
def test_shipped_suites_are_exactly_the_published_tables(suite, table):
    runs = load_suite(SUITES / f"{suite}.toml").runs()
    cells = Counter((run.task, run.label, run.budget) for run in runs)
    assert cells == {
        (row["task"], row["algorithm"], row["budget"]): row["n"]
        for row in published.table(table).iter_rows(named=True)
    }
    assert {run.observation for run in runs} == set(range(1, 11))


def test_the_quick_suite_loads():
    assert len(load_suite(SUITES / "quick.toml").runs()) == 8
