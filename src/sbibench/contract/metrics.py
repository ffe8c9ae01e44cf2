"""What every metric owes: an order, the same value again, refusals."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from sbibench.contract.compilations import demand_none
from sbibench.contract.points import Contract, demand, refusal
from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.core.forward import Vmapped
from sbibench.core.metric import Evidence

KEY = jax.random.key(0)
FIELDS = {field.name for field in dataclasses.fields(Evidence)}
PRIOR = dist.Normal(jnp.zeros(2), np.sqrt(2)).to_event(1)


def _simulate(key: Any, theta: Any) -> Any:
    return theta + np.sqrt(2) * jax.random.normal(key, theta.shape)


def _log_likelihood(theta: Any, x: Any) -> Any:
    return -((x - theta) ** 2).sum() / 4


def evidence(shift: float, n: int = 300) -> Evidence:
    """Of samples that lie `shift` beside the posterior, N(0, I), and are as much wider than it."""
    rng = np.random.default_rng(0)
    return Evidence(
        samples=(1 + shift) * rng.normal(size=(n, 2)) + shift,
        reference=rng.normal(size=(n, 2)),
        x_obs=np.zeros(2),
        prior=PRIOR,
        simulate=Vmapped(_simulate, 2),
        log_likelihood=_log_likelihood,
        log_prob_true=-np.log(2 * np.pi) - shift**2,
    )


class Judge:
    """A metric or a check that is examined, with its default options."""

    def __init__(self, kind: registry.Kind, name: str) -> None:
        self.name = name
        self.cls = kind.get(name)

    @property
    def made(self) -> Any:
        """It, made anew."""
        return self.cls()


def demand_values_and_known_needs(judge: Judge, fields: set[str]) -> None:
    """Raise `BrokenError` unless it is a frozen dataclass whose needs are among these fields."""
    made = judge.made
    demand(dataclasses.is_dataclass(made), "it is no dataclass")
    demand(judge.cls.__dataclass_params__.frozen, "the dataclass is not frozen")
    demand(hash(made) == hash(judge.made), "two instances with the same options differ")
    odd = set(made.needs) - fields
    demand(not odd, f"it needs {', '.join(sorted(odd))}, there is only {', '.join(sorted(fields))}")
    demand(made.needs, "`needs` is empty")
    named = {field.name for field in dataclasses.fields(made)}
    demand("needs" not in named, "`needs` is an option")


CONTRACT = Contract()


@CONTRACT.owes(
    "decorate it with @dataclass(frozen=True), with hashable options, and write "
    "needs: ClassVar[tuple[str, ...]] = (...)"
)
def it_is_a_frozen_dataclass_with_defaults_and_known_needs(judge: Judge) -> None:
    """Look for the needs among the fields of Evidence."""
    demand_values_and_known_needs(judge, FIELDS)


@CONTRACT.owes("return a float, or Estimate, that is the smaller the nearer samples are to truth")
def truth_scores_lower_than_noise(judge: Judge) -> None:
    """And more noise higher."""
    scores = [judge.made(KEY, evidence(shift)) for shift in (0, 0.7, 3)]
    demand(
        all(isinstance(score, float) for score in scores),
        f"it returns {type(scores[0]).__name__}, no float",
    )
    told = ", ".join(f"{float(score):.3g}" for score in scores)
    demand(scores[0] < scores[1] < scores[2], f"from truth to noise it is {told}")


@CONTRACT.owes(
    "draw what is random from the key; make jitted functions once, at module level, and pass them "
    "the same function objects always"
)
def a_second_call_gives_the_same_value_and_compiles_nothing(judge: Judge) -> None:
    """Nor does one with other samples."""
    first = judge.made(KEY, evidence(0.7))
    again = []

    def call() -> None:
        again.append(judge.made(KEY, evidence(0.7)))
        judge.made(jax.random.key(1), evidence(0.1))

    demand_none(call, "a second call", traced=True)
    demand(again[0] == first, f"it is {first}, and then {again[0]}")


@CONTRACT.owes("begin with `present(evidence, self.needs)` of sbibench.core.metric")
def what_it_needs_and_does_not_get_is_refused(judge: Judge) -> None:
    """By a UsageError."""
    for field in judge.made.needs:
        refusal(UsageError, judge.made, KEY, dataclasses.replace(evidence(0), **{field: None}))
