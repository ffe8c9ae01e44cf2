import subprocess
from importlib import metadata
from types import SimpleNamespace

import pytest

from sbibench.core import versions


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a file in a repository with one commit."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")

    def git(*arguments):
        who = ["-c", "user.name=n", "-c", "user.email=e@x.example"]
        subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return folder


def test_the_commit_of_a_package_and_whether_it_was_changed(folder):
    commit = versions._commit(folder)
    assert len(commit) == 40
    (folder.parent / "elsewhere").write_text("")
    assert versions._commit(folder) == commit
    (folder / "__init__.py").write_text("x = 1")
    assert versions._commit(folder) == commit + "+"


def test_a_repository_around_the_package_is_not_its_own(folder, monkeypatch):
    inner = folder / "site-packages"
    inner.mkdir()
    (inner / "__init__.py").write_text("")
    for home, commit in (('{"vcs_info": {"commit_id": "abc"}}', "abc"), (None, "")):
        found = SimpleNamespace(read_text=lambda name, home=home: home)
        monkeypatch.setattr(metadata, "distribution", lambda name, found=found: found)
        assert versions._commit(inner) == commit


def test_packages_that_bring_a_task_or_an_algorithm_are_among_the_versions(monkeypatch):
    found = versions.versions("two_moons", "msgspec.json:decode")
    assert found["msgspec"] == metadata.version("msgspec")
    assert "msgspec" not in versions.versions("two_moons", "no_package_at_all:thing")
    point = metadata.EntryPoint("theirs", "rich.table:Table", "sbibench.algorithms")
    point = point._for(metadata.distribution("rich"))
    points = metadata.EntryPoints([point])
    monkeypatch.setattr(metadata, "entry_points", points.select)
    versions._outside.cache_clear()
    assert versions.versions("theirs")["rich"] == metadata.version("rich")
    versions._outside.cache_clear()


@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_outside_toolbox_and_what_its_extra_asks_for_are_among_the_versions(monkeypatch, quote):
    installed = {"sbi": "0.27.1", "torch": "2.9.0+cpu", "numpy": "2.4.6", "pyabc": "0.13.0"}

    def version(name):
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    asked = ["numpy<3,>=2", "absent; extra == 'sbi'", "pyabc<0.14; extra == 'pyabc'"]
    asked += [f"{name}>=0; extra == {quote}sbi{quote}" for name in ("sbi", "torch")]
    monkeypatch.setattr(metadata, "requires", lambda name: asked)
    monkeypatch.setattr(metadata, "version", version)
    versions._outside.cache_clear()
    assert versions.outside("two_moons", "sbi_npe") == {"sbi": "0.27.1", "torch": "2.9.0+cpu"}
    assert versions.outside("npe") == {}
    assert versions.outside("pyabc_smc") == {"pyabc": "0.13.0"}
    versions._outside.cache_clear()
