"""What the pages of an algorithm, of a task that ships, and of an own simulator say."""

import json
import re

import numpy as np
import pytest

import sbibench as sb
from looks import faults
from sbibench.report.shades import fraction, shade
from sbibench.report.site.html import text
from sbibench.store.results import Results
from small_site import make, record
from test_cli import call
from test_report import Reader, chart

COMMAND = ["--budget", "300", "--pairs", "40", "--draws", "40", "--samples", "100",
    "--predictions", "50"]  # fmt: skip
OWN = """
import numpy as np, scipy.stats as st, sbibench as sb

def simulate(rng, thetas):
    return thetas + 0.3 * rng.normal(size=thetas.shape)

task = sb.Task(name="mine", prior=[st.uniform(-2, 4), st.norm(0, 1)], simulate_batch=simulate,
    x_obs=[0.5, -0.2], parameter_names=("rate", "shift"))
"""


def part(page, title):
    """Return what is under a heading of the second level."""
    (found,) = re.findall(rf"<h2>{re.escape(title)}</h2>(.*?)(?=<h2>|</main>)", page, re.DOTALL)
    return found


def rows(markup):
    """Return the cells of each row of a table, as text."""
    made = re.findall(r"<tr>(.*?)</tr>", markup)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in made]
    return [[re.sub("<[^>]*>", " ", cell).split() for cell in row] for row in cells]


@pytest.fixture(scope="module")
def nle(tmp_path_factory):
    """Return the small site and the page of NLE in it."""
    site = make(tmp_path_factory.mktemp("site"))
    return site, (site / "algorithms" / "NLE.html").read_text()


def test_an_algorithm_tells_its_settings_and_failures(nle):
    _, page = nle
    assert part(page, "Settings") == "<dl><dt>hidden</dt><dd>1</dd></dl>"
    assert "A &lt;flow&gt;." in page
    assert "Nothing." in part(page, "What went wrong")


def test_an_algorithm_tells_its_strengths_over_tasks(nle):
    found = part(nle[1], "c2st by task")
    assert rows(found) == [
        [[], ["1,000"], ["10,000"]],
        [["slcp"], ["0.714", "2", "of", "3"], ["not", "run"]],
        [["two_moons"], ["0.714", "2", "of", "3"], ["0.705", "2", "of", "3"]],
    ]
    # Means at 10,000: 0.605, 0.705, 0.905.
    colour, ink = shade(fraction(0.705, 0.605, 0.905))
    assert f'style="background:{colour};color:{ink}">0.705<small>' in found


def test_an_algorithm_tells_its_seconds_by_stage(nle):
    assert rows(part(nle[1], "Where the time goes")) == [
        [["budget"], ["simulations", "used"], ["fit", "(s)"]],
        [["1,000"], ["1,000"], ["2,000"]],
        [["10,000"], ["10,000"], ["20,000"]],
    ]


def test_an_algorithm_has_the_chart_of_costs_with_itself_marked(nle):
    site, page = nle
    place = part(page, "Quality against seconds")
    assert place == '<div class="chart" data-chart="cost" data-mark="NLE"></div>'
    spec = chart(site, "cost")["cost"]
    assert spec["layer"][0]["encoding"]["x"]["field"] == "seconds"
    ((points),) = spec["datasets"].values()
    ours = {p["budget"]: (p["seconds"], p["mean"]) for p in points if p["name"] == "NLE"}
    assert ours[1000] == pytest.approx((2000, 0.714))


def test_a_task_that_ships_tells_its_model_what_is_hard_and_its_certificate(tmp_path, capsys):
    store = Results(tmp_path / "results")
    store.prepare()
    samples = sb.get_task("two_moons").reference_samples(2)
    store.write(record("NPE", observation=2), samples[:500].astype(np.float32))
    out = tmp_path / "site"
    code, _, _ = call(capsys, "report", store.path, "--out", out)
    assert code == 0
    page = (out / "tasks" / "two_moons.html").read_text()
    assert "<h1>Two Moons</h1>" in page
    model = page[: page.index("<h2>")]
    assert "x = c + (-|θ1 + θ2|, -θ1 + θ2)/√2" in model
    assert "r ~ N(0.1, 0.01²); θ ~ U(-1, 1)²" in model
    assert "Hard: two modes, and each a thin crescent." in model
    assert "Lueckmann et al. 2021" in model
    assert "<dt>parameters</dt><dd>2: theta_1, theta_2</dd>" in model
    told = part(page, "How sure the reference is")
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", told))
    assert facts["observations"] == "10, with 10,000 samples each"
    assert facts["drawn by"] == "exact"
    passed, checks = re.fullmatch(r"(\d+) of (\d+) passed", facts["checks"]).groups()
    assert passed == checks
    assert int(checks) >= 10
    agreement = r"C2ST 0\.4\d+ to 0\.5\d+; 0\.5 is perfect agreement"
    assert re.fullmatch(agreement, facts["against grid"])
    assert facts["calibration"].startswith("p = 0.")
    drawn = (out / "data" / "pairs" / "two_moons" / "2.js").read_text()
    drawn = json.loads(drawn.split("] = ", 1)[1].rstrip().rstrip(";"))
    assert drawn["reference"]["contours"]["1-0"]
    assert len(drawn["predicted"]["NPE|1,000"]) == 3
    assert "Neural posterior estimation" in (out / "algorithms" / "NPE.html").read_text()


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Return a folder where a simulator of somebody's own is compared in."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_of_report.py").write_text(OWN)
    return folder


@pytest.fixture
def compared(own, monkeypatch, capsys):
    """Return the site of a comparison for an own simulator; it is made once."""
    monkeypatch.chdir(own)
    if not (own / "site").exists():
        methods = ["rej_abc", "smc_abc", "prior"]
        choice = ["choose", "own_of_report:task", *methods, *COMMAND, "--out", "found"]
        assert call(capsys, *choice)[0] == 0
        assert call(capsys, "report", "found", "--out", "site")[0] == 0
    return own / "site"


def test_a_comparison_for_an_own_simulator_becomes_a_page_with_the_verdict_first(compared, own):
    page = (compared / "comparison.html").read_text()
    Reader(compared / "comparison.html")
    kept = json.loads((own / "found" / "comparison.json").read_text())
    (verdict,) = kept["verdicts"]
    body = page[page.index("<main>") :]
    order = ["<h1>Which method for mine?</h1>", "<h2>With 300 simulations</h2>",
             f"<p><b>{text(verdict['text'][0])}</b></p>", "<table", 'class="chart"']  # fmt: skip
    at = [body.index(words) for words in order]
    assert at == sorted(at)
    names = [row[0] for row in rows(part(page, "With 300 simulations"))[1:]]
    assert names == [["rej_abc"], ["smc_abc"], ["prior"]]
    assert '"rate"' in (compared / "data" / "charts" / "comparison.js").read_text()
    assert 'href="comparison.html">' in (compared / "index.html").read_text()


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
def test_charts_of_a_comparison_are_drawn(compared, tab, size):
    page = tab(size)
    page.goto((compared / "index.html").as_uri())
    page.click("text=Which method? The verdict")
    page.wait_for_selector(".chart svg.marks")
    assert "Contraction" in page.text_content(".chart svg")
    options = page.locator("[data-choice=metric] option").all_inner_texts()
    assert any(o.startswith("prior, 300") for o in options)
    before = page.locator(".chart svg").inner_html()
    page.select_option("[data-choice=metric]", options[-1])
    page.wait_for_function(
        "before => document.querySelector('.chart svg').innerHTML !== before", arg=before
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert not faults(page)
    page.click("td a >> text=smc_abc")
    page.wait_for_selector("text=To run it again")
    assert "sbibench run own_of_report:task smc_abc" in page.inner_text("pre >> nth=0")
    page.goto((compared / "tasks").as_uri() + "/own_of_report~3a~task.html")
    page.wait_for_selector("[data-pairs] svg svg")
    assert "rate" in page.text_content("[data-pairs] svg")
