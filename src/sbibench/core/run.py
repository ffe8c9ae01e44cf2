"""The identity of a run, and all that is known of it afterwards."""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

Status = Literal["done", "failed", "timeout", "out_of_memory", "budget_exceeded", "skipped"]


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run: its hash names its files, and the same spec gives the same samples.

    Attributes
    ----------
    task, task_version
        The task and the version of it.
    algorithm, settings
        The algorithm and its settings in full, nested plain values.
    label
        What tables call the algorithm with these settings; not part of the identity.
    budget, observation, seed
        Simulations allowed, number of the observation, and what all randomness comes from.
    samples
        How many samples of the posterior are drawn.
    share_fit
        Whether one fit serves all observations; part of the identity only where it is so.
    fingerprint
        Of a task of somebody's own, reached as module:name: of its simulator's code, its prior and
        its observations, so that a run after an edit is another run. Empty for registered tasks,
        whose version tells, and no part of the identity then.
    """

    task: str
    task_version: int
    algorithm: str
    settings: dict[str, Any]
    label: str
    budget: int
    observation: int
    seed: int
    samples: int = 10_000
    share_fit: bool = False
    fingerprint: str = ""

    @property
    def id(self) -> str:
        """Return the hash of everything but the label, 16 hexadecimal digits."""
        return self._hash("label")

    @property
    def fit_id(self) -> str:
        """Return the hash of what the fit depends on: not the observation, if the fit is shared."""
        return self._hash("label", "observation") if self.share_fit else self.id

    def _hash(self, *without: str) -> str:
        identity = {k: getattr(self, k) for k in self.__struct_fields__ if k not in without}
        if not self.share_fit:
            del identity["share_fit"]
        if not self.fingerprint:
            identity.pop("fingerprint", None)
        return hashlib.sha256(msgspec.json.encode(identity, order="deterministic")).hexdigest()[:16]

    def __str__(self) -> str:
        """Return a short name for messages."""
        return (
            f"{self.label} on {self.task}, observation {self.observation}, "
            f"budget {self.budget}, seed {self.seed}" + (", shared fit" if self.share_fit else "")
        )


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run.

    Attributes
    ----------
    spec
        What was run.
    status, reason
        How it ended, in one word and in words.
    calls, invalid
        Simulations run, and how many of them were not finite.
    seconds
        Wall-clock time of the stages simulate, fit (without simulating), sample, density (at the
        true parameters), metrics; `compile` is the part of the first four that went into
        compilation. Where a fit is shared, calls, invalid, simulate and fit are in each record
        those of the one fit, not a share of them. Of a run that was killed, only the stage in which
        it was is there.
    metrics, missing
        Values by metric, and for the metrics that have none the reason. What else a metric tells is
        beside it, as `c2st.p_value`.
    errors
        Standard errors, by metric, of those that have one.
    info
        What the algorithm reports of itself; of a shared fit `shared_fit` is true, and what it
        reports of an observation may be of the one it was `fitted_at`.
    versions, machine
        Of the package, its commit, the libraries, Python, and packages that bring the task or the
        algorithm; what it ran on.
    finished
        When, UTC, ISO 8601.
    """

    spec: RunSpec
    status: Status
    reason: str
    calls: int = 0
    invalid: int = 0
    seconds: dict[str, float] = {}
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    errors: dict[str, float] = {}
    info: dict[str, Any] = {}
    versions: dict[str, str] = {}
    machine: dict[str, Any] = {}
    finished: str = ""

    def without(self, metrics: Sequence[str]) -> "RunRecord":
        """Return the record as it was before these metrics were computed."""
        left = {
            field: {k: v for k, v in known.items() if not _told_by(k, metrics)}
            for field in ("metrics", "missing", "errors")
            if (known := getattr(self, field))
        }
        return msgspec.structs.replace(self, **left)

    def keeping(self, old: "RunRecord") -> "RunRecord":
        """Return the record with the values of an old one where it says that there are none."""
        values, errors = (
            {k: v for k, v in known.items() if _told_by(k, list(self.missing))}
            for known in (old.metrics, old.errors)
        )
        return msgspec.structs.replace(
            self, metrics=values | self.metrics, errors=errors | self.errors
        )


def _told_by(name: str, metrics: Sequence[str]) -> bool:
    """Return whether a value of this name is told by one of the metrics: `c2st`, `c2st.p_value`."""
    return any(name == m or name.startswith(f"{m}.") for m in metrics)
