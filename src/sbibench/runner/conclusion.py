"""What follows from all entries of a comparison together."""

import math
from collections.abc import Sequence
from dataclasses import replace

import jax
import numpy as np

from sbibench.calibration.contraction import Contraction
from sbibench.calibration.coverage import Coverage
from sbibench.calibration.lc2st import LC2ST
from sbibench.calibration.nltp import NLTP
from sbibench.calibration.sbc import SBC
from sbibench.calibration.tarp import TARP
from sbibench.core.calibration import Check, Pairs
from sbibench.core.comparison import Comparison
from sbibench.core.entry import Entry
from sbibench.core.finding import Finding
from sbibench.metrics.meddist import meddist
from sbibench.runner.contest import Contest
from sbibench.runner.diagnosis import diagnose
from sbibench.runner.forecast import costs, forecasts
from sbibench.runner.judge import tried
from sbibench.runner.verdict import TESTS, slopes, verdict


def concluded(
    contest: Contest,
    found: Sequence[tuple[Entry, Pairs | None]],
    seed: int,
    level: float,
    key: jax.Array,
) -> Comparison:
    """Return what all entries, with the pairs of those that have any, tell together.

    Each of the tests has an equal part of the level (Bonferroni), so that a verdict, a p-value and
    the band of a chart say the same.
    """
    tests = len(TESTS) * max(1, sum(pairs is not None for _, pairs in found))
    entries: list[Entry] = []
    for entry, pairs in found:
        contest.progress(f"{entry.label}: checks", len(entries), len(found))
        entries.append(_checked(entry, pairs, level / tests, key))
    changes = slopes(entries)
    predicted = forecasts(entries, contest.held.seconds / contest.held.calls)
    x_obs = contest.task.observation(contest.observation)
    refitted = [e for e in entries if e.judged == "refit"]
    distances = sum(e.distance is not None for e in entries)
    return Comparison(
        task=contest.task.name,
        observation=contest.observation,
        seed=seed,
        facts={
            "pairs": len(contest.held.thetas),
            "draws": contest.draws,
            "tests": tests,
            "pair_simulations": contest.held.calls,
            "pair_simulations_invalid": contest.held.invalid,
            "predictive_simulations": contest.predictions * distances,
            "refit": contest.refit,
            "refit_simulations": sum((contest.refit + 1) * e.budget for e in refitted),
        },
        level=level,
        prior_distance=float(meddist(key, contest.held.xs.astype(np.float64), x_obs)),
        entries=tuple(entries),
        verdicts=tuple(
            verdict([e for e in entries if e.budget == budget], changes)
            for budget in dict.fromkeys(e.budget for e in entries)
        ),
        slopes=tuple(changes),
        forecasts=tuple(predicted),
        costs=tuple(costs(predicted, changes)),
        cautions=_cautions(contest, entries),
    )


def _checks(level: float) -> dict[str, Check]:
    """Return the checks, each of which finds fault without cause as rarely as this."""
    return {
        "nltp": NLTP(),
        "sbc": SBC(level=level),
        "coverage": Coverage(level=level),
        "tarp": TARP(level=level),
        # So many that the smallest p-value is well below the level.
        "lc2st": LC2ST(level=level, permutations=max(1000, math.ceil(3 / level))),
        "contraction": Contraction(),
    }


def _checked(entry: Entry, pairs: Pairs | None, level: float, key: jax.Array) -> Entry:
    """Return the entry with what each check finds; one that fails costs only itself."""
    if pairs is None:
        return entry
    found: dict[str, Finding | str] = {}
    for name, check in _checks(level).items():

        def finding(name: str = name, check: Check = check) -> Finding | str:
            return diagnose(key, pairs, {name: check})[name]

        told, why = tried(finding)
        if name in {"nltp", "coverage"} and pairs.log_probs is None:
            told = entry.density_missing
        found[name] = why if told is None else told
    return replace(entry, checks=found)


def _cautions(contest: Contest, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what the comparison can't tell."""
    n = len(contest.held.thetas)
    said = [
        f"The {n:,} pairs are drawn from the prior: NLTP, SBC, coverage, TARP and contraction are "
        "averages over data. Of the observation itself only L-C2ST and the predictive distance "
        "speak.",
        f"No fault found is not no fault: {n:,} pairs show only so much. Errors (±) are over "
        "pairs, for one fit of each method; another seed would fit it anew.",
    ]
    asked = [e for e in entries if e.judged is None and e.record.status == "done"]
    if asked and not contest.refit:
        names = " and ".join(dict.fromkeys(e.label for e in asked))
        said.append(
            f"Judging {names} at other data takes a fit for each. refit=20 (--refit 20) makes them "
            "for 20 of the pairs, for 21 times the budget in simulations and a verdict from 20 "
            "pairs only."
        )
    return tuple(said)
