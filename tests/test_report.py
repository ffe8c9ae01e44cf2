"""The site of results: what its pages say, that results are only text in it, and that it works."""

import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from sbibench.core.finding import Finding, rebuilt
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report.site.build import build
from sbibench.report.site.comparison_page import comparison_page
from sbibench.report.site.facts import TaskFacts
from sbibench.report.site.html import slug, tag, text
from sbibench.report.site.outlines import SIDE, contours, densities, frame, marginals
from sbibench.store.index import everything
from sbibench.store.results import Results

NASTY = '<script>document.title="broken"</script>&"\'`'
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def record(label, task="two_moons", budget=1000, observation=1, c2st=0.6, status="done", **more):
    spec = RunSpec(
        task=task, task_version=1, algorithm="npe", settings={"hidden": 50}, label=label,
        budget=budget, observation=observation, seed=0, samples=500,
    )  # fmt: skip
    metrics = {} if status != "done" else {"c2st": c2st, "mmd": c2st / 10}
    return RunRecord(
        spec=spec, status=status, reason=more.get("reason", "x"), metrics=metrics,
        errors={"c2st": 0.004} if metrics else {}, calls=budget, seconds={"fit": 2.0 * budget},
    )  # fmt: skip


def facts(name):
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(2000, 2)).astype(np.float32)
    return TaskFacts(
        name=name, label=name.title(), description=f"About `{name}`.\n\nHard: <not>.",
        parameter_names=("a", "b"), data_names=("x", NASTY), certificate=[("checks", "6 of 6")],
        observed=lambda i: np.array([0.5, -0.2]), truth=lambda i: np.zeros(2),
        reference=lambda i: reference, predict=lambda sets: sets,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of a small site, where some runs failed and some are missing."""
    folder = tmp_path_factory.mktemp("site")
    store = Results(folder / "results")
    store.prepare()
    rng = np.random.default_rng(1)
    for task in ("two_moons", "slcp"):
        for hidden, (label, c2st) in enumerate([("NPE", 0.6), ("NLE", 0.7), (NASTY, 0.9)]):
            for budget in (1000, 10_000):
                for observation in (1, 2):
                    if (task, label, budget) == ("slcp", "NLE", 10_000):
                        continue
                    failed = (task, label, observation) == ("slcp", NASTY, 2)
                    made = record(
                        label, task, budget, observation, c2st + 0.01 * observation - budget / 1e6,
                        status="failed" if failed else "done",
                        reason=f"it broke: {NASTY}" if failed else "all samples drawn",
                    )  # fmt: skip
                    # One spec per label: identities leave the label out.
                    made.spec.settings["hidden"] = hidden
                    drawn = None if failed else rng.normal(0.2, 1.2, (500, 2)).astype(np.float32)
                    store.write(made, drawn)
    runs, _ = everything(store)
    first = build(
        folder / "site", runs, store, store.samples,
        {name: facts(name) for name in ("two_moons", "slcp")}, {"npe": "A <flow>."},
        {("c2st", "two_moons", "NPE", 1000): 0.725}, lambda r: f"sbibench run {r.spec.task}",
        "my <results>",
    )  # fmt: skip
    assert first == folder / "site" / "index.html"
    return first.parent


class Reader(HTMLParser):
    """Collects the elements, links and scripts of a page."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open = [], []
        self.feed(page.read_text())
        self.close()
        assert not self.open, f"{page}: not closed: {self.open}"

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))
        if name not in {"meta", "link", "br"}:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name


def pages(site):
    return sorted(site.rglob("*.html"))


def test_pages_are_whole_and_every_link_and_script_is_a_file_of_the_site(site):
    assert len(pages(site)) == 4 + 2 + 3
    for page in pages(site):
        for name, attributes in Reader(page).found:
            target = attributes.get("href") or attributes.get("src")
            if target is None or target.startswith(("#", "data:")):
                continue
            assert ":" not in target, target
            assert (page.parent / target.split("#")[0]).resolve().is_file(), (page, name, target)


def test_what_results_say_is_text(site):
    for page in pages(site):
        scripts = [a for name, a in Reader(page).found if name == "script"]
        assert all("src" in a for a in scripts), page
    assert text(NASTY) in (site / "index.html").read_text()


def test_cells_say_means_published_failed_and_missing(site):
    page = (site / "index.html").read_text()
    section = re.search(r'<section data-metric="c2st" data-budget="10,000">.*?</section>', page)[0]
    assert "not run" in section
    assert "1 of 2 failed" in section
    assert "0.605" in section  # NPE on both tasks: 0.6 + 0.015 - 0.01
    other = re.search(r'<section data-metric="c2st" data-budget="1,000".*?</section>', page)[0]
    assert "(0.725)" in other
    assert "hidden" in other.split(">")[0]


def test_names_of_files_differ_where_names_do():
    names = ["NPE", "npe", "a b", "a_b", "a/b", "../x", "", ".", "~", "~20~", "é", NASTY, " "]
    slugs = [slug(n) for n in names]
    assert len(set(slugs)) == len(names)
    assert all(re.fullmatch(r"[\w.~-]+", s) and not s.startswith(".") for s in slugs)


def test_markup_is_made_of_elements_alone():
    assert tag("p", "a < b", tag("b", "&"), title='"') == (
        '<p title="&quot;">a &lt; b<b>&amp;</b></p>'
    )


def test_outlines_hold_the_mass_they_say():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(20_000, 2))
    square = frame([samples])
    half, most = contours(samples, square)["1-0"]
    for path, mass in ((half, 0.5), (most, 0.9)):
        pieces = [p for p in path.split("M") if p]
        points = max((_points("M" + p) for p in pieces), key=len)
        x, y = points.T
        area = abs(np.sum(x * np.roll(y, 1) - y * np.roll(x, 1))) / 2
        # A disk of radius r holds 1 - exp(-r²/2); the kernel widens it a little.
        per_unit = SIDE**2 / np.prod(square.high - square.low)
        expected = 2 * np.pi * -np.log(1 - mass) * per_unit
        assert area == pytest.approx(expected, rel=0.15)


def _points(path):
    start, steps = path[1:].split("l")
    numbers = [np.array([float(v) for v in p.split(",")]) for p in [start, *steps.split()]]
    return np.cumsum(numbers, axis=0)


def test_heights_of_marginals_compare():
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(0, 0.5, (5000, 1)), rng.normal(0, 1.0, (5000, 1))
    square = frame([wide])
    tops = densities(narrow, square).max(1), densities(wide, square).max(1)
    assert tops[0] / tops[1] == pytest.approx(2, rel=0.15)
    heights = [SIDE - _points(marginals(densities(s, square), 2 * tops[1])[0])[:, 1].min()
               for s in (narrow, wide)]  # fmt: skip
    assert heights[0] / heights[1] == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("samples", [np.zeros((5, 1)), np.full((3, 2), 7.0), np.eye(7)])
def test_odd_samples_are_drawn_too(samples):
    square = frame([samples])
    assert all(
        p.startswith("M")
        for p in marginals(densities(samples, square), np.ones(9)[: len(square.low)])
    )
    assert all(isinstance(p, list) for p in contours(samples, square).values())


def test_the_command_makes_a_site_and_refuses_what_is_no_store(tmp_path, capsys):
    from sbibench.cli import main

    store = Results(tmp_path / "results")
    store.prepare()
    store.write(record("mine", task="gone:away"), np.zeros((500, 2), np.float32))
    out = tmp_path / "site"
    with pytest.raises(SystemExit) as ended:
        main(["report", str(store.path), "--out", str(out)])
    assert ended.value.code == 0
    assert str(out / "index.html") in capsys.readouterr().out
    made = json.loads((out / "data" / "runs" / f"{slug('gone:away')}.js").read_text()
                      .split(" = ", 1)[1].rstrip(";\n"))  # fmt: skip
    ((told),) = made.values()
    assert told["command"].startswith("sbibench run gone:away npe --budget 1000")
    for arguments, message in (
        ([str(tmp_path / "no")], "is no directory of results"),
        ([str(tmp_path)], "there are no results in"),
        ([str(store.path), "--out", str(out / "index.html")], "is a file"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["report", *arguments])
        assert ended.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")
def test_the_site_works_in_a_browser_from_disk(site):
    sync_api = pytest.importorskip("playwright.sync_api")
    problems, requests = [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: requests.append(r.url))
        page.goto((site / "index.html").as_uri())
        page.select_option("[data-choice=metric]", "mmd")
        page.select_option("[data-choice=budget]", "1,000")
        shown = page.locator("section[data-metric]:visible")
        assert shown.count() == 1
        assert shown.get_attribute("data-metric") == "mmd"
        assert shown.get_attribute("data-budget") == "1,000"
        page.click("section:visible tbody th a >> text=slcp")
        page.wait_for_selector(".chart svg")
        page.wait_for_selector(".pairs svg")
        page.select_option("[data-choice=algorithm]", NASTY)
        page.select_option("[data-choice=observation]", "2")
        page.wait_for_selector("text=There are no samples of this algorithm")
        page.click("#theme")
        page.click("summary")
        page.click("details a >> nth=0")
        page.wait_for_selector("text=The whole record")
        assert "slcp" in page.inner_text("h1")
        assert page.title() != "broken"
        page.goto((site / "algorithms" / f"{slug(NASTY)}.html").as_uri())
        page.wait_for_selector(".chart svg")
        assert "it broke: <script>" in page.inner_text("main")
        browser.close()
    assert not problems
    assert all(url.startswith(("file:", "data:")) for url in requests)


def test_a_comparison_has_a_page_with_its_verdict_first(site, tmp_path):
    finding = Finding(
        statistic=0.2, p_value=0.3, passed=True, level=0.05, verdict="no fault",
        arrays={"contraction": np.array([0.5, 0.6]), "contraction_error": np.array([0.1, 0.1])},
    )  # fmt: skip
    assert rebuilt(finding.plain()).plain() == finding.plain()
    entry = {
        "label": NASTY, "run": "0", "task": "two_moons", "budget": 1000, "status": "done",
        "why_not": "",
        "checks": {"contraction": finding.plain(), "sbc": {"missing": "no"}},
        "seconds": {"fit": 3.0},
        "predictive_distance": {"value": 0.5, "error": 0.01, "missing": ""},
    }  # fmt: skip
    verdict = {
        "budget": 1000, "against": "a", "places": {NASTY: "worse"},
        "text": ["Take a.", "b is slow."],
        "gaps": {NASTY: {"mean": 0.4, "error": 0.1, "pairs": 50}},
    }  # fmt: skip
    found = {
        "task": "two_moons", "facts": {"pairs": 50}, "level": 0.05, "prior_distance": 2.0,
        "parameters": ["a", "b"], "entries": [entry], "verdicts": [verdict], "costs": [],
        "cautions": ["Little is known."],
    }  # fmt: skip
    page = comparison_page(found, tmp_path).html("x")
    assert page.index("Take a.") < page.index("b is slow.") < page.index("<table")
    assert "0.40 ± 0.10" in page
    assert NASTY not in page
    chart = (tmp_path / "data" / "charts" / "comparison.js").read_text()
    assert "contraction" in chart
