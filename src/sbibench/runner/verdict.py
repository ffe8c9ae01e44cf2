"""What follows from a comparison: which method to trust, as surely as the pairs allow."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from sbibench.core.comparison import Gap, Place, Slope, Verdict
from sbibench.core.entry import Entry
from sbibench.core.finding import Finding
from sbibench.runner import sentences

TESTS = ("sbc", "coverage", "tarp", "lc2st")
"""The checks that test; a method is at fault where one of them finds fault."""


def faults(entry: Entry) -> list[str]:
    """Return the faults that checks found, in words, the surest first."""
    found = [
        (1.0 if f.p_value is None else f.p_value, name, f.verdict)
        for name in TESTS
        if isinstance(f := entry.checks.get(name), Finding) and f.passed is False
    ]
    said = [f"{verdict} ({name})" for _, name, verdict in sorted(found)]
    lost = 0 if entry.log_probs_true is None else int(np.isneginf(entry.log_probs_true).sum())
    if lost and entry.at is not None:
        said.insert(0, f"its density is 0 at {lost} of {len(entry.at)} true parameters (nltp)")
    return said


def gap(a: Entry, b: Entry) -> Gap | None:
    """Return how much larger the NLTP of a is than that of b, over the pairs of both.

    None if there are fewer than two, or a density is absent or 0.
    """
    if a.log_probs_true is None or b.log_probs_true is None or a.at is None or b.at is None:
        return None
    _, i, j = np.intersect1d(a.at, b.at, return_indices=True)
    both = np.stack([a.log_probs_true[i], b.log_probs_true[j]])
    n = both.shape[1]
    if n < 2 or not np.isfinite(both).all():
        return None
    more = both[1] - both[0]
    return Gap(mean=float(more.mean()), error=float(more.std(ddof=1) / math.sqrt(n)), pairs=n)


def slopes(entries: Sequence[Entry]) -> list[Slope]:
    """Return how the NLTP of each method changed between its two largest budgets."""
    found = []
    for label in dict.fromkeys(e.label for e in entries):
        known = sorted((e for e in entries if e.label == label and ranks(e)), key=_budget)
        if len(known) > 1 and (told := gap(known[-1], known[-2])):
            budgets = known[-2].budget, known[-1].budget
            decades = math.log10(budgets[1] / budgets[0])
            change, error = told.mean / decades, told.error / decades
            found.append(Slope(label=label, budgets=budgets, change=change, error=error))
    return found


def verdict(entries: Sequence[Entry], found: Sequence[Slope]) -> Verdict:
    """Return what follows for the methods with one budget.

    Among those that no check finds fault with and that are better than the prior, the one with the
    best NLTP is `best`, and those whose gap to it is no more than two standard errors are `tied`.

    Parameters
    ----------
    entries
        Of this budget, with their checks.
    found
        The slopes of all methods.
    """
    places = {e.label: _place(e) for e in entries}
    sound = _in_order([e for e in entries if places[e.label] == "worse"])
    ranked = sound or _in_order([e for e in entries if ranks(e)])
    against = ranked[0] if ranked else None
    gaps = {
        e.label: told
        for e in entries
        if against and e is not against and (told := gap(e, against)) is not None
    }
    for e in sound:
        told = gaps.get(e.label)
        if e is against:
            places[e.label] = "best"
        elif told and told.mean <= _tolerance(told):
            places[e.label] = "tied"
    text = [
        sentences.headline(entries, places, against),
        *sentences.ties(entries, places, gaps, against),
        *sentences.others(entries, places, gaps, against, {e.label: faults(e) for e in entries}),
        *([] if sound else sentences.mend(entries, places, found)),
        *([] if against else sentences.without_densities(entries, places)),
    ]
    return Verdict(
        budget=entries[0].budget,
        against=against.label if against else None,
        places=places,
        gaps=gaps,
        text=tuple(text),
    )


def _tolerance(gap: Gap) -> float:
    """Return how large a gap may be by chance alone, once in 20 times: Student's t."""
    return float(stdtrit(max(gap.pairs - 1, 1), 0.975)) * gap.error


def ranks(entry: Entry) -> bool:
    """Return whether a method has an NLTP, by which it can be ranked."""
    return isinstance(entry.checks.get("nltp"), Finding)


def _budget(entry: Entry) -> int:
    return entry.budget


def _in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return those that can be ranked, the best NLTP first, by the pairs that they share.

    Each is set against the one that was asked at most pairs, so that one that was asked at few is
    not better because those were easy.
    """
    if not entries:
        return []
    most = max(entries, key=lambda e: 0 if e.at is None else len(e.at))
    behind = [(told.mean, i) for i, e in enumerate(entries) if (told := gap(e, most))]
    return [entries[i] for _, i in sorted(behind)]


def _place(entry: Entry) -> Place:
    """Return where a method stands by itself; `worse` is one that is to be ranked."""
    if entry.judged is None:
        failed = entry.record.status != "done" and entry.distance is None
        return "failed" if failed else "unranked"
    if faults(entry):
        return "faulty"
    density = entry.checks.get("nltp")
    if not isinstance(density, Finding):
        return "unranked"
    return "uninformative" if density.passed is False else "worse"
