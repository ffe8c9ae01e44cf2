"""A comparison of methods as a table for a terminal, 80 columns wide."""

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from sbibench.core.comparison import Comparison, Verdict
from sbibench.core.entry import Entry
from sbibench.core.finding import Finding
from sbibench.core.words import duration

_TESTS = {"sbc": "SBC", "coverage": "cover", "tarp": "TARP", "lc2st": "L-C2ST"}


def comparison_table(found: Comparison, verdict: Verdict) -> Table:
    """Return a row for each method with the budget of this verdict: what it is worth, what it took.

    `legend` says what the columns are.
    """
    shown = Table(
        title=f"{verdict.budget:,} simulations",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    shown.add_column("method", overflow="fold")
    for name in ("gain", *_TESTS.values(), "narrower", "distance", "time"):
        shown.add_column(name, justify="right", no_wrap=True, overflow="fold")
    for entry in found.entries:
        if entry.budget != verdict.budget:
            continue
        good = verdict.places[entry.label] in {"best", "tied"}
        name = escape(entry.label)
        shown.add_row(f"[bold green]{name}[/]" if good else name, *_cells(entry))
    return shown


def legend(found: Comparison) -> list[str]:
    """Return what the columns of the table are, and what judging cost in simulations."""
    facts = found.facts
    cost = f"judged by: {facts['pairs']:,} held-out pairs of parameters and data, the same for all"
    cost += f" ({facts['pair_simulations']:,} simulations more"
    if facts["pair_simulations_invalid"]:
        cost += f", {facts['pair_simulations_invalid']:,} of them not finite"
    cost += f"), and {facts['predictive_simulations']:,} simulations for the distances"
    if facts["refit_simulations"]:
        cost += f"; {facts['refit_simulations']:,} to fit anew at {facts['refit']} of the pairs"
    return [
        "gain: NLTP of the prior less that of the method: how much denser the true parameters are "
        "than under the prior, in nats, averaged over pairs. More is better.",
        "SBC, coverage, TARP, L-C2ST: p-values; ✗ is a fault. If all methods were right, none of "
        f"the {facts['tests']} tests would show one in {100 * (1 - found.level):g} % of cases.",
        "narrower: by how much than the prior (contraction): 0 is as wide, 1 a point.",
        "distance: from the observation to simulations of the posterior, the median; to those of "
        f"the prior it is {found.prior_distance:.2g}.",
        "time: of the fit, with its simulations, and of samples at the observation.",
        cost + ".",
    ]


def _cells(entry: Entry) -> list[str]:
    nltp, contraction = entry.checks.get("nltp"), entry.checks.get("contraction")
    gain, distance, narrower = "-", "-", "-"
    if isinstance(nltp, Finding):
        value, error = float(nltp.values["gain"]), float(nltp.values["gain_error"])
        gain = f"{value:.2f}±{error:.2f}"
    if entry.distance is not None:
        error_ = "" if entry.distance_error is None else f"±{entry.distance_error:.1g}"
        distance = f"{entry.distance:.2g}{error_}"
    elif entry.record.status != "done":
        distance = f"[red]{entry.record.status.replace('_', ' ')}[/]"
    if isinstance(contraction, Finding):
        narrower = f"{contraction.statistic:.2f}"
    tests = [_p_value(entry.checks.get(name)) for name in _TESTS]
    return [gain, *tests, narrower, distance, duration(entry.seconds)]


def _p_value(finding: Finding | str | None) -> str:
    if not isinstance(finding, Finding) or finding.p_value is None:
        return "-"
    p = finding.p_value
    said = "<1e-9" if p < 1e-9 else f"{p:.2g}" if p >= 1e-3 else f"{p:.0e}".replace("e-0", "e-")
    return f"[bold red]✗ {said}[/]" if finding.passed is False else said
