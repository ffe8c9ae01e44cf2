"""One method with one budget: fitted once, asked at the held-out pairs, and all of it kept."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from sbibench.core.calibration import Pairs
from sbibench.core.entry import Entry
from sbibench.core.errors import UsageError
from sbibench.core.metric import Estimate
from sbibench.core.problem import Progress
from sbibench.core.run import RunRecord, RunSpec
from sbibench.core.task import Task
from sbibench.inference.saving import load
from sbibench.metrics.meddist import meddist
from sbibench.runner.contenders import Contender
from sbibench.runner.execute import ask, fit_once
from sbibench.runner.held import HeldOut, read_arrays, simulator_of, write_arrays
from sbibench.runner.judge import key_of, tried
from sbibench.runner.pairs import draw_pairs, refit_pairs
from sbibench.store.results import Results

ARRAYS = (
    "thetas", "xs", "draws", "log_probs_true", "log_probs", "log_priors_true", "prior_draws",
    "x_obs", "draws_at_x_obs",
)  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """What is the same for all methods.

    Attributes
    ----------
    task, observation
        The task, and the observation that methods are fitted for.
    held, draws, refit, predictions
        The pairs, how many draws of the posterior are made at each, for how many of them a method
        that can't be asked at other data is fitted anew, and how many posterior predictive draws
        are simulated.
    results, folder
        Where runs are kept, and where what they say of the pairs is.
    time_limit, retry, progress
        Seconds that fitting and sampling may take, and as many each that the pairs and the
        predictions may; whether runs that failed are run again; and what is called as (stage, done,
        total).
    """

    task: Task
    observation: int
    held: HeldOut
    draws: int
    refit: int
    predictions: int
    results: Results
    folder: Path
    time_limit: float | None
    retry: bool
    progress: Progress

    def entry(self, contender: Contender, spec: RunSpec) -> tuple[Entry, Pairs | None]:
        """Return what is known of a run without its checks, and its pairs, if it has any."""
        record, posterior = self._run(contender, spec)
        samples = self.results.samples(spec.id)
        entry = Entry(label=contender.label, record=record, names=self.task.parameter_names)
        if samples is None:
            return replace(entry, why_not=record.reason, distance_missing="it has no samples"), None
        entry = self._with_distance(entry, spec, samples)
        return self._with_pairs(entry, contender, spec, posterior)

    def _run(self, contender: Contender, spec: RunSpec) -> tuple[RunRecord, Any]:
        """Return the record of a run, which is made if there is none, and its posterior if so."""
        known = self.results.read(spec.id)
        if known is not None:
            done = known.status == "done"
            if self.results.has_samples(spec.id) if done else not self.retry:
                return known, None
            for path in self.folder.glob(f"{spec.id}.*"):  # what the old fit said of the pairs
                path.unlink()
        fit = fit_once(spec, self.time_limit, self.progress, self.task, contender.algorithm)
        record, samples = ask(fit, spec)
        if samples is not None and hasattr(fit.posterior, "save"):
            # Before the record, so that a run that is on record can be asked; priors of some kinds
            # can't be saved, and then it is fitted again after a stop.
            tried(lambda: fit.posterior.save(self._saved(spec)))
        self.results.write(record, samples)
        return record, fit.posterior if samples is not None else None

    def _saved(self, spec: RunSpec) -> Path:
        return self.results.path / "posteriors" / f"{spec.id}.posterior"

    def _posterior(self, contender: Contender, spec: RunSpec) -> Any:
        """Return the posterior of a run that was made before."""
        loaded, _ = tried(lambda: load(self._saved(spec)))
        if loaded is not None:
            return loaded
        fit = fit_once(spec, self.time_limit, self.progress, self.task, contender.algorithm)
        if fit.failure:
            raise UsageError(f"fitted again, it failed: {fit.failure[1]}")
        return fit.posterior

    def _with_distance(self, entry: Entry, spec: RunSpec, samples: np.ndarray) -> Entry:
        """Return the entry with its posterior predictive distance."""
        path = self.folder / f"{spec.id}.predictions.{self.predictions}.npz"
        known = read_arrays(path)
        if known is None:
            thetas = samples[np.arange(self.predictions) % len(samples)]
            key = jax.random.fold_in(key_of(spec.id), 3)
            self.progress(f"{spec.label}: predictions", 0, self.predictions)
            simulator = simulator_of(
                self.task, self.observation, self.predictions, time_limit=self.time_limit
            )
            drawn, why = tried(lambda: simulator(key, thetas))
            if drawn is None:
                return replace(entry, distance_missing=why)
            known = {"xs": drawn.xs}
            write_arrays(path, known)
        x_obs, xs = self.task.observation(self.observation), known["xs"]
        found, why = tried(lambda: meddist(key_of(spec.id), xs, x_obs))
        if not isinstance(found, Estimate):
            return replace(entry, distance_missing=why)
        return replace(entry, distance=float(found), distance_error=found.error)

    def _with_pairs(
        self, entry: Entry, contender: Contender, spec: RunSpec, posterior: Any
    ) -> tuple[Entry, Pairs | None]:
        """Return the entry and the pairs that it was judged by, or why there are none."""
        one, anew = (
            self.folder / f"{spec.id}.{how}.npz" for how in ("one_fit", f"refit.{self.refit}")
        )
        known = read_arrays(one) or (read_arrays(anew) if self.refit else None)
        if known is None:
            start = time.perf_counter()
            pairs, entry = self._ask(entry, contender, spec, posterior)
            if pairs is None:
                return entry, None
            known = {a: v for a in ARRAYS if (v := getattr(pairs, a)) is not None}
            known["seconds"] = np.array(time.perf_counter() - start)
            known["density_missing"] = np.array(entry.density_missing)
            known["short"] = np.array(bool(pairs.facts.get("stopped")))
            if not known["short"]:  # with more time there may be more
                write_arrays(one if entry.judged == "one fit" else anew, known)
        pairs = Pairs(
            **{a: known.get(a) for a in ARRAYS},
            names=self.task.parameter_names,
            facts={"pairs": len(known["thetas"]), "draws": self.draws},
        )
        at = self._numbers(known["thetas"])
        how: Literal["one fit", "refit"] = entry.judged or ("one fit" if one.exists() else "refit")
        asked = len(self.held.thetas) if how == "one fit" else self.refit
        if known.get("short"):
            asked = len(at)
        entry = replace(
            entry,
            judged=how,
            at=at,
            log_probs_true=pairs.log_probs_true,
            density_missing=str(known["density_missing"]),
            missed=asked - len(at),
            judging=float(known["seconds"]),
        )
        return entry, pairs

    def _ask(
        self, entry: Entry, contender: Contender, spec: RunSpec, posterior: Any
    ) -> tuple[Pairs | None, Entry]:
        """Ask the posterior at the pairs, or fit anew at some of them."""
        if posterior is None:
            posterior, why = tried(lambda: self._posterior(contender, spec))
            if posterior is None:
                return None, replace(entry, why_not=why)
        several = getattr(posterior, "amortized", False)
        if not several and not self.refit:
            return None, replace(entry, why_not="fitted for this observation alone")
        key = jax.random.fold_in(key_of(spec.id), 4)
        n = len(self.held.thetas) if several else self.refit
        held = self.held.thetas[:n], self.held.xs[:n]

        def progress(stage: str, done: int, total: int | None) -> None:
            # What fits and chains report in between is too much.
            if stage == "pairs":
                self.progress(f"{spec.label}: pairs", done, total)

        def pairs(*, densities: bool) -> Pairs:
            options: dict[str, Any] = {
                "observation": self.observation,
                "densities": densities,
                "time_limit": self.time_limit,
                "progress": progress,
                "held": held,
            }
            if several:
                return draw_pairs(key, posterior, self.task, n, self.draws, **options)
            fresh = contender.algorithm
            return refit_pairs(key, fresh, self.task, spec.budget, n, self.draws, **options)

        found, why = tried(lambda: pairs(densities=True))
        no_density = "it has no density"
        if found is None and several and hasattr(posterior, "log_prob"):
            # A density that fails does not cost the checks that need none.
            found, no_density = tried(lambda: pairs(densities=False))[0], why
        if found is None:
            return None, replace(entry, why_not=why)
        missing = no_density if found.log_probs is None else ""
        how: Literal["one fit", "refit"] = "one fit" if several else "refit"
        return found, replace(entry, judged=how, density_missing=missing)

    def _numbers(self, thetas: np.ndarray) -> np.ndarray:
        """Return which of the held-out pairs these are."""
        number = {row.tobytes(): i for i, row in enumerate(self.held.thetas)}
        return np.array([number[row.tobytes()] for row in thetas])
