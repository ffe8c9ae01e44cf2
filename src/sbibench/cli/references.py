"""`sbibench reference`: make reference samples with certificates, or verify those that exist."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from sbibench.cli.console import Json, err, out, print_json
from sbibench.core import problem, references, registry
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import NoReferenceError
from sbibench.core.references import Certificate
from sbibench.core.task import Task
from sbibench.reference import certify, library


def reference(
    task: str,
    *,
    observation: Annotated[tuple[int, ...], Parameter(negative="")] = (),
    verify: Annotated[bool, Parameter(negative="")] = False,
    calibrate: Annotated[bool, Parameter(negative="")] = False,
    seed: int | None = None,
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
        Test the stored samples again and write nothing.
    calibrate
        Calibrate the sampler again, too, even where that takes minutes and was done before.
    seed
        All randomness comes from it; by default that of the stored certificate.
    directory
        Where samples and certificates are written; by default the user's cache directory.
    """
    keep_compiled_programs()
    model: Task = registry.TASKS.get(task)
    certify.sampler(model)
    folder = directory or library.cache()
    numbers = observation or tuple(range(1, len(model.observations) + 1))
    for number in numbers:
        model.observation(number)  # says at once if there is none
    done: list[Certificate] = []
    with _bar() as progress:
        calibrated = library.calibrated(model, folder, progress, again=calibrate)
        if not verify:
            references.write(folder, calibrated, None)
        for number in numbers:
            stored = library.stored(model, number, folder)
            if verify and stored is None:
                raise NoReferenceError(
                    f"{task}, observation {number} has no stored reference to verify; run the "
                    "command without --verify to make it"
                )
            start = seed if seed is not None else stored[0].seed if stored else certify.SEED
            made, samples = certify.certify(
                model, number, calibrated, start, progress, stored if verify else None
            )
            if not verify and not made.failed:
                references.write(folder, made, samples)
            done.append(made)
            if not as_json:
                same = stored is not None and stored[0].sha256 == made.sha256
                _print(made, "" if verify or not stored else _compared(same=same))
    if as_json:
        print_json([library.row(c) for c in done])
    elif not verify:
        out.print(f"written to {folder}", markup=False, highlight=False, soft_wrap=True)
    return int(any(c.failed for c in done))


def _compared(*, same: bool) -> str:
    return "the same samples as before" if same else "other samples than before"


def _print(made: Certificate, note: str) -> None:
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


@contextlib.contextmanager
def _bar() -> Iterator[problem.Progress]:
    """Show what is being done while it takes time."""
    with Progress(console=err, transient=True) as bars:
        bar = bars.add_task("starting", total=None)

        def report(stage: str, done: int, total: int | None) -> None:
            bars.update(bar, description=stage, completed=done, total=total)

        yield report
