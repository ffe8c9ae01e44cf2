"""The documentation builds without a warning, has a page for everything, and loads nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sbibench.core import registry

ROOT = Path(__file__).parents[1]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
KINDS = {
    "tasks": registry.TASKS,
    "algorithms": registry.ALGORITHMS,
    "metrics": registry.METRICS,
    "checks": registry.CHECKS,
}
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|srcset|data)\s*=\s*"
    r"[\"']?((?:https?:)?//[^\"' >]+)"
    r"|<link\b(?=[^>]*\brel\s*=\s*[\"']?(?:stylesheet|preload|icon|preconnect|prefetch|modulepreload))"
    r"[^>]*?\bhref\s*=\s*[\"']?((?:https?:)?//[^\"' >]+)"
    r"|url\(\s*[\"']?((?:https?:)?//[^\"')]+)"
    r"|@import\s+[\"']((?:https?:)?//[^\"']+)",
    re.IGNORECASE,
)
"""What a browser fetches by itself from another host; links that people follow are no matter."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'sbibench[docs]'")
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: what is not logged is not counted, and strict no more.
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        check=False,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_what_a_browser_fetches_is_found():
    for text in (
        '<script src="https://elsewhere.org/x.js">',
        "<script defer src=//elsewhere.org/x.js>",
        '<link rel="stylesheet" href="https://elsewhere.org/x.css">',
        '<link href="https://elsewhere.org/x.css" rel="stylesheet">',
        '<img alt="" src="https://elsewhere.org/x.png">',
        "@font-face{src:url(https://elsewhere.org/x.woff2)}",
        '@import "https://elsewhere.org/x.css"',
    ):
        assert LOADED.search(text), text
    for text in ('<script src="../x.js">', '<a href="https://elsewhere.org">', "url(data:x//y)"):
        assert not LOADED.search(text), text


def test_no_page_loads_anything_from_another_host(site):
    files = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(files) > 50
    found = {f"{path.relative_to(site)}: {m[0]}" for path in files
             for m in LOADED.finditer(path.read_text())}  # fmt: skip
    assert not found


def test_everything_registered_has_a_page(site):
    for folder, kind in KINDS.items():
        listed = (site / folder / "index.html").read_text()
        for name in kind.names():
            page = (site / folder / f"{name}.html").read_text()
            first = kind.describe(name).split(":")[0].split("`")[0]
            assert first in page.replace("&rsquo;", "'"), name
            assert f'href="{name}.html"' in listed
    assert "certificates" in (site / "tasks" / "slcp.html").read_text()
    assert "--npe.flow.hidden" in (site / "algorithms" / "npe.html").read_text()


@pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")
def test_pages_opened_from_disk_can_be_searched_and_fit_phones(site):
    sync_api = pytest.importorskip("playwright.sync_api")
    problems, requests = [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: requests.append(r.url))
        for size in ((390, 844), (1280, 900)):
            page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
            for name in (
                "index",
                "gallery",
                "start",
                "reading_metrics",
                "tasks/slcp",
                "algorithms/npe",
            ):
                page.goto((site / f"{name}.html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= size[0], name
        page.click(".md-search__input")
        page.keyboard.type("two crescents")
        found = page.wait_for_selector(".md-search-result__link")
        assert found.get_attribute("href").startswith(site.as_uri())
        browser.close()
    assert not problems
    assert all(url.startswith(("file:", "data:")) for url in requests)


@pytest.fixture
def pages(monkeypatch):
    """Return the table of generated pages, without mkdocs."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "generate")
    import kinds

    return kinds


def test_one_more_file_gets_a_page(pages, tmp_path, monkeypatch):
    folder = tmp_path / "more_metrics"
    folder.mkdir()
    (folder / "__init__.py").touch()
    source = (ROOT / "src/sbibench/metrics/mean_error.py").read_text()
    (folder / "mean_error.py").write_text(source)
    (folder / "broken.py").write_text('"""Broken: needs what is not there."""\nimport absent\n')
    monkeypatch.syspath_prepend(tmp_path)
    kind = registry.Kind("metric", "more_metrics", "METRIC")
    made = pages.Pages(kind, "More", "Some.", pages.metric_page).all()
    assert set(made) == {"index", "mean_error", "broken"}
    assert "root mean square" in made["mean_error"]
    assert "absent" in made["broken"]
    assert "](broken.md)" in made["index"]


def test_the_navigation_takes_the_pages_there_are(pages, tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    import hook

    for name in ("index.md", "new.md"):
        (tmp_path / name).touch()
    nav = [{"Home": "index.md"}, {"Others": [{"Gone": "gone.md"}]}, {"Tasks": "GENERATED tasks"}]
    found = hook.on_config({"docs_dir": str(tmp_path), "nav": nav})["nav"]
    assert found[0] == {"Home": "index.md"}
    assert found[1]["Tasks"][0] == "tasks/index.md"
    assert {"two_moons": "tasks/two_moons.md"} in found[1]["Tasks"]
    assert found[2:] == [{"More": ["new.md"]}]
