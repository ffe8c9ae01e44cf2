"""`sbibench choose`: which method should I use? Answered without any true posterior."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from sbibench.cli.console import Json, Number, Numbers, out, print_json, stages
from sbibench.cli.single import algorithm_flags
from sbibench.core import registry, settings
from sbibench.core.comparison import Comparison
from sbibench.core.compilation import keep_compiled_programs
from sbibench.core.errors import UsageError
from sbibench.core.names import unknown
from sbibench.report.comparison import comparison_table, legend
from sbibench.runner.compare import compare
from sbibench.runner.contenders import Contender

_FLAGS = (
    "--budget", "--preset", "--pairs", "--draws", "--refit", "--predictions", "--samples",
    "--observation", "--seed", "--time-limit", "--retry", "--out", "--json"
)  # fmt: skip


def choose(
    task: str,
    *algorithms: Annotated[str, Parameter(allow_leading_hyphen=True)],
    budget: Numbers = (1000,),
    preset: str = "default",
    pairs: Number = 200,
    draws: Number = 200,
    refit: Number = 0,
    predictions: Number = 200,
    samples: Number = 1000,
    observation: Number = 1,
    seed: Number = 0,
    time_limit: float | None = None,
    retry: Annotated[bool, Parameter(negative="")] = False,
    directory: Annotated[Path, Parameter(name="--out")] = Path("comparison"),
    as_json: Json = False,
) -> int:
    """Compare methods and budgets on a task whose true posterior nobody knows.

    Each method is fitted once with each budget and asked at the data of held-out pairs. What is
    found is kept, so a comparison that was stopped goes on, and one that is made again with more
    methods or budgets fits those alone. The exit status is 1 if some method failed.

    Parameters
    ----------
    task
        Its name, or module:name for one of your own.
    algorithms
        Names of algorithms, or module:name; --ALGORITHM.SETTING VALUE changes a setting of one.
    budget
        Simulations of each fit; repeat for several.
    preset
        The settings that others change: default or paper.
    pairs
        How many pairs of parameters and data are held out: so many simulations more, once for all.
    draws
        Draws of the posterior at each pair.
    refit
        At how many of the pairs a method that can't be asked at other data is fitted anew; each
        costs its budget.
    predictions
        Posterior predictive draws of each fit: so many simulations more for each.
    samples
        Draws of each posterior at the observation, which are kept.
    observation
        The observation that the posterior is wanted for.
    seed
        All randomness comes from it.
    time_limit
        Seconds that each fit may take with its samples, and as many each that its pairs and its
        predictions may; a call that never returns is not ended.
    retry
        Run again what is on record as failed.
    directory
        Where runs, posteriors, pairs and comparison.json are kept.
    """
    found = _contenders(algorithms, preset)
    registry.TASKS.get(task)
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file; --out is a directory")
    keep_compiled_programs()
    with stages() as progress:
        compared = compare(
            task, found, budget, pairs=pairs, draws=draws, refit=refit, predictions=predictions,
            samples=samples, observation=observation, seed=seed, time_limit=time_limit,
            retry=retry, out=directory, progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(compared.plain(arrays=False))
    else:
        _print(compared)
    return int(any(e.record.status != "done" for e in compared.entries))


def _contenders(words: Sequence[str], preset: str) -> list[Contender]:
    """Return the algorithms named among the words, with the settings that follow them."""
    names: list[str] = []
    flags: list[tuple[str, list[str]]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            names.append(word)
            continue
        bare = "=" not in word
        if bare and not rest:
            raise UsageError(f"{word} needs a value")
        flags.append((word, [rest.pop(0)] if bare else []))
    if not names:
        raise UsageError("name the algorithms to compare; `sbibench algorithms` lists them")
    for flag, _ in flags:
        if not any(flag.startswith(f"--{name}.") for name in names):
            raise unknown("option", flag, [*_FLAGS, *(f"--{name}.SETTING" for name in names)])
    found = []
    for name in dict.fromkeys(names):
        own = [t for flag, value in flags if flag.startswith(f"--{name}.") for t in (flag, *value)]
        cls = registry.ALGORITHMS.get(name)
        base = registry.ALGORITHMS.preset(name, preset)
        values = algorithm_flags(name, own, _FLAGS)
        full = settings.build(cls, values, name, base=base, text=True)
        shown = name if base == cls() else f"{name} {preset}"
        found.append(Contender(settings.label(shown, full, base), name, full))
    return found


def _print(found: Comparison) -> None:
    out.print(
        f"[bold]Methods for {escape(found.task)}, observation {found.observation}, judged without "
        "its true posterior[/]\n"
    )
    for verdict in found.verdicts:
        out.print(comparison_table(found, verdict))
        first, *rest = verdict.text
        _say([first], style="bold")
        _say(rest, indent=2)
        out.print()
    for title, lines in (
        ("More simulations", found.costs),
        ("Beware", found.cautions),
        ("The columns", legend(found)),
    ):
        if lines:
            out.print(f"[bold]{title}[/]")
            _say(lines, indent=2)


def _say(lines: Sequence[str], indent: int = 0, style: str = "") -> None:
    for line in lines:
        out.print(Padding(Text(line, style=style), (0, 0, 0, indent)))
