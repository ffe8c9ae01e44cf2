"""A small site of results that tests look at."""

import numpy as np

from sbibench.core.finding import Finding, rebuilt
from sbibench.core.run import RunRecord, RunSpec
from sbibench.report.site.build import build
from sbibench.report.site.facts import TaskFacts
from sbibench.store.index import everything
from sbibench.store.results import Results

NASTY = '<script>document.title="broken"</script>&"\'`'


def record(label, task="two_moons", budget=1000, observation=1, c2st=0.6, status="done", **more):
    spec = RunSpec(
        task=task, task_version=1, algorithm="npe", settings={"hidden": 50}, label=label,
        budget=budget, observation=observation, seed=0, samples=500,
    )  # fmt: skip
    metrics = {} if status != "done" else {"c2st": c2st, "mmd": c2st / 10}
    return RunRecord(
        spec=spec, status=status, reason=more.get("reason", "x"), metrics=metrics,
        errors={"c2st": 0.004} if metrics else {}, calls=budget, seconds={"fit": 2.0 * budget},
    )  # fmt: skip


def facts(name):
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(2000, 2)).astype(np.float32)
    return TaskFacts(
        name=name, label=name.title(), description=f"About `{name}`.\n\nHard: <not>.",
        parameter_names=("a", "b"), data_names=("x", NASTY), certificate=[("checks", "6 of 6")],
        observed=lambda i: np.array([0.5, -0.2]), truth=lambda i: np.zeros(2),
        reference=lambda i: reference, predict=lambda sets: sets,
    )  # fmt: skip


def comparison():
    """Return a comparison as `sbibench choose` keeps it."""
    finding = Finding(
        statistic=0.2, p_value=0.3, passed=True, level=0.05, verdict="no fault",
        arrays={"contraction": np.array([0.5, 0.6]), "contraction_error": np.array([0.1, 0.1])},
    )  # fmt: skip
    assert rebuilt(finding.plain()).plain() == finding.plain()
    entry = {
        "label": NASTY, "run": "0", "task": "two_moons", "budget": 1000, "status": "done",
        "why_not": "",
        "checks": {"contraction": finding.plain(), "sbc": {"missing": "no"}},
        "seconds": {"fit": 3.0},
        "predictive_distance": {"value": 0.5, "error": 0.01, "missing": ""},
    }  # fmt: skip
    verdict = {
        "budget": 1000, "against": "a", "places": {NASTY: "worse"},
        "text": ["Take a.", "b is slow."],
        "gaps": {NASTY: {"mean": 0.4, "error": 0.1, "pairs": 50}},
    }  # fmt: skip
    return {
        "task": "two_moons", "facts": {"pairs": 50}, "level": 0.05, "prior_distance": 2.0,
        "parameters": ["a", "b"], "entries": [entry], "verdicts": [verdict], "costs": [],
        "cautions": ["Little is known."],
    }  # fmt: skip


def make(folder):
    """Make a small site in a folder, where some runs failed and some are missing.

    Of the task `mine` nothing is known, and its runs have no metric.
    """
    store = Results(folder / "results")
    store.prepare()
    rng = np.random.default_rng(1)
    for task in ("two_moons", "slcp"):
        for hidden, (label, c2st) in enumerate([("NPE", 0.6), ("NLE", 0.7), (NASTY, 0.9)]):
            for budget in (1000, 10_000):
                for observation in (1, 2):
                    if (task, label, budget) == ("slcp", "NLE", 10_000):
                        continue
                    failed = (task, label, observation) == ("slcp", NASTY, 2)
                    made = record(
                        label, task, budget, observation, c2st + 0.01 * observation - budget / 1e6,
                        status="failed" if failed else "done",
                        reason=f"it broke: {NASTY}" if failed else "all samples drawn",
                    )  # fmt: skip
                    # One spec per label: identities leave the label out.
                    made.spec.settings["hidden"] = hidden
                    drawn = None if failed else rng.normal(0.2, 1.2, (500, 2)).astype(np.float32)
                    store.write(made, drawn)
    for observation in (1, 2):
        made = record("NPE", "mine", observation=observation)
        made.metrics.clear()
        made.errors.clear()
        store.write(made, rng.normal(size=(50, 7)).astype(np.float32))
    runs, _ = everything(store)
    unknown = TaskFacts(name="mine", label="mine")
    first = build(
        folder / "site", runs, store, store.samples,
        {name: facts(name) for name in ("two_moons", "slcp")} | {"mine": unknown},
        {"npe": "A <flow>."},
        {("c2st", "two_moons", "NPE", 1000): 0.725}, lambda r: f"sbibench run {r.spec.task}",
        "my <results>", comparison(),
    )  # fmt: skip
    assert first == folder / "site" / "index.html"
    return first.parent
