"""What every registered metric promises."""

import subprocess
import sys

import pytest

import sbibench.metrics
from contract import kept, points
from sbibench.contract.metrics import Judge
from sbibench.core.errors import UsageError
from sbibench.core.registry import METRICS

NAMES = METRICS.names()


@pytest.fixture(scope="module", params=NAMES)
def judge(request):
    return Judge(METRICS, request.param)


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


@points("metric")
def test_the_contract_is_kept(judge, point):
    kept(point, judge)


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
