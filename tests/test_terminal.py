"""The heat map in a terminal: its colours are those of the site, its gaps are words."""

import io

import numpy as np
import pytest
from rich.console import Console
from rich.text import Text

from sbibench.cli import stored
from sbibench.report.shades import shade
from sbibench.store.results import Results
from small_site import record
from test_cli import call

MEANS = {("slcp", "NPE"): 0.5, ("slcp", "NLE"): 0.75, ("two_moons", "NPE"): 1.0}
NAMES = ("NLE", "NPE", "[b]odd")


@pytest.fixture
def results(tmp_path):
    """Return results of two tasks, where runs failed and some were never made."""
    store = Results(tmp_path / "results")
    store.prepare()
    made = [record(label, task, 1000, o, c2st) for (task, label), c2st in MEANS.items()
            for o in (1, 2)]  # fmt: skip
    made.append(record("NPE", "slcp", 1000, 3, status="failed"))
    made.append(record("NLE", "two_moons", 1000, 1, status="failed"))
    made.append(record("[b]odd", "slcp", 1000, 1, c2st=0.9))
    for one in made:
        one.spec.settings["hidden"] = NAMES.index(one.spec.label)  # identities leave labels out
        store.write(one, np.zeros((2, 2), np.float32))
    return store.path


def shown(capsys, monkeypatch, *arguments, width=100):
    """Return what `results show` prints to a terminal with colours, and a function for styles."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor"
    )
    monkeypatch.setattr(stored, "out", console)
    code, _, _ = call(capsys, "results", "show", *arguments)
    assert code == 0
    text = Text.from_ansi(console.file.getvalue())
    lines = {line.plain.split()[0]: line for line in reversed(text.split()) if line.plain.strip()}

    def style(task, word):
        """Return the colours of a word on the first line of a task: ink and ground."""
        line = lines[task]
        found = line.get_style_at_offset(console, line.plain.index(word))
        return tuple(c and c.get_truecolor().hex for c in (found.color, found.bgcolor))

    return text.plain, lines, style


def test_cells_carry_the_colours_of_their_values(results, capsys, monkeypatch):
    text, lines, style = shown(capsys, monkeypatch, results)
    assert "c2st, 1,000 simulations" in text.splitlines()[0]
    assert lines["NLE"].plain.split() == [*NAMES]
    assert lines["slcp"].plain.split() == ["slcp", "0.750", "0.500*", "0.900"]
    for task, word, value in (("slcp", "0.500*", 0.5), ("slcp", "0.750", 0.75),
                              ("two_moons", "1.000", 1.0)):  # fmt: skip
        ground, ink = shade(2 * value - 1)
        assert style(task, word) == (ink, ground), word
    assert len({style("slcp", w) for w in ("0.500*", "0.750", "0.900")}) == 3


def test_what_has_no_value_is_told_in_words_without_a_ground(results, capsys, monkeypatch):
    _, lines, style = shown(capsys, monkeypatch, results)
    assert lines["two_moons"].plain.split() == ["two_moons", "failed", "1.000", "not", "run"]
    assert style("two_moons", "failed")[1] is None
    assert style("two_moons", "failed")[0] is not None
    assert style("two_moons", "not run") == (None, None)


def test_other_metrics_are_coloured_from_the_best_to_the_worst_of_a_task(
    results, capsys, monkeypatch
):
    _, _, style = shown(capsys, monkeypatch, results, "--metric", "mmd")
    assert style("slcp", "0.050")[1] == shade(0)[0]
    assert style("slcp", "0.090")[1] == shade(1)[0]


def test_one_task_has_no_heat_map(results, capsys, monkeypatch):
    text, _, _ = shown(capsys, monkeypatch, results, "--task", "slcp")
    assert "c2st, 1,000 simulations" not in text


def odd_values(tmp_path, label):
    """Return results of two tasks and nine algorithms with metrics of many characters."""
    store = Results(tmp_path / "results")
    store.prepare()
    for i, task in enumerate(["gaussian_linear_uniform", "slcp"]):
        for j in range(9):
            made = record(f"{label} {j}", task, 1000, 1, c2st=0.9)
            made.metrics.update(
                {"mmd": -0.0012 * (j + 1), "ksd": 1.2e5 * (i + 1), "meddist": 987.0}
            )
            made.spec.settings["hidden"] = j
            store.write(made, np.zeros((2, 2), np.float32))
    failed = record(f"{label} 0", "slcp", 1000, 2, status="failed")
    failed.spec.settings["hidden"] = 0
    store.write(failed, np.zeros((2, 2), np.float32))
    return store.path


@pytest.mark.parametrize("width", [80, 60, 40])
@pytest.mark.parametrize(
    ("metric", "values"),
    [("mmd", ("-0.0012", "-0.0012*", "-0.011")), ("ksd", ("1.2e+05", "2.4e+05", "2.4e+05*"))],
)
def test_long_values_are_not_cut_either(tmp_path, capsys, monkeypatch, width, metric, values):
    path = odd_values(tmp_path, "a")
    text, _, _ = shown(capsys, monkeypatch, path, "--metric", metric, width=width)
    assert "…" not in text
    assert set(values) <= set(text.split())


def test_names_stay_where_metrics_take_all_of_the_room(tmp_path, capsys, monkeypatch):
    text, _, _ = shown(capsys, monkeypatch, odd_values(tmp_path, "method"), width=60)
    table = text.split("Mean over")[1]
    assert "slcp" in table
    assert "method" in table
    assert "--metric NAME" in table
    assert "1.2e+05" in table  # whole, and what does not fit is not there
    assert "mmd" not in table
    assert "-0" not in table


@pytest.mark.parametrize("width", [80, 60, 40])
def test_where_there_is_little_room_no_value_is_cut(tmp_path, capsys, monkeypatch, width):
    store = Results(tmp_path / "results")
    store.prepare()
    labels = ["NLE", "NPE", "NRE", "REJ-ABC", "RF-ABC", "SMC-ABC", "SNLE", "SNPE", "a new method"]
    values = {}
    for i, task in enumerate(["gaussian_linear_uniform", "slcp"]):
        for j, label in enumerate(labels):
            made = record(label, task, 1000, 1, c2st=(value := 0.511 + 0.013 * (9 * i + j)))
            made.spec.settings["hidden"] = j
            store.write(made, np.zeros((2, 2), np.float32))
            values[task, label] = f"{value:.3f}"
    text, _, _ = shown(capsys, monkeypatch, store.path, width=width)
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for value in values.values():
        assert text.count(value) == 2, value  # in the map and in the table
    maps = text.count("c2st, 1,000 simulations")
    assert maps == {80: 1, 60: 2, 40: 5}[width]
