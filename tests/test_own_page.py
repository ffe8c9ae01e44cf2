"""The page about own algorithms does what it says."""

import re
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from sbibench.contract.kinds import NOUNS
from sbibench.contract.points import examine
from sbibench.runner.execute import execute
from sbibench.runner.suite_file import load

PAGE = (Path(__file__).parents[1] / "docs" / "own_algorithm.md").read_text()
CODE = re.findall(r"```python[^\n]*\n(.*?)```", PAGE, re.DOTALL)
SUITE = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def page(tmp_path, monkeypatch):
    (code,) = CODE
    (tmp_path / "my_methods.py").write_text(code)
    (tmp_path / "mine.toml").write_text(SUITE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_methods", raising=False)
    return tmp_path


def test_method_and_suite_are_less_than_thirty_lines():
    assert len((CODE[0] + SUITE).strip().splitlines()) < 30


def test_the_suite_is_run_with_small_budgets(page):
    runs = load(page / "mine.toml").runs()
    assert len(runs) == 2 * 2 * 3 * 5
    quick = {
        (run.task, run.label): replace(run, budget=300, samples=200, observation=1)
        for run in runs
        if run.algorithm in {"my_methods:regression_abc", "rej_abc"}
    }
    assert len(quick) == 4
    for run in quick.values():
        record, samples = execute(run, ["mmd"])
        assert record.status == "done", record.reason
        assert record.calls == 300
        assert samples is not None
        assert record.metrics["mmd"] < 1


def test_the_method_keeps_the_contract(page):
    noun = NOUNS["algorithm"]
    outcomes = list(examine(noun.subject("my_methods:regression_abc"), noun.points))
    assert not [outcome for outcome in outcomes if outcome.status == "failed"]
    skipped = {outcome.point for outcome in outcomes if outcome.status == "skipped"}
    assert skipped == {"density agrees with samples", "an amortized posterior follows x"}
