"""The site of results in a browser: opened from disk, in both themes, on a phone, on paper."""

import json
import re

import pytest

from looks import faults
from sbibench.report.site.html import slug
from small_site import NASTY, make

PHONE, DESKTOP = (390, 844), (1280, 900)
DRAWN = ".chart svg.marks"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the small site."""
    return make(tmp_path_factory.mktemp("site"))


def test_from_the_board_to_a_task_to_a_run(site, tab):
    page = tab()
    page.goto((site / "index.html").as_uri())
    page.select_option("[data-choice=metric]", "mmd")
    page.select_option("[data-choice=budget]", "1,000")
    shown = page.locator("section[data-metric]:visible")
    assert shown.count() == 1
    assert shown.get_attribute("data-metric") == "mmd"
    assert shown.get_attribute("data-budget") == "1,000"
    page.reload()  # the address keeps what was chosen
    assert shown.get_attribute("data-metric") == "mmd"

    page.click("section:visible tbody th a >> text=slcp")
    page.wait_for_selector(DRAWN)
    page.wait_for_selector(".pairs svg")
    before = page.locator(DRAWN).first.inner_html()
    page.select_option("[data-choice=metric]", "seconds")
    page.wait_for_function("before => document.querySelector('.chart svg').innerHTML !== before",
                           arg=before)  # fmt: skip
    assert "seconds of a run" in page.locator(DRAWN).first.text_content()
    for name, value in (("algorithm", "NPE"), ("budget", "1,000"), ("observation", "2")):
        before = page.locator("[data-pairs] svg").first.inner_html()
        page.select_option(f"[data-choice={name}]", value)
        page.wait_for_function(
            "before => document.querySelector('[data-pairs] svg').innerHTML !== before", arg=before
        )
    assert page.locator("[data-pairs] svg svg").count() == 3  # two marginals, contours below
    assert page.locator("[data-pairs] path.truth").count() == 4
    assert page.locator("[data-pairs] path.run").count() == 4
    assert page.locator("[data-predictive] circle").count() == 2  # x_o
    for kind in ("truth", "run"):  # of each data value 90 % of the draws, and their median
        drawn = page.locator(f"[data-predictive] path.{kind}")
        lines = [drawn.nth(i).get_attribute("d") for i in range(drawn.count())]
        assert len(lines) == 4, kind
        bands = [re.fullmatch(r"M([\d.]+),([\d.]+)V([\d.]+)", d) for d in lines[::2]]
        medians = [re.fullmatch(r"M([\d.]+),([\d.]+)h6", d) for d in lines[1::2]]
        for band, median in zip(bands, medians, strict=True):
            # Up is down in pictures.
            assert 8 <= float(band[3]) < float(median[2]) < float(band[2]) <= 228
            assert float(median[1]) + 3 == pytest.approx(float(band[1]))
    page.select_option("[data-choice=algorithm]", NASTY)
    page.wait_for_selector("text=There are no samples of this algorithm")

    page.click("summary")
    page.click(f"details a >> text={NASTY} >> nth=1")
    page.wait_for_selector("text=The whole record")
    assert page.title() == page.inner_text("h1")
    assert f"{NASTY} on slcp, 1,000 simulations, observation 2" in page.inner_text("h1")
    told = page.inner_text("main")
    assert f"failed: it broke: {NASTY}" in told
    assert "sbibench run slcp" in page.inner_text("pre >> nth=0")
    page.click("summary")
    assert json.loads(page.inner_text("details pre"))["spec"]["label"] == NASTY
    page.click("main a >> nth=0")
    page.wait_for_selector(DRAWN)
    assert page.inner_text("h1") == NASTY
    assert "it broke: <script>" in page.inner_text("main")


def test_a_run_tells_its_metrics_with_errors_and_its_cost(site, tab):
    page = tab()
    page.goto((site / "tasks" / "two_moons.html").as_uri())
    page.click("summary")
    page.click("details a >> text=NPE >> nth=0")
    page.wait_for_selector("text=To run it again")
    told = page.inner_text("main").split("\n")
    assert told[told.index("c2st") + 1] == "0.6090 ± 0.004"
    assert told[told.index("fit (s)") + 1] == "2000.00"
    assert told[told.index("hidden") + 1] == "0"


def test_a_task_without_a_reference_has_no_word_of_one_in_its_pictures(site, tab):
    page = tab()
    page.goto((site / "tasks" / "mine.html").as_uri())
    page.wait_for_selector(".pairs svg")
    page.wait_for_selector(DRAWN)
    assert page.locator(".chart").count() == 1
    assert page.locator("[data-pairs] path.truth").count() == 0
    told = page.inner_text("[data-pairs]")
    assert "Grey" not in told
    assert "2 more are not drawn" in told


def colours(page):
    """Return the colours of the paper, the text, and the text in the first chart."""
    return page.evaluate(
        """() => ["body", "h1", ".chart svg text"].map((s, i) =>
        getComputedStyle(document.querySelector(s))[["backgroundColor", "color", "fill"][i]])"""
    )


LIGHT = ["rgb(255, 255, 255)", "rgb(26, 26, 26)", "rgb(26, 26, 26)"]
DARK = ["rgb(22, 22, 22)", "rgb(232, 232, 230)", "rgb(232, 232, 230)"]


@pytest.mark.parametrize(
    ("scheme", "found", "other"), [("light", LIGHT, DARK), ("dark", DARK, LIGHT)]
)
def test_pages_are_light_or_dark_and_paper_is_white(site, tab, scheme, found, other):
    page = tab(scheme=scheme)
    page.goto((site / "tasks" / "slcp.html").as_uri())
    page.wait_for_selector(DRAWN)
    assert colours(page) == found
    page.click("#theme")
    assert colours(page) == other
    page.reload()
    page.wait_for_selector(DRAWN)
    assert colours(page) == other
    page.emulate_media(media="print")
    assert colours(page) == LIGHT
    assert not page.is_visible("#theme")
    assert page.is_visible("[data-choice=metric]")  # paper says what it shows


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_text_of_every_page_fits_and_is_easy_to_read_in_both_themes(site, tab, size):
    page = tab(size)
    told = (site / "data" / "runs" / "slcp.js").read_text().split(" = ", 1)[1]
    ids = {r["record"]["status"]: i for i, r in json.loads(told.rstrip(";\n")).items()}
    assert set(ids) == {"done", "failed"}
    addresses = [p.as_uri() for p in sorted(site.rglob("*.html"))
                 if p.stem not in {"NLE", "two_moons"}]  # as others  # fmt: skip
    addresses += [f"{(site / 'run.html').as_uri()}#task=slcp&id={i}" for i in ids.values()]
    for address in addresses:
        page.goto(address)
        if page.locator(".chart").count():
            page.wait_for_selector(DRAWN)
        if page.locator("[data-pairs]").count():
            page.wait_for_selector("[data-pairs] > *")
        if "#" in address:
            page.reload()
            page.wait_for_selector("text=To run it again")
        # Nothing is folded up or waits for a choice.
        page.evaluate("""document.querySelectorAll("details, section[hidden]").forEach((e) => {
            e.open = true; e.hidden = false; })""")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], address
        assert NASTY not in page.evaluate("[...document.scripts].map(s => s.text).join()")
        assert page.title() != "broken"
        assert not faults(page), address
    page.goto((site / "algorithms" / f"{slug(NASTY)}.html").as_uri())
    assert NASTY in page.inner_text("h1")


def test_pale_and_cut_off_text_would_be_found(tab, tmp_path):
    (tmp_path / "x.html").write_text(
        "<body style='background: white; color: black'>"
        "<h1 style='color: rgb(130, 130, 130)'>pale</h1>"
        "<p style='width: 2em'>muchtoolong</p><p style='opacity: .5'>faint</p><p>good</p>"
        "<div class=chart><svg width=50><text x=-9 y=20>outside</text></svg></div>"
    )
    page = tab()
    page.goto((tmp_path / "x.html").as_uri())
    found = [told.split('"')[1] for told in faults(page)]
    assert sorted(found) == ["faint", "faint", "muchtoolong", "outside", "pale", "pale"]
