"""The sentences of a verdict: what methods are worth, in plain words."""

from collections.abc import Mapping, Sequence

from sbibench.core.comparison import Gap, Place, Slope
from sbibench.core.entry import Entry
from sbibench.core.finding import Finding
from sbibench.core.words import duration, nats
from sbibench.inference.verdicts import listed

CLEAR = 2.0
"""Standard errors from which on a change is told as one."""

Places = Mapping[str, Place]
Gaps = Mapping[str, Gap]


def headline(entries: Sequence[Entry], places: Places, against: Entry | None) -> str:
    """Return the verdict in a sentence or two."""
    start = f"With {entries[0].budget:,} simulations: "
    if against and places[against.label] == "best":
        tied = _at(places, "tied")
        if tied:
            return (
                f"{start}{' or '.join([against.label, *tied])}. No check finds fault with them, "
                f"and none has a better NLTP ({_gain(against)} better than the prior)."
            )
        return (
            f"{start}{against.label}. No check finds fault with it, and its NLTP is the best "
            f"({_gain(against)} better than the prior)."
        )
    told = set(places.values())
    if "uninformative" in told:
        return (
            f"{start}none can be recommended. What no check finds fault with "
            f"({listed(_at(places, 'uninformative'))}) is no better than the prior."
        )
    if "faulty" in told:
        whom = "them all" if told == {"faulty"} else "all that could be judged"
        if "unranked" in told:
            whom = "all that could be ranked"
        return f"{start}none can be recommended: checks find fault with {whom}."
    if "unranked" in told:
        sound = [e.label for e in entries if places[e.label] == "unranked" and e.judged]
        why = "without a density there is no NLTP" if sound else "none was judged at the pairs"
        said = f" No check finds fault with {' and '.join(sound)}." if sound else ""
        return f"{start}none can be ranked, for {why}.{said}"
    return f"{start}none: all failed."


def ties(entries: Sequence[Entry], places: Places, gaps: Gaps, against: Entry | None) -> list[str]:
    """Return which methods can't be told from the best, and which of them is the cheapest."""
    tied = [e for e in entries if places[e.label] == "tied"]
    if not tied or against is None:
        return []
    said = "; ".join(
        f"{e.label} is behind {against.label} by {nats(g.mean, g.error)} in {g.pairs:,} pairs"
        for e in tied
        for g in [gaps[e.label]]
    )
    cheap = min([against, *tied], key=lambda e: e.seconds)
    names = " and ".join([against.label, *(e.label for e in tied)])
    return [
        f"{names} can't be told apart: {said}. {cheap.label} took the least time, "
        f"{duration(cheap.seconds)}."
    ]


def others(
    entries: Sequence[Entry],
    places: Places,
    gaps: Gaps,
    against: Entry | None,
    faults: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return a sentence or two on each of the others."""
    said = []
    for e in entries:
        place, told = places[e.label], gaps.get(e.label)
        behind = (
            f"worse than {against.label} by {nats(told.mean, told.error)}"
            if against and told
            else ""
        )
        if place == "worse":
            said.append(f"{e.label} is {behind or 'not to be ranked: it shares no pairs'}.")
        elif place == "faulty":
            said.append(f"{e.label} is at fault: {'; '.join(faults[e.label])}.{_despite(told)}")
        elif place == "uninformative":
            name = (
                "the baseline that ignores the data" if _baseline(e) else "no better than the prior"
            )
            said.append(
                f"{e.label} is {name}{', ' + behind if behind and told and told.mean > 0 else ''}."
            )
        elif place == "unranked":
            said.append(_unranked(e))
        elif place == "failed":
            said.append(f"{e.label} failed: {e.record.reason}.")
        if e.missed:
            said.append(
                f"{e.label} had no posterior at {e.missed:,} of the pairs; they don't count for it."
            )
    return said


def without_densities(entries: Sequence[Entry], places: Places) -> list[str]:
    """Return by what methods can be told apart where none has an NLTP, but some have been judged.

    Of posteriors that are calibrated the narrower one knows more (Gneiting et al. 2007).
    """
    narrower = {
        e.label: found.statistic
        for e in entries
        if places[e.label] == "unranked"
        and isinstance(found := e.checks.get("contraction"), Finding)
    }
    if not narrower:
        return []
    order = sorted(narrower, key=lambda label: -narrower[label])
    told = ", ".join(f"{label} {narrower[label]:.2f}" for label in order)
    return [
        "What is left to tell them apart is how much narrower than the prior they are, more being "
        f"better where no check finds fault: {told}. How far that is from what the data allow only "
        "a method with a density shows: add npe, nle or nre."
    ]


def mend(entries: Sequence[Entry], places: Places, slopes: Sequence[Slope]) -> list[str]:
    """Return what would help where no method can be recommended."""
    promising = [e for e in entries if places[e.label] == "faulty" and _told(e)]
    if not promising:
        return []
    least = min(promising, key=lambda e: found.statistic if (found := _told(e)) else 0.0)
    start = (
        f"Of those at fault {least.label} has the best NLTP ({_gain(least)} better than the prior)."
    )
    slope = next((s for s in slopes if s.label == least.label), None)
    if slope is None:
        more = (
            "More simulations may mend it: a second, larger budget shows whether its NLTP falls "
            "with them."
        )
    elif slope.change < -CLEAR * slope.error:
        more = (
            f"It still falls, by {nats(-slope.change, slope.error)} for each factor of ten in "
            "simulations, so more of them are likely to help."
        )
    else:
        more = (
            "More simulations did not clearly lower it: look for other settings or methods first."
        )
    return [f"{start} {more}"]


def _at(places: Places, place: Place) -> list[str]:
    return [label for label, at in places.items() if at == place]


def _baseline(entry: Entry) -> bool:
    return entry.record.spec.algorithm == "prior"


def _told(entry: Entry) -> Finding | None:
    """Return what was found of its NLTP."""
    found = entry.checks.get("nltp")
    return found if isinstance(found, Finding) else None


def _gain(entry: Entry) -> str:
    """Return in words how much better than the prior it is."""
    found = _told(entry)
    assert found is not None
    return nats(float(found.values["gain"]), float(found.values["gain_error"]))


def _despite(told: Gap | None) -> str:
    """Return what is to be said where one that is at fault has the better NLTP."""
    if told is None or told.mean >= -CLEAR * told.error:
        return ""
    return (
        f" Its NLTP is better all the same, by {nats(-told.mean, told.error)}: it knows more, but "
        "the uncertainty that it states is wrong."
    )


def _unranked(entry: Entry) -> str:
    if entry.judged is not None:
        why = entry.checks.get("nltp")
        return f"{entry.label}: no check finds fault with it, but it can't be ranked: {why}."
    seen = ""
    if entry.distance is not None:
        seen = (
            f" All that is known of it is its predictive distance, {entry.distance:.3g}, and its "
            f"time, {duration(entry.seconds)}."
        )
    return f"{entry.label} was not judged at the pairs: {entry.why_not}.{seen}"
