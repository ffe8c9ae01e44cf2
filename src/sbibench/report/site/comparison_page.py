"""The page of a comparison without a true posterior: the verdict first, plots after."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sbibench.core.finding import rebuilt
from sbibench.core.words import duration
from sbibench.report.calibration import calibration
from sbibench.report.cells import short
from sbibench.report.site.data import plain, script
from sbibench.report.site.html import Markup, Page, fragment, link, select, table, tag

TESTS = {"sbc": "SBC", "coverage": "coverage", "tarp": "TARP", "lc2st": "L-C2ST"}


def comparison_page(found: Mapping[str, Any], site: Path) -> Page:
    """Write the data of a comparison's charts, and return its page.

    Parameters
    ----------
    found
        What `Comparison.plain` returns.
    site
        The folder of the site.
    """
    specs = {}
    for entry in found["entries"]:
        findings = {n: rebuilt(c) for n, c in entry["checks"].items() if "missing" not in c}
        if any(f.arrays for f in findings.values()):
            title = f"{entry['label']}, {entry['budget']:,} simulations"
            specs[title] = plain(calibration(findings, found["parameters"], title))
    script(site / "data" / "charts" / "comparison.js", "charts", "comparison", specs)
    content: list[object] = []
    for verdict in reversed(found["verdicts"]):
        first, *others = verdict["text"] or ["There is no verdict."]
        content += [
            tag("h2", f"With {verdict['budget']:,} simulations"),
            tag("p", tag("b", first)),
            tag("ul", *(tag("li", line) for line in others)),
            _methods(found, verdict),
        ]
    for head, lines in (
        ("What ten times the simulations would cost", found["costs"]),
        ("What this can't tell", found["cautions"]),
    ):
        if lines:
            content += [tag("h2", head), tag("ul", *(tag("li", line) for line in lines))]
    if specs:
        content += [
            tag("h2", "Calibration"),
            tag("form", select("Method", "metric", specs), class_="choice"),
            tag("div", class_="chart", data_chart="comparison"),
        ]
    title = f"Which method for {found['task']}?"
    scripts = ["static/vega.js", "data/charts/comparison.js"]
    return Page("comparison.html", title, content, scripts)


def _methods(found: Mapping[str, Any], verdict: Mapping[str, Any]) -> Markup:
    rows = []
    for entry in found["entries"]:
        if entry["budget"] != verdict["budget"]:
            continue
        label, distance = entry["label"], entry["predictive_distance"]
        to = "run.html" + fragment(task=entry["task"], id=entry["run"])
        away = "–" if distance["value"] is None else short(distance["value"])
        if distance["value"] is not None and distance["error"]:
            away += f" ± {distance['error']:.1g}"
        rows.append(
            [
                link(label, to),
                verdict["places"].get(label, "–"),
                _gap(verdict, label),
                *(_test(entry, name) for name in TESTS),
                tag("span", away, title=distance["missing"] or None),
                duration(sum(entry["seconds"].get(s, 0.0) for s in ("simulate", "fit", "sample"))),
                tag("span", entry["status"], class_=f"status {entry['status']}"),
            ]
        )
    head = ["method", "place", "NLTP behind the first (nats)", *TESTS.values()]
    head += ["predictive distance", "time", "status"]
    pairs = found["facts"]["pairs"]
    told = (
        f"Judged by {pairs:,} held-out pairs of parameters and data. Tests: p-values; a fault is "
        f"marked, and if all methods were right, {100 * found['level']:g} % of comparisons would "
        f"have one. The distance of the prior is {short(found['prior_distance'])}."
    )
    return tag("div", table(head, rows), tag("p", told, class_="legend"))


def _gap(verdict: Mapping[str, Any], label: str) -> str:
    gap = verdict["gaps"].get(label)
    if gap is None:
        return "first" if verdict["against"] == label else "–"
    return f"{gap['mean']:.2f} ± {gap['error']:.2f}"


def _test(entry: Mapping[str, Any], name: str) -> Markup:
    check = entry["checks"].get(name)
    if check is None or "missing" in check:
        why = entry["why_not"] if check is None else check["missing"]
        return tag("span", "–", title=why or None)
    p = check["p_value"]
    said = "–" if p is None else f"{p:.2g}"
    if check["passed"] is False:
        return tag("b", f"{said}, fault", class_="failed", title=check["verdict"])
    return tag("span", said, title=check["verdict"])
