"""Which method should I use? Methods and budgets compared on a task without a true posterior."""

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import jax

from sbibench.core import registry
from sbibench.core.comparison import Comparison
from sbibench.core.errors import UsageError
from sbibench.core.files import write_whole
from sbibench.core.problem import Progress, silent
from sbibench.core.task import Task
from sbibench.runner.collect import NO_PAIRS
from sbibench.runner.conclusion import concluded
from sbibench.runner.contenders import Named, contenders, runs_of
from sbibench.runner.contest import Contest
from sbibench.runner.held import check_same_task, draw_held_out, kept_held_out
from sbibench.runner.judge import key_of
from sbibench.runner.limits import Limits
from sbibench.store.results import Results

LEVEL = 0.05
"""The chance that in the whole comparison a check finds fault where there is none, at most."""


def compare(
    task: Task | str,
    algorithms: Sequence[Named] | Mapping[str, Named],
    budget: int | Sequence[int] = 1000,
    *,
    pairs: int = 200,
    draws: int = 200,
    refit: int = 0,
    predictions: int = 200,
    samples: int = 1000,
    observation: int = 1,
    seed: int = 0,
    level: float = LEVEL,
    time_limit: float | None = None,
    retry: bool = False,
    out: Path | str | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare methods and budgets by what can be known without the true posterior.

    Each method is fitted once with each budget, to the observation, and asked at the data of the
    same held-out pairs, whose parameters are known: is their density high (NLTP), and is the stated
    uncertainty right (SBC, expected coverage, TARP; L-C2ST at the observation)? Posterior
    predictive draws tell how far from the observation its parameters lead. Nothing that fails costs
    more than itself.

    Parameters
    ----------
    task
        The task or its name; a likelihood is not needed and not used.
    algorithms
        Names or algorithms with their settings; or a mapping from labels to these.
    budget
        Simulations of each fit, one number or several.
    pairs
        How many pairs are held out: so many simulations more, once for all.
    draws
        Draws of the posterior at each of them.
    refit
        For how many of the pairs a method that can't be asked at other data is fitted anew; each
        costs its budget, and one more fit is for L-C2ST. With 0 it is judged at the observation
        alone.
    predictions
        Posterior predictive draws of each fit: so many simulations more for each.
    samples
        Draws of each posterior at the observation, which are kept.
    observation
        The observation of the task that the posterior is wanted for.
    seed
        All randomness comes from it.
    level
        The chance that in the whole comparison a check finds fault where there is none, at most;
        each test has its equal part.
    time_limit
        Seconds that each fit may take, with its samples, and as many each that its pairs and its
        predictions may. They are looked at between simulations and steps of training, as everywhere
        but in a suite: a call that never returns is not ended.
    retry
        Whether runs that are on record as failed are run again.
    out
        A directory in which all is kept, so that a comparison that was stopped, or is made again
        with more methods or budgets, goes on from there: nothing is fitted or simulated twice.
    progress
        Called as (stage, done, total).

    Raises
    ------
    UsageError
        If something is asked for that makes no sense, or `out` holds another task of this name.
    InvalidSimulationsError
        If too few simulations of the pairs are finite.
    """
    model: Task = registry.TASKS.get(task) if isinstance(task, str) else task
    _check(pairs, draws, refit, predictions, level)
    Limits(time_limit)
    budgets = list(budget) if isinstance(budget, Iterable) else [budget]
    if model.forward.pairs is not None:
        raise UsageError(NO_PAIRS)
    runs = runs_of(
        contenders(algorithms),
        model,
        task if isinstance(task, str) else model.name,
        budgets,
        observation,
        seed,
        samples,
    )
    with _directory(out) as directory:
        results = Results(directory)
        results.prepare()
        check_same_task(directory / "tasks" / f"{model.name}.{observation}.npz", model, observation)
        identity = [model.name, model.version, observation, seed, pairs, draws]
        set_id = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
        folder = directory / "judged" / set_id
        key = key_of(set_id)
        held = kept_held_out(
            folder / "pairs.npz",
            lambda: draw_held_out(key, model, pairs, observation, progress),
        )
        contest = Contest(
            task=model,
            observation=observation,
            held=held,
            draws=draws,
            refit=min(refit, pairs),
            predictions=predictions,
            results=results,
            folder=folder,
            time_limit=time_limit,
            retry=retry,
            progress=progress,
        )
        found = [contest.entry(c, run) for c, run in runs]
        comparison = concluded(contest, found, seed, level, jax.random.fold_in(key, 1))
        if out is not None:
            content = json.dumps(comparison.plain()).encode()
            write_whole(directory / "comparison.json", lambda file: file.write(content))
    return comparison


def _check(pairs: int, draws: int, refit: int, predictions: int, level: float) -> None:
    for what, number, least in (
        ("pairs", pairs, 2),
        ("draws", draws, 2),
        ("refit", refit, 0),
        ("predictions", predictions, 2),
    ):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise UsageError(f"{what} are a whole number, {least} or more, not {number!r}")
    if refit == 1:
        raise UsageError("refit is 0, or 2 or more: one pair tells nothing")
    if not 0 < level < 1:
        raise UsageError(f"a level lies between 0 and 1, not {level!r}")


@contextlib.contextmanager
def _directory(out: Path | str | None) -> Iterator[Path]:
    """Give the directory, or one that is gone afterwards."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
