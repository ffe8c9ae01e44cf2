"""Errors in somebody's own code name its line."""

import json
import sys

import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench as sb
from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.whose import line_of, told
from sbibench.runner.judge import how_it_failed
from sbibench.runner.serve_rows import _said

SOURCE = """
import json
import numpy as np


def inner(text):
    return json.loads(text)  # raises in the standard library


def outer(rng, thetas):
    return np.vectorize(inner)(["{"])  # and the call goes through a library
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a function in a module of somebody's own, in the working directory."""
    (tmp_path / "whose_mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "whose_mine", raising=False)
    import whose_mine

    return whose_mine.outer


def raised(function, *arguments):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is
        function(*arguments)
    return caught.value


def test_the_innermost_line_of_their_own_is_named(mine, monkeypatch):
    error = raised(mine, None, None)
    assert isinstance(error, json.JSONDecodeError)
    error.__traceback__ = error.__traceback__.tb_next  # without the line of this test
    assert line_of(error) == "whose_mine.py:7"
    assert how_it_failed(error)[1].endswith("(whose_mine.py:7)")
    assert _said(error).endswith("(whose_mine.py:7)")
    monkeypatch.chdir("/")
    assert told(error).endswith("/whose_mine.py:7)")


def test_errors_of_libraries_alone_name_no_line():
    error = raised(json.loads, "{")
    error.__traceback__ = error.__traceback__.tb_next
    assert line_of(error) == ""
    assert told(error).startswith("JSONDecodeError: ")
    assert line_of(ValueError("never raised")) == ""


def test_the_probe_names_the_line(mine, key):
    box = dist.Uniform(-np.ones(2), np.ones(2)).to_event(1)
    task = sb.Task(name="mine", prior=box, simulate_batch=mine, x_obs=[0.5, -0.2])
    with pytest.raises(UsageError, match=r"JSONDecodeError.*\(whose_mine\.py:7\); if the function"):
        task.problem(1, 10).simulator(key, np.zeros((10, 2)))


@pytest.mark.parametrize(
    ("source", "line"),
    [("x = 1\n1 / 0\n", 2), ("\n\ndef\n", 3), ("import json\n\njson.loads('{')\n", 3)],
)
def test_a_module_that_can_t_be_imported_names_the_line(tmp_path, monkeypatch, source, line):
    (tmp_path / "whose_odd.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=rf"\(whose_odd\.py:{line}\)"):
        registry.TASKS.get("whose_odd:task")
