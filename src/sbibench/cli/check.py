"""`sbibench check`: somebody's own task, algorithm, metric or check against its contract."""

from collections.abc import Sequence

import msgspec
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Json, Number, bars, out, print_json
from sbibench.contract.candidate import Candidate
from sbibench.contract.kinds import NOUNS, noun_of
from sbibench.contract.points import Outcome, examine
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import UsageError

_COLOURS = {"passed": "green", "failed": "red", "skipped": "dim"}


def check(
    name: str, *, kind: str | None = None, budget: Number | None = None, as_json: Json = False
) -> int:
    """Check that a task, algorithm, metric or calibration check keeps its contract.

    These are the tests that everything in this package passes: shapes, support, budget, the same
    key the same result, refusals in words, no second compilation. The exit status is 1 if a point
    is broken.

    Parameters
    ----------
    name
        module:name for one of your own, or a registered name.
    kind
        task, algorithm, metric or check, where the name alone does not say.
    budget
        The simulations of each fit of an algorithm, 600 by default.
    as_json
        Print JSON in place of a table.
    """
    noun = noun_of(name, kind)
    if budget is not None and noun != "algorithm":
        raise UsageError(f"--budget is for algorithms, {name} is a {noun}")
    if budget is not None and budget < 200:
        raise UsageError(f"--budget is 200 or more here, not {budget}")
    keep_compiled_programs()
    contract = NOUNS[noun]
    subject = Candidate(name, budget) if noun == "algorithm" else contract.subject(name)
    outcomes: list[Outcome] = []
    with bars() as shown:
        bar = shown.add_task("starting", total=len(contract.points))
        for outcome in examine(subject, contract.points):
            outcomes.append(outcome)
            shown.update(bar, description=outcome.point[:40], advance=1)
    broken = sum(outcome.status == "failed" for outcome in outcomes)
    if as_json:
        print_json(msgspec.to_builtins(outcomes))
    else:
        _print(name, noun, outcomes)
    return int(broken > 0)


def _print(name: str, noun: str, outcomes: Sequence[Outcome]) -> None:
    shown = Table(title=f"The {noun} {escape(name)}")
    shown.add_column("point")
    shown.add_column("", no_wrap=True)
    shown.add_column("what was found, and what to do")
    for outcome in outcomes:
        told = escape(outcome.reason)
        if outcome.mend:
            told += f"\n[dim]→ {escape(outcome.mend)}[/]"
        colour = _COLOURS[outcome.status]
        shown.add_row(escape(outcome.point), f"[{colour}]{outcome.status}[/]", told)
    out.print(shown)
    counts = [
        f"{sum(outcome.status == status for outcome in outcomes)} {status}" for status in _COLOURS
    ]
    seconds = sum(outcome.seconds for outcome in outcomes)
    out.print(f"{', '.join(counts)} in {seconds:.0f} s", highlight=False)
