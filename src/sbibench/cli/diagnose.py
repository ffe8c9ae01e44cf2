"""`sbibench diagnose`: is a posterior calibrated? Answered without any true posterior."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import jax
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Json, Number, out, print_json, stages
from sbibench.cli.single import algorithm_flags
from sbibench.core import registry, settings
from sbibench.core.calibration import Pairs
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import UsageError
from sbibench.core.files import write_whole
from sbibench.core.finding import Finding
from sbibench.core.names import unknown
from sbibench.core.task import Task
from sbibench.inference.saving import load
from sbibench.runner.diagnosis import diagnose as findings_of
from sbibench.runner.diagnosis import needs_densities
from sbibench.runner.limits import Limits
from sbibench.runner.pairs import draw_pairs, refit_pairs

_FLAGS = (
    "--refit", "--budget", "--preset", "--pairs", "--draws", "--observation", "--seed", "--check",
    "--time-limit", "--out", "--json"
)  # fmt: skip


def diagnose(
    posterior: str,
    task: str,
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    refit: Annotated[bool, Parameter(negative="")] = False,
    budget: Number | None = None,
    preset: str | None = None,
    pairs: Number = 200,
    draws: Number = 200,
    observation: Number = 1,
    seed: Number = 0,
    check: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    time_limit: float | None = None,
    directory: Annotated[Path, Parameter(name="--out")] = Path("diagnosis"),
    as_json: Json = False,
) -> int:
    """Check the calibration of a saved posterior, or of an algorithm that is fitted anew each time.

    Parameters are drawn from the prior and data simulated from each; the posterior of these data
    must then treat the parameters as it treats its own draws. `sbibench checks` lists what is
    tested. A fault that is found is a result: the exit status is 0.

    Parameters
    ----------
    posterior
        The file of a saved posterior (`sbibench run --save FILE` writes one); with --refit the name
        of an algorithm, whose settings are --ALGORITHM.SETTING VALUE.
    task
        The task that it is for: its name, or module:name for one of your own.
    refit
        Fit the algorithm anew to the data of each pair, for posteriors of one observation only.
    budget
        With --refit: the simulations of each fit, 1000 by default.
    preset
        With --refit: the settings that others change, default or paper.
    pairs
        How many pairs of parameters and data.
    draws
        Draws of the posterior of each.
    observation
        The observation at which L-C2ST looks.
    seed
        All randomness comes from it.
    check
        Which checks to make; repeat for several. By default all.
    time_limit
        Seconds after which the pairs drawn so far are judged.
    directory
        Where diagnosis.json, calibration.png and calibration.svg are written.
    """
    model: Task = registry.TASKS.get(task)
    names = check or tuple(registry.CHECKS.names())
    densities = needs_densities(names)
    # What is impossible is said before anything is drawn.
    Limits(time_limit)
    model.observation(observation)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; --out is a directory")
    if refit:
        what = _algorithm(posterior, tokens, preset or "default")
    else:
        what = _saved(posterior, tokens, budget, preset)
    keep_compiled_programs()
    pair_key, check_key = jax.random.split(jax.random.key(seed))
    with stages() as progress:
        common: dict[str, Any] = {
            "observation": observation,
            "densities": densities,
            "time_limit": time_limit,
            "progress": progress,
        }
        if refit:
            simulations = 1000 if budget is None else budget
            judged = refit_pairs(pair_key, what, model, simulations, pairs, draws, **common)
        else:
            judged = draw_pairs(pair_key, what, model, pairs, draws, **common)
    findings = findings_of(check_key, judged, names)
    title = f"{posterior} on {model.name}"
    _write(directory, title, judged, findings)
    if as_json:
        print_json(_plain(judged, findings, arrays=False))
    else:
        _print(title, judged, findings)
    return 0 if any(isinstance(f, Finding) for f in findings.values()) else 1


def _algorithm(name: str, tokens: Sequence[str], preset: str) -> Any:
    """Return the algorithm of this name with the settings in the tokens."""
    cls = registry.ALGORITHMS.get(name)
    base = registry.ALGORITHMS.preset(name, preset)
    return settings.build(cls, algorithm_flags(name, tokens, _FLAGS), name, base=base, text=True)


def _saved(path: str, tokens: Sequence[str], budget: int | None, preset: str | None) -> Any:
    """Return the posterior in this file."""
    if tokens:
        raise unknown("option", tokens[0], _FLAGS)
    if budget is not None or preset is not None:
        raise UsageError(
            "--budget and --preset go with --refit: a saved posterior is fitted already"
        )
    if not Path(path).exists() and path in registry.ALGORITHMS.names():
        raise UsageError(
            f"there is no file {path}; --refit fits the algorithm {path} anew each time"
        )
    return load(path)


def _plain(pairs: Pairs, findings: Mapping[str, Finding | str], *, arrays: bool) -> dict[str, Any]:
    """Return findings as plain values for JSON."""
    plain: dict[str, Any] = {}
    for name, finding in findings.items():
        plain[name] = {"missing": finding} if isinstance(finding, str) else finding.plain()
        if not arrays:
            plain[name].pop("arrays", None)
    return {"pairs": dict(pairs.facts), "parameters": pairs.names, "checks": plain}


def _write(
    directory: Path, title: str, pairs: Pairs, findings: Mapping[str, Finding | str]
) -> None:
    # Imported here: the charts' library is slow to import.
    from sbibench.report.calibration import calibration  # noqa: PLC0415 - see above

    content = json.dumps({"title": title} | _plain(pairs, findings, arrays=True))
    write_whole(directory / "diagnosis.json", lambda file: file.write(content.encode()))
    if any(isinstance(f, Finding) and f.arrays for f in findings.values()):
        chart = calibration(findings, pairs.names, f"Calibration of {title}")
        chart.save(directory / "calibration.svg")
        chart.save(directory / "calibration.png", scale_factor=2)


def _print(title: str, pairs: Pairs, findings: Mapping[str, Finding | str]) -> None:
    shown = Table(title=f"Calibration of {escape(title)}, {_told(pairs)}")
    shown.add_column("check", no_wrap=True)
    shown.add_column("statistic", justify="right", no_wrap=True)
    shown.add_column("p-value", justify="right", no_wrap=True)
    shown.add_column("verdict")
    for name, finding in findings.items():
        if isinstance(finding, str):
            shown.add_row(escape(name), "-", "-", f"[dim]not done: {escape(finding)}[/]")
            continue
        p_value = finding.significance.removeprefix("p ").removeprefix("= ") or "-"
        verdict = escape(finding.verdict)
        if finding.passed is not None:
            verdict = f"[{'green' if finding.passed else 'red'}]{verdict}[/]"
        shown.add_row(escape(name), f"{finding.statistic:.3g}", p_value, verdict)
    out.print(shown)


def _told(pairs: Pairs) -> str:
    """Return how many pairs there are, and what became of others."""
    facts = pairs.facts
    told = f"{facts['pairs']:,} pairs of {facts['draws']:,} draws"
    for name, what in (
        ("invalid_simulations", "simulations were not finite"),
        ("replaced", "posteriors could not be had"),
    ):
        if facts[name]:
            told += f"; {facts[name]:,} {what}, others took their place"
    return told
