"""`sbibench check`, and that each point of a contract can be broken."""

import json
import sys
import time

import pytest

from sbibench.cli import app
from sbibench.contract import hard_cases
from sbibench.contract.candidate import Candidate
from sbibench.contract.kinds import NOUNS, noun_of
from sbibench.contract.points import BrokenError, examine
from sbibench.core.errors import BudgetExceededError, DeadlineError, SamplingError, UsageError

MODULE = '''
import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import sbibench as sb
from sbibench.contract.toy import TOY
from sbibench.core.finding import Finding
from sbibench.core.metric import present


@sb.from_function
def forgetful(prior, simulator, x_obs, budget, seed):
    """Neither looks at its seed nor at the data."""
    simulator(prior.sample(budget, 1))
    return np.random.default_rng().normal(size=(1000, prior.d))


@sb.from_function
def broken(prior, simulator, x_obs, budget, seed):
    raise RuntimeError("no such luck")


@dataclass
class Bare:
    amortized = True
    hidden: int = 3

    def fit(self, key, problem):
        return self


@dataclass(frozen=True)
class Distance:
    needs: ClassVar[tuple[str, ...]] = ("samples", "reference")

    def __call__(self, key, evidence):
        samples, reference = present(evidence, self.needs)
        return float(np.abs(samples.mean(0) - reference.mean(0)).max())


@dataclass(frozen=True)
class Closeness(Distance):
    def __call__(self, key, evidence):
        return -float(np.abs(evidence.samples.mean()))


@dataclass(frozen=True)
class Moody:
    needs: ClassVar[tuple[str, ...]] = ("thetas", "draws")

    def __call__(self, key, pairs):
        value = float(np.random.default_rng().normal())
        return Finding(statistic=value, p_value=1e-4, passed=False, level=0.01, verdict="Bad.")


TASK = dataclasses.replace(TOY, name="mine")
WIDE = dataclasses.replace(TOY, name="wide", log_likelihood=lambda theta, x: TOY.log_likelihood(
    theta, theta + (x - theta) / 2))
BLIND = dataclasses.replace(TOY, name="blind", log_likelihood=None)


def _noisy(key, theta):
    return theta + np.random.default_rng().normal(size=2)


NOISY = dataclasses.replace(TOY, name="noisy", simulate=_noisy)
SOMETIMES = dataclasses.replace(
    TOY, name="sometimes", log_likelihood=None,
    simulate=lambda key, theta: jnp.where(theta[0] > 0.5, jnp.nan, TOY.simulate(key, theta)),
)
instance = Distance()
'''


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    (tmp_path / "their_things.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_things", raising=False)
    return "their_things"


def outcomes(address):
    noun = NOUNS[noun_of(address)]
    return {o.point: o for o in examine(noun.subject(address), noun.points)}


def failed(address):
    found = outcomes(address)
    assert all(o.reason and o.mend for o in found.values() if o.status == "failed")
    assert all(o.reason and not o.mend for o in found.values() if o.status == "skipped")
    return {point for point, o in found.items() if o.status == "failed"}


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        (
            "forgetful",
            {
                "the posterior is better than the prior", "same key same samples",
                "one parameter one datum and a constant column",
            },
        ),
        ("broken", {"samples have shape and type and the budget is kept"}),
        ("Bare", {"settings are a frozen dataclass",
                  "samples have shape and type and the budget is kept"}),
        ("Distance", set()),
        ("Closeness", {"truth scores lower than noise",
                       "what it needs and does not get is refused"}),
        (
            "Moody",
            {
                "a posterior without fault gives a finding that says so",
                "the same key gives the same finding and json holds all of it",
                "what it needs and does not get or gets as nan is refused",
                "few of anything are judged or refused in words",
                "ties and a constant parameter are no fault",
            },
        ),
        ("TASK", set()),
        ("BLIND", set()),
        ("SOMETIMES", set()),
        ("WIDE", {"the likelihood is that of the simulator",
                  "the likelihood is that of the simulator elsewhere"}),
        ("NOISY", {"a batch is its single calls",
                   "the same parameters give other data in every row",
                   "same key same result and another key another"}),
    ],
)  # fmt: skip
def test_what_is_broken_is_found(theirs, name, broken):
    found = failed(f"{theirs}:{name}")
    assert broken <= found
    if not broken:
        assert not found


def test_without_a_posterior_the_points_about_it_are_left(theirs):
    found = outcomes(f"{theirs}:Bare")
    broken = found["samples have shape and type and the budget is kept"]
    assert broken.reason == "fit returned Bare, which has no sample and no info"
    left = {p for p, o in found.items() if o.reason == "fit gave no posterior, see above"}
    assert {p for p, o in found.items() if o.status == "failed"} == {
        "settings are a frozen dataclass",
        broken.point,
    }
    assert {"same key same samples", "one parameter one datum and a constant column"} <= left


@pytest.mark.parametrize(
    ("error", "seconds", "message"),
    [
        (SamplingError("it gave up"), 0.0, None),
        (DeadlineError("it is over"), 0.0, None),
        (SamplingError(""), 0.0, "SamplingError has no text"),
        (BudgetExceededError("1 asked for"), 0.0, "BudgetExceededError does not say why"),
        (SamplingError("it gave up"), 0.2, "it took 0 s where"),
    ],
)
def test_data_far_away_end_in_time_with_a_reason(monkeypatch, error, seconds, message):
    class GivesUp:
        def fit(self, key, problem):
            time.sleep(seconds)
            raise error

    if seconds:
        monkeypatch.setattr(hard_cases, "LATEST", 0.1)
    monkeypatch.setattr(Candidate, "settings", GivesUp())
    candidate = Candidate("rej_abc")
    far = hard_cases.an_observation_far_from_everything_ends_with_samples_or_a_reason
    if message is None:
        far(candidate)
    else:
        with pytest.raises(BrokenError, match=message):
            far(candidate)


def test_points_that_do_not_apply_are_skipped_with_the_reason(theirs):
    blind = outcomes(f"{theirs}:BLIND")
    reasons = {o.reason for o in blind.values() if o.status == "skipped"}
    assert reasons == {"it has no likelihood"}
    sometimes = outcomes(f"{theirs}:SOMETIMES")["simulations from the prior are finite"]
    assert sometimes.status == "skipped"
    assert "of 100 are not" in sometimes.reason


@pytest.mark.parametrize(
    ("name", "noun"), [("Distance", "metric"), ("Moody", "check"), ("Bare", "algorithm"),
                       ("TASK", "task")],
)  # fmt: skip
def test_what_it_is_is_found_by_itself(theirs, name, noun):
    assert noun_of(f"{theirs}:{name}") == noun


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("their_things:instance", None, "is no task, algorithm, metric or check"),
        ("their_things:nothing", None, "no object in their_things named 'nothing'"),
        ("not_there:thing", None, "no module 'not_there' can be imported"),
        ("their_things:Distance", "task", "is no task"),
        ("their_things:Distance", "metrics", "did you mean 'metric'"),
        ("nltp", None, "nltp is metric and check; say which by --kind"),
        ("two_mons", None, "did you mean 'two_moons'"),
    ],
)
def test_what_is_nothing_is_refused_in_one_line(theirs, name, kind, message):
    with pytest.raises(UsageError, match=message):
        noun_of(name, kind)


def run(*arguments):
    return app(
        ["check", *arguments], exit_on_error=False, print_error=False, result_action="return_value"
    )


def test_the_command_prints_a_table_and_its_status_says_whether_all_is_well(theirs, capsys):
    assert run(f"{theirs}:Distance") == 0
    assert "4 passed, 0 failed, 0 skipped" in capsys.readouterr().out
    assert run(f"{theirs}:Closeness") == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "2 failed" in told
    assert "from truth to noise it is" in told
    assert "→" in told
    assert run(f"{theirs}:Closeness", "--kind", "metric", "--json") == 1
    rows = json.loads(capsys.readouterr().out)
    assert set(rows[0]) == {"point", "status", "reason", "mend", "seconds"}
    assert {row["status"] for row in rows} == {"passed", "failed"}
    with pytest.raises(UsageError, match="--budget is for algorithms"):
        run(f"{theirs}:Distance", "--budget", "1000")
    with pytest.raises(UsageError, match="200 or more"):
        run(f"{theirs}:Bare", "--budget", "10")
