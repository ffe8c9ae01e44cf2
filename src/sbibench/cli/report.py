"""`sbibench report`: a static site of results."""

import contextlib
import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import polars as pl
from cyclopts import Parameter

from sbibench.cli.console import err, out
from sbibench.cli.stored import say_unread
from sbibench.core import references, registry, settings
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.run import RunRecord
from sbibench.core.task import Task
from sbibench.report import published
from sbibench.report.site.build import build
from sbibench.report.site.facts import TaskFacts
from sbibench.store.index import everything
from sbibench.store.results import Results
from sbibench.store.sbibm import LABELS


def report(
    results: Path,
    *,
    directory: Annotated[Path, Parameter(name="--out")] = Path("site"),
    title: str = "sbibench results",
) -> int:
    """Make a static site of results, which opens from the file system without any network.

    Parameters
    ----------
    results
        The directory of the results, or that of a comparison by `sbibench choose`.
    directory
        The folder of the site.
    title
        Its name.
    """
    if not results.is_dir():
        raise UsageError(f"{results} is no directory of results")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; a site needs a folder")
    store = Results(results)
    runs, damaged = everything(store)
    say_unread(store, damaged)
    if not len(runs):
        raise UsageError(f"there are no results in {results}")
    # Of a task that came as an object only its records tell; another may have its name.
    unreachable = ~pl.col("task").str.contains(":") & (pl.col("fingerprint").fill_null("") != "")
    own = set(runs.filter(unreachable)["task"])
    compared = _comparison(results / "comparison.json")
    names = {compared["task"]: tuple(compared["parameters"] or ())} if compared else {}
    keep_compiled_programs()
    first = build(
        directory,
        runs,
        store,
        store.samples,
        {
            name: TaskFacts(name=name, label=name, parameter_names=names.get(name, ()))
            if name in own
            else facts(name)
            for name in runs["task"].unique().sort()
        },
        {name: _described(registry.ALGORITHMS, name) for name in runs["algorithm"].unique()},
        _published(runs),
        command,
        title,
        compared,
    )
    out.print(f"open {first}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _comparison(path: Path) -> Mapping[str, Any] | None:
    """Return what `sbibench choose` kept in this directory, if it did."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} can't be read ({error}); `sbibench choose` makes it anew"
        ) from error
    return found


def _described(kind: registry.Kind, name: str) -> str:
    """Return what a thing is; results outlive what they were made with."""
    try:
        return kind.describe(name)
    except (SbibenchError, OSError, SyntaxError):
        return ""


def _published(runs: pl.DataFrame) -> Mapping[tuple[str, str, str, int], float]:
    """Return the published figures of the cells that runs belong to, under our labels."""
    cells = published.of_all()
    ours = {label: LABELS.get(label, label) for label in runs["label"].unique()}
    found = {}
    for metric in (m for m in published.METRICS if m in cells.columns):
        values = {(r["task"], r["label"], r["budget"]): r[metric] for r in cells.to_dicts()}
        for (task, theirs, budget), value in values.items():
            if value is None:
                continue
            for label, name in ours.items():
                if name == theirs:
                    found[metric, task, label, budget] = value
    return found


def facts(name: str) -> TaskFacts:
    """Return what is known of a task, which is little if it can't be loaded."""
    try:
        task: Task = registry.TASKS.get(name)
    except SbibenchError as error:
        err.print(f"{name}: {error}; its page has its runs alone", markup=False)
        return TaskFacts(name=name, label=name)

    def known(what: Any) -> Any:
        def ask(observation: int) -> np.ndarray | None:
            with contextlib.suppress(SbibenchError):
                return np.asarray(what(observation))
            return None

        return ask

    def given(ask: Any) -> Any:
        # Others would have to be simulated, a thousand times, which may take hours in NumPy.
        few = len(task.observations)
        return ask if task.simulate else lambda o: ask(o) if o <= few else None

    def reference(observation: int) -> np.ndarray | None:
        # Only what ships: others would take minutes each.
        found = references.certificate(references.SHIPPED, name, observation)
        return None if found is None else references.samples(references.SHIPPED, found)

    def predict(sets: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        thetas = np.concatenate(sets).astype(np.float64)
        xs = task.forward(jax.random.key(0), thetas)
        return np.split(xs, np.cumsum([len(s) for s in sets])[:-1])

    return TaskFacts(
        name=name,
        label=task.label,
        citation=task.citation,
        description=registry.TASKS.docstring(name),
        parameter_names=task.parameter_names,
        data_names=task.data_names,
        certificate=_certified(name, len(task.observations)),
        observed=given(known(task.observation)),
        truth=given(known(task.true_parameters)),
        reference=reference,
        predict=predict if task.simulate else None,  # a simulator in NumPy may take hours
    )


def _certified(name: str, observations: int) -> list[tuple[str, str]]:
    """Return the certificates of a task's canonical observations in a few lines."""
    found = [references.certificate(references.SHIPPED, name, i + 1) for i in range(observations)]
    certificates = [c for c in found if c is not None]
    if not certificates:
        return []
    checks = [check for c in certificates for check in c.checks]
    failed = [check for check in checks if not check.passed]
    agreement = [v for c in certificates if (v := c.value("agreement")) is not None]
    calibration = [v for c in certificates if (v := c.value("calibration")) is not None]
    first = certificates[0]
    told = [
        ("observations", f"{len(certificates)}, with {first.n:,} samples each"),
        ("drawn by", first.method),
        ("checks", f"{len(checks) - len(failed)} of {len(checks)} passed"),
    ]
    if agreement:
        told.append(
            (
                f"against {first.second_method}",
                f"C2ST {min(agreement):.3f} to {max(agreement):.3f}; 0.5 is perfect agreement",
            )
        )
    if calibration:
        told.append(
            ("calibration", f"p = {min(calibration):.2g} (small would be a fault of the sampler)")
        )
    return told


def command(record: RunRecord) -> str:
    """Return the command that makes a run again."""
    s = record.spec
    parts = ["sbibench", "run", s.task, s.algorithm, "--budget", str(s.budget)]
    parts += ["--observation", str(s.observation), "--seed", str(s.seed)]
    parts += ["--samples", str(s.samples)]
    parts += [
        x for m in {**record.metrics, **record.missing} if "." not in m for x in ("--metric", m)
    ]
    for name, value in _changed(s.algorithm, s.settings).items():
        parts += [f"--{s.algorithm}.{name}", value if isinstance(value, str) else json.dumps(value)]
    made = shlex.join(parts)
    return (
        f"{made}\n# in a suite with share_fit = true: one fit for all observations"
        if (s.share_fit)
        else made
    )


def _changed(algorithm: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are not the default, or all if there is no telling."""
    default = _default(algorithm)
    return {k: v for k, v in settings.flat(values).items() if k not in default or default[k] != v}


@functools.cache
def _default(algorithm: str) -> Mapping[str, Any]:
    """Return the settings by default, or none if there is no telling."""
    try:
        return settings.flat(settings.as_dict(registry.ALGORITHMS.preset(algorithm)))
    except SbibenchError:
        return {}
