"""`sbibench reference`: make reference samples with certificates, or verify those that exist."""

import contextlib
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from sbibench.cli.console import Json, Number, Numbers, err, out, print_json, stages
from sbibench.core import references, registry
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import NoReferenceError, SamplingError, UsageError
from sbibench.core.references import Certificate
from sbibench.core.task import Task
from sbibench.reference import certify, checks, library


def reference(
    task: str,
    *,
    observation: Numbers = (),
    verify: Annotated[bool, Parameter(negative="")] = False,
    calibrate: Annotated[bool, Parameter(negative="")] = False,
    seed: Number | None = None,
    directory: Annotated[Path | None, Parameter(name="--out")] = None,
    as_json: Json = False,
) -> int:
    """Draw samples of a true posterior and test them, or test those there are.

    Parameters
    ----------
    task
        Its name, or module:name for one of your own.
    observation
        Its number, repeat for several; by default all canonical ones. Higher numbers are drawn
        from the prior predictive.
    verify
        Test the stored samples again, with a new second method, and write nothing.
    calibrate
        Calibrate the sampler again, too, which can take minutes; by default a calibration that
        was made before is read.
    seed
        All randomness comes from it; by default the stored certificate's, or the one after it to
        verify.
    directory
        Where samples and certificates are kept; by default they are read from the package and
        the user's cache directory, and written to the latter.
    """
    keep_compiled_programs()
    model: Task = registry.TASKS.get(task)
    certify.sampler(model)
    numbers = observation or tuple(range(1, len(model.observations) + 1))
    folder = directory or library.cache()
    homes = (directory,) if directory else (references.SHIPPED, library.cache())
    searched = homes if verify else (*homes, references.SHIPPED)
    stored = {number: _find(model, number, searched) for number in numbers}
    absent = [str(number) for number, found in stored.items() if found is None]
    if verify and absent:
        raise UsageError(
            f"{task} has no stored reference for observation {', '.join(absent)}; run the command "
            "without --verify to make it"
        )
    done: list[Certificate] = []
    with stages() as progress:
        known = None if calibrate else library.calibrated(model, (*homes, references.SHIPPED))
        calibration = known or certify.calibration(
            model, certify.SEED if seed is None else seed, progress
        )
        if not verify and calibration.p_value >= checks.SIGNIFICANCE:
            references.write_calibration(folder, calibration)
        for number, found in stored.items():
            before = found[0] if found else None
            start = seed if seed is not None else before.seed if before else certify.SEED
            try:
                if verify and found:
                    start = start + 1 if seed is None else start
                    made, _ = certify.certify(
                        model, number, calibration, start, progress, stored=found
                    )
                else:
                    made, samples = library.make(
                        model, number, calibration, folder, start, progress
                    )
                    if not made.failed:
                        references.write(folder, made, samples)
            except (NoReferenceError, SamplingError) as error:
                err.print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
                continue
            done.append(made)
            if not as_json:
                _print(made, None if verify else before)
    if as_json:
        print_json([library.row(made) for made in done])
    elif not verify and any(not made.failed for made in done):
        out.print(f"written to {folder}", markup=False, highlight=False, soft_wrap=True)
    return int(len(done) < len(numbers) or any(made.failed for made in done))


def _find(
    task: Task, observation: int, homes: tuple[Path, ...]
) -> tuple[Certificate, np.ndarray] | None:
    """Return what is stored; samples that can't be read are as good as none."""
    for home in homes:
        found = library.certificate(task, observation, home)
        with contextlib.suppress(NoReferenceError):
            if found:
                return found, references.samples(home, found)
    return None


def _print(made: Certificate, before: Certificate | None) -> None:
    note = None
    if before is not None:
        same = before.sha256 == made.sha256
        note = "the same samples as before" if same else "other samples than before"
    table = Table(
        title=f"{made.task}, observation {made.observation}: {made.method}, against "
        f"{made.second_method}, {made.seconds:.1f} s",
        caption=note,
        title_justify="left",
    )
    for name in ("check", "value", "wanted", ""):
        table.add_column(name)
    for check in made.checks:
        mark = "[green]passed[/]" if check.passed else "[bold red]FAILED[/]"
        table.add_row(escape(check.name), f"{check.value:.6g}", escape(check.wanted), mark)
    out.print(table)
