import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sbibench as sb
from sbibench.cli import main
from sbibench.core import registry
from sbibench.core.errors import UsageError

KINDS = (registry.TASKS, registry.ALGORITHMS, registry.METRICS, registry.CHECKS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.what)
def test_every_name_is_a_file_with_its_object_and_a_description(kind):
    assert kind.names()
    for name in kind.names():
        assert kind.missing(name) or kind.get(name) is not None
        assert kind.describe(name).endswith((".", ")"))


def test_listing_imports_neither_jax_nor_what_it_lists():
    code = (
        "import sys; from sbibench.core import registry as r; "
        "kinds = (r.TASKS, r.ALGORITHMS, r.METRICS, r.CHECKS); "
        "[k.describe(n) for k in kinds for n in k.names()]; "
        "[k.missing(n) for k in kinds for n in k.names()]; "
        "parts = ('jax', 'numpyro', 'torch', r.ALGORITHMS.adapters, *(k.folder for k in kinds)); "
        "bad = [m for m in sys.modules if m.startswith(parts)]; "
        "sys.exit(', '.join(bad) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("kind", "typo", "meant"),
    [(registry.TASKS, "two_moon", "two_moons"), (registry.ALGORITHMS, "rejabc", "rej_abc")],
)
def test_a_typo_is_answered_with_the_nearest_name(kind, typo, meant):
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        kind.get(typo)


def test_an_algorithm_whose_toolbox_is_missing_says_how_to_get_it(monkeypatch, tmp_path, capsys):
    kind = registry.ALGORITHMS
    assert kind.toolbox("npe") is None
    assert kind.missing("npe") is None
    assert kind.toolbox("sbi_npe") == "sbi"
    found = registry.util.find_spec
    monkeypatch.setattr(
        registry.util, "find_spec", lambda name: None if name == "sbi" else found(name)
    )
    with pytest.raises(UsageError) as caught:
        kind.get("sbi_npe")
    assert str(caught.value) == (
        "sbi_npe: the toolbox sbi is not installed: pip install 'sbibench[sbi]'"
    )
    with pytest.raises(UsageError, match="did you mean 'sbi_npe'"):
        kind.get("sbi_nppe")
    with pytest.raises(SystemExit) as done:
        main(["run", "two_moons", "sbi_npe", "--out", str(tmp_path)])
    assert done.value.code == 2
    assert "pip install 'sbibench[sbi]'" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        main(["algorithms", "--json"])
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["sbi_npe"]["toolbox"] == "sbi"
    assert "not installed" in rows["sbi_npe"]["missing"]
    assert rows["npe"]["missing"] is None


def test_a_folder_that_is_called_like_a_toolbox_is_none(monkeypatch, tmp_path):
    (tmp_path / "nosuchbox").mkdir()
    (tmp_path / "their_adapters").mkdir()
    (tmp_path / "their_adapters" / "__init__.py").touch()
    (tmp_path / "their_adapters" / "nosuchbox_npe.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    kind = registry.Kind("algorithm", "sbibench.algorithms", "ALGORITHM", "their_adapters")
    assert kind.missing("nosuchbox_npe") == (
        "the toolbox nosuchbox is not installed: pip install 'sbibench[nosuchbox]'"
    )


def test_every_toolbox_is_an_extra():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    toolboxes = {registry.ALGORITHMS.toolbox(name) for name in registry.ALGORITHMS.names()}
    assert toolboxes - {None} <= set(extras)


def test_anybody_s_own_object_is_reached_by_its_address(tmp_path, monkeypatch):
    (tmp_path / "their_module.py").write_text(
        "from sbibench.algorithms.rej_abc import RejABC as thing\nnumber = 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.ALGORITHMS.get("their_module:thing")().top == 100
    with pytest.raises(UsageError, match="from_function makes one of a function"):
        registry.ALGORITHMS.get("os.path:join")
    assert registry.ALGORITHMS.describe("their_module:thing") == "from their_module:thing"
    with pytest.raises(UsageError, match="no algorithm: it should be a dataclass"):
        registry.ALGORITHMS.get("their_module:number")
    with pytest.raises(UsageError, match="no task: it should be a Task"):
        registry.TASKS.get("their_module:thing")
    for half in (":thing", "their_module:"):
        with pytest.raises(UsageError, match="as module:name"):
            registry.TASKS.get(half)
    with pytest.raises(UsageError, match="not its file: their_module:thing, in the folder"):
        registry.TASKS.get("there/their_module.py:thing")
    with pytest.raises(UsageError, match="did you mean 'thing'"):
        registry.TASKS.get("their_module:thin")
    with pytest.raises(UsageError, match="no module 'not_there'"):
        registry.TASKS.get("not_there:thing")


def test_the_public_face():
    assert sb.get_task("two_moons").name == "two_moons"
    assert sb.get_algorithm("npe").flow.transforms == 5
    assert callable(sb.metrics.c2st)
    assert sb.get_metric("mmd").needs
    assert callable(sb.calibration.sbc)
    assert sb.get_check("tarp").needs
    with pytest.raises(AttributeError):
        sb.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def", "importing 'theirs_odd' failed: SyntaxError"),
        ("1 / 0", "importing 'theirs_odd' failed: ZeroDivisionError"),
        ("import sys; sys.exit(5)", "importing 'theirs_odd' failed: SystemExit"),
        (
            "import nowhere_at_all",
            "importing 'theirs_odd' failed: ModuleNotFoundError: No module named",
        ),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int = 1", "no algorithm"),
        (
            "from dataclasses import dataclass\n@dataclass\nclass A:\n    n: int\n"
            "    def fit(self): ...",
            "give every setting a default",
        ),
    ],
)
def test_what_is_wrong_with_somebody_s_own_file_is_one_line(tmp_path, monkeypatch, text, message):
    (tmp_path / "theirs_odd.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "theirs_odd", raising=False)
    with pytest.raises(UsageError, match=message):
        registry.ALGORITHMS.get("theirs_odd:A")
