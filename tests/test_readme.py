import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.slow
def test_the_python_example_runs(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(code.strip().splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "two_moons.png").stat().st_size > 10_000


def test_the_suite_example_loads(tmp_path):
    from sbibench.runner.suite_file import load as load_suite

    (text,) = re.findall(r"```toml\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "suite.toml").write_text(text)
    assert len(load_suite(tmp_path / "suite.toml").runs()) == 2 * 2 * 3 * 2


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert links
    for link in links:
        assert (README.parent / link).exists(), link
