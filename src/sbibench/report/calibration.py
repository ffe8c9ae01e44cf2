"""One chart of what calibration checks found."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding
from sbibench.report import panels
from sbibench.report.style import TRUTH

ACROSS = 5
"""Panels side by side, at most."""

LETTERS, LINES = 44, 4
"""Letters of a line above a large panel, and lines."""


def calibration(
    findings: Mapping[str, Finding | str],
    names: Sequence[str] | None = None,
    title: str = "Calibration",
) -> alt.VConcatChart:
    """Return one chart of all that checks found; each part says how it would look if all were well.

    Drawn are the rank histogram and the difference of distribution functions of each parameter
    (`sbc`), the curves of `coverage` and `tarp`, the statistic of `lc2st` among those of its null
    distribution, and `contraction`.

    Parameters
    ----------
    findings
        By name of the check; reasons why there is none, in place of a finding, are left out.
    names
        Of the parameters.
    title
        Above all.

    Raises
    ------
    UsageError
        If there is nothing to draw, or names are not one for each parameter.
    """
    charts: list[Any] = []
    for finding in _with(findings, "rank_counts"):
        sections = _of_parameters(finding, names)
        few = np.shape(finding.arrays["rank_counts"])[1] <= ACROSS / 2
        charts += [alt.hconcat(*sections, spacing=45)] if few else sections
    large = [
        panel
        for key, make in _LARGE.items()
        for finding in _with(findings, key)
        for panel in [make(finding, names)]
    ]
    if large:
        charts.append(alt.hconcat(*large, spacing=45))
    if not charts:
        raise UsageError("there is nothing to draw: none of these checks has a chart")
    chart: alt.VConcatChart = (
        alt.vconcat(*charts, spacing=40)
        .properties(title=alt.TitleParams(title, anchor="start", fontSize=17, offset=20))
        .configure_axis(grid=False)
        .configure_title(fontSize=13, subtitleFontSize=11, subtitleColor=TRUTH)
        .configure_view(stroke=None)
    )
    return chart


def _with(findings: Mapping[str, Finding | str], key: str) -> list[Finding]:
    """Return the findings that have an array of this name."""
    return [f for f in findings.values() if isinstance(f, Finding) and key in f.arrays]


def _named(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    found = tuple(names) if names is not None else tuple(f"parameter {i + 1}" for i in range(d))
    if len(found) != d:
        raise UsageError(f"{d} parameters need as many names, not {len(found)}")
    return found


def _of_parameters(finding: Finding, names: Sequence[str] | None) -> list[Any]:
    """Return the charts that have a panel for each parameter."""
    called = _named(names, np.shape(finding.arrays["rank_counts"])[1])
    share = f"{100 * (1 - (finding.level or 0)):g} %"
    return [
        _section(
            panels.ranks,
            finding,
            called,
            f"Rank of the true value among posterior draws (SBC): {_verdict(finding)}",
            "Flat if calibrated. High on the right: the posterior lies too low; on the left: too "
            "high; at both ends: too narrow; in the middle: too wide.",
            f"Grey: a bar of a calibrated posterior ends here {share} of the time.",
        ),
        _section(
            panels.difference,
            finding,
            called,
            "Distribution functions of these ranks, less that of uniform ones",
            f"Grey: all lines of a calibrated posterior stay inside from end to end {share} of the "
            "time, or more.",
            "Orange: outside.",
        ),
    ]


def _section(
    panel: Callable[..., Any], finding: Finding, names: tuple[str, ...], title: str, *below: str
) -> Any:
    """Return a panel for each parameter, in rows under a title."""
    cells = [panel(finding.arrays, i, name, first=i % ACROSS == 0) for i, name in enumerate(names)]
    rows = [alt.hconcat(*cells[i : i + ACROSS], spacing=12) for i in range(0, len(cells), ACROSS)]
    return alt.vconcat(*rows, spacing=12).properties(
        title=alt.TitleParams(title, subtitle=list(below), anchor="start", offset=10)
    )


def _verdict(finding: Finding) -> str:
    return finding.verdict + (f" ({finding.significance})" if finding.significance else "")


def _told(finding: Finding, how: str) -> list[str]:
    said = _verdict(finding)
    said = said[0].upper() + said[1:] + "."
    lines = [*textwrap.wrap(said, LETTERS), *textwrap.wrap(how, LETTERS)]
    return lines + [""] * (LINES - len(lines))  # so that titles beside each other are level


def _coverage(finding: Finding, _: Sequence[str] | None) -> Any:
    return panels.curve(
        finding.arrays,
        "covered",
        "Expected coverage",
        "region of highest density",
        _told(finding, "Below the diagonal: too narrow. Above: too wide."),
    )


def _tarp(finding: Finding, _: Sequence[str] | None) -> Any:
    return panels.curve(
        finding.arrays,
        "tarp",
        "TARP",
        "ball around a random point",
        _told(finding, "On the diagonal if calibrated. A shift may not show here."),
    )


def _null(finding: Finding, _: Sequence[str] | None) -> Any:
    return panels.null(
        finding.arrays,
        "L-C2ST at the observation",
        _told(finding, "Blue: this posterior. Grey: one without fault."),
    )


def _contraction(finding: Finding, names: Sequence[str] | None) -> Any:
    called = _named(names, len(finding.arrays["contraction"]))
    return panels.contraction(
        finding.arrays,
        called,
        "Contraction",
        _told(finding, "0: as wide as the prior. 1: a point."),
    )


_LARGE = {"covered": _coverage, "tarp": _tarp, "null": _null, "contraction": _contraction}
