"""Bars of progress on a terminal."""

import io
import sys
import time

import pytest

from sbibench.cli import main

METHOD = """
from dataclasses import dataclass
from jax import random
from sbibench.inference.fixed import fixed
from sbibench.toolboxes.guest import guest

@dataclass(frozen=True)
class Guest:
    def fit(self, key, problem):
        with guest(key, {}):
            print("what the toolbox prints")
            problem.progress("training far away [1]", 1, 2)
            WATCH(problem)
        return fixed(problem, [[0.0] * problem.d] * 10, {}, "Guest")
"""


class Terminal(io.StringIO):
    """Takes what a terminal would show."""

    def isatty(self):
        """Say that it is one."""
        return True


def test_the_bar_goes_on_while_a_toolbox_works_that_may_print_nothing(tmp_path, monkeypatch):

    (tmp_path / "method_of_a_guest.py").write_text(METHOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal, during = Terminal(), []

    def watch(problem):
        until = time.monotonic() + 10
        while "training far away [1]" not in terminal.getvalue() and time.monotonic() < until:
            problem.progress("training far away [1]", 1, 2)
            time.sleep(0.05)
        during.append(terminal.getvalue())

    monkeypatch.syspath_prepend(tmp_path)
    import method_of_a_guest

    monkeypatch.setattr(method_of_a_guest, "WATCH", watch, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(SystemExit) as done:
        main(
            [
                "run",
                "two_moons",
                "method_of_a_guest:Guest",
                "--budget",
                "10",
                "--samples",
                "10",
                "--metric",
                "mmd",
            ]
        )
    assert done.value.code == 0, terminal.getvalue()
    assert "training far away [1]" in during[0]
    assert "the toolbox prints" not in terminal.getvalue()
