"""The site of results: what its pages say, and that results are only text in it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from sbibench.report.shades import shade
from sbibench.report.site.board import board
from sbibench.report.site.comparison_page import comparison_page
from sbibench.report.site.html import slug, tag, text
from sbibench.report.site.outlines import SIDE, contours, densities, frame, marginals
from sbibench.report.site.posteriors import _drawn
from sbibench.store.index import everything
from sbibench.store.results import Results
from small_site import NASTY, comparison, make, record


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the small site."""
    return make(tmp_path_factory.mktemp("site"))


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
    assert len(pages(site)) == 5 + 3 + 4
    for page in pages(site):
        for name, attributes in Reader(page).found:
            target = attributes.get("href") or attributes.get("src")
            if target is None or target.startswith(("#", "data:")):
                continue
            assert ":" not in target, target
            assert (page.parent / target.split("#")[0]).resolve().is_file(), (page, name, target)


def test_first_comes_the_largest_budget_that_fills_half_the_table(tmp_path):
    store = Results(tmp_path)
    store.prepare()
    for budget, labels in ((100, "abcd"), (1000, "ab"), (10_000, "a")):
        for label in labels:
            made = record(label, budget=budget)
            made.spec.settings["hidden"] = ord(label)
            store.write(made, None)
    page = board(everything(store)[0], {}, "Results", compared=False).html("Results")
    options = re.search(r"<select data-choice=.?budget.*?</select>", page)[0]
    assert re.findall(r"<option.*?>([\d,]+)<", options) == ["1,000", "100", "10,000"]
    shown = re.findall(r"<section [^>]*data-budget=\"([\d,]+)\">", page)
    assert shown == ["1,000"]


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
    ranks = re.search(r"<th>mean rank</th>(.*?)</tr>", other)[1]
    assert re.fullmatch(r'(<td class="rank">\d\.\d<small>\d\.\d–\d\.\d</small></td>){3}', ranks), (
        ranks
    )
    seconds = re.search(r'<section data-metric="seconds" data-budget="1,000".*?</section>', page)[0]
    # Its runs have settings of their own, and so a name of their own.
    to = "tasks/mine.html#algorithm=NPE%20%282%29&amp;budget=1%2C000"
    colour, ink = shade(0.5)
    assert re.search(
        rf'style="background:{colour};color:{ink}" title="NPE \(2\) on mine: 2000, mean over 2 '
        rf'observations[^"]*"><a href="{re.escape(to)}" style="color:{ink}">2e\+03</a>', seconds
    )  # fmt: skip


def chart(site, name):
    """Return the charts that a script of the site holds."""
    text = (site / "data" / "charts" / f"{name}.js").read_text()
    return json.loads(text.split("] = ", 1)[1].rstrip().rstrip(";"))


def test_a_task_has_lines_with_bands_and_all_observations_as_points(site):
    spec = chart(site, "two_moons")["c2st"]
    layers = {layer["mark"]["type"]: layer for layer in spec["layer"]}
    assert {"area", "circle", "line", "point"} <= set(layers)
    assert layers["area"]["encoding"]["y2"]["field"] == "high"
    points = spec["datasets"][layers["circle"]["data"]["name"]]
    assert len(points) == 3 * 2 * 2  # algorithms, budgets, observations
    assert {p["observation"] for p in points} == {1, 2}


def test_a_task_tells_what_runs_cost_and_which_there_are_not(site):
    assert set(chart(site, "slcp")) == {"c2st", "mmd", "seconds"}
    costs = chart(site, "slcp-cost")
    assert set(costs) == {"c2st", "mmd"}
    assert costs["c2st"]["layer"][0]["encoding"]["x"]["field"] == "seconds"
    page = (site / "tasks" / "slcp.html").read_text()
    table = page[page.index("What a run takes") : page.index("Posteriors</h2>")]
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", r) for r in table.split("<tr>")[1:]]
    found = {re.sub("<.*?>", "", first): cells for first, *cells in rows}
    assert found["NPE"] == ["33 min ", "5.6 h "]
    assert found["NLE"][1] == "not run"
    assert "1 of 2 failed" in found[text(NASTY)][0]


def test_a_task_that_nothing_is_known_of_shows_its_runs(site):
    page = (site / "tasks" / "mine.html").read_text()
    assert "Its definition is not at hand" in page
    assert set(chart(site, "mine")) == {"seconds"}
    drawn = (site / "data" / "pairs" / "mine" / "1.js").read_text()
    assert '"names":["theta_1","theta_2","theta_3","theta_4","theta_5"],"left_out":2' in drawn


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


def test_a_peak_is_never_cut_off_by_its_frame():
    rng = np.random.default_rng(0)
    square = frame([rng.normal(0, 1.0, (5000, 1))])
    truth = densities(rng.normal(0, 1.0, (5000, 1)), square)
    tops = []
    for sd in (1.0, 0.7, 0.5, 0.2, 0.05):
        found = densities(rng.normal(0, sd, (5000, 1)), square)
        tops.append(_points(marginals(found, 1.5 * truth.max(1))[0])[:, 1].min())
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) == len(tops)
    assert min(tops) >= 3
    assert SIDE - tops[0] == pytest.approx(0.82 * SIDE / 1.5, abs=5)


def test_what_is_much_higher_than_the_truth_is_told():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(4000, 1))
    sets = {str(sd): sd * truth for sd in (1.0, 0.75, 0.5)}
    drawn = _drawn(sets.get, [*sets], truth)
    assert [drawn.runs[i].outlines["higher"] for i in sets] == [False, False, True]
    assert not _drawn(sets.get, [*sets], None).runs["0.5"].outlines["higher"]


def test_an_outline_of_one_point_is_no_path():
    # Lone samples are islands, some of them smaller than a unit of the picture.
    step = r"-?\d+,-?\d+"
    for seed in range(20):
        samples = np.random.default_rng(seed).standard_t(2, (500, 2))
        for path in contours(samples, frame([samples]))["1-0"]:
            assert re.fullmatch(rf"(M{step}l{step}( {step})*)+", path), path


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


def test_a_comparison_has_a_page_with_its_verdict_first(site, tmp_path):
    page = comparison_page(comparison(), tmp_path).html("x")
    assert page.index("Take a.") < page.index("b is slow.") < page.index("<table")
    assert "0.40 ± 0.10" in page
    assert NASTY not in page
    chart = (tmp_path / "data" / "charts" / "comparison.js").read_text()
    assert "contraction" in chart
    assert 'href="comparison.html">Which method? The verdict' in (site / "index.html").read_text()
