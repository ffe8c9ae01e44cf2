"""What every registered metric promises."""

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench.metrics
from sbibench.core.errors import UsageError
from sbibench.core.metric import Evidence
from sbibench.core.registry import METRICS

NAMES = METRICS.names()
KEY = jax.random.key(0)
FIELDS = {field.name for field in dataclasses.fields(Evidence)}


PRIOR = dist.Normal(jnp.zeros(2), np.sqrt(2)).to_event(1)


def _simulate(key, theta):
    return theta + np.sqrt(2) * jax.random.normal(key, theta.shape)


def _log_likelihood(theta, x):
    return -((x - theta) ** 2).sum() / 4


def evidence(shift, n=300):
    """Of samples that lie `shift` beside the posterior, N(0, I), and are as much wider than it."""
    rng = np.random.default_rng(0)
    return Evidence(
        samples=(1 + shift) * rng.normal(size=(n, 2)) + shift,
        reference=rng.normal(size=(n, 2)),
        x_obs=np.zeros(2),
        prior=PRIOR,
        simulate=_simulate,
        log_likelihood=_log_likelihood,
        log_prob_true=-np.log(2 * np.pi) - shift**2,
    )


def test_the_metrics_of_the_benchmark_are_registered():
    assert {
        "c2st",
        "covariance_error",
        "energy_distance",
        "ksd",
        "mean_error",
        "meddist",
        "mmd",
        "nltp",
        "sliced_wasserstein",
    } <= set(NAMES)


def test_an_unknown_metric_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match="c2st"):
        METRICS.get("c2ts")
    with pytest.raises(AttributeError, match="c2ts"):
        sbibench.metrics.c2ts  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_frozen_dataclass_with_defaults_and_known_needs(name):
    metric = METRICS.get(name)()
    assert dataclasses.is_dataclass(metric)
    assert type(metric).__dataclass_params__.frozen
    assert hash(metric) == hash(METRICS.get(name)())
    assert set(metric.needs) <= FIELDS
    assert metric.needs
    assert "needs" not in {field.name for field in dataclasses.fields(metric)}


@pytest.mark.parametrize("name", NAMES)
def test_truth_scores_lower_than_noise(name):
    metric = METRICS.get(name)()
    scores = [metric(KEY, evidence(shift)) for shift in (0, 0.7, 3)]
    assert all(isinstance(score, float) for score in scores)
    assert scores == sorted(scores)
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_second_call_gives_the_same_value_and_compiles_nothing(name):
    metric = METRICS.get(name)()
    first = metric(KEY, evidence(0.7))
    events = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: events.append(event)
    )
    try:
        jax.jit(lambda x: x + 1)(1.0)
        heard = [event for event in events if "compile" in event]
        assert heard, "a compilation makes no event that is heard here"
        events.clear()
        assert metric(KEY, evidence(0.7)) == first
        metric(jax.random.key(1), evidence(0.1))
        assert not [event for event in events if "compile" in event]
    finally:
        jax.monitoring.clear_event_listeners()


@pytest.mark.parametrize("name", NAMES)
def test_what_it_needs_and_does_not_get_is_refused(name):
    metric = METRICS.get(name)()
    for field in metric.needs:
        with pytest.raises(UsageError):
            metric(KEY, dataclasses.replace(evidence(0), **{field: None}))


@pytest.mark.parametrize("name", NAMES)
def test_the_function_takes_its_name_whichever_is_imported_first(name):
    check = f"""
function = getattr(sbibench.metrics, "{name}")
assert callable(function) and not isinstance(function, type(sys)), function
assert function.__name__ == "{name}"
from sbibench.metrics import {name}
assert {name} is function
"""
    package = "import sys, sbibench.metrics" + check
    module = (
        f"import sys, importlib; m = importlib.import_module('sbibench.metrics.{name}');"
        "import sbibench.metrics" + check + f"assert m.{name} is function"
    )
    for code in (package, module):
        subprocess.run([sys.executable, "-c", code], check=True)
