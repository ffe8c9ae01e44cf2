"""What every registered check promises."""

import re
import subprocess
import sys

import pytest

import sbibench.calibration
from contract import kept, points
from sbibench.contract import checks
from sbibench.contract.metrics import Judge
from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding
from sbibench.core.registry import CHECKS

NAMES = CHECKS.names()


def test_the_checks_of_the_field_are_registered():
    wanted = {"sbc", "coverage", "tarp", "lc2st", "data_average", "contraction", "nltp"}
    assert wanted <= set(NAMES)


def test_an_unknown_check_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match="no check named 'trap'; did you mean 'tarp'"):
        CHECKS.get("trap")
    with pytest.raises(AttributeError, match="trap"):
        sbibench.calibration.trap  # noqa: B018


@pytest.fixture(scope="module", params=NAMES)
def judge(request):
    return Judge(CHECKS, request.param)


@points("check")
def test_the_contract_is_kept(judge, point):
    kept(point, judge)


@pytest.mark.parametrize("size", checks.SIZES, ids=str)
def test_few_of_anything_are_refused_where_nothing_can_be_said(judge, size):
    n, draws, _ = size
    found = checks.few(judge, *size)
    if (n == 1 and judge.name in {"lc2st", "contraction", "nltp"}) or (
        (draws, judge.name) == (1, "contraction")
    ):
        assert re.search(r"at least 2|2 pairs or more", found)
    else:
        assert isinstance(found, Finding)


def test_a_constant_parameter_is_refused_by_contraction_alone(judge):
    found = checks.ties(judge)
    if judge.name == "contraction":
        assert "parameter 2 fixed" in found
    else:
        assert isinstance(found, Finding)


@pytest.mark.parametrize("name", NAMES)
def test_the_function_takes_its_name_whichever_is_imported_first(name):
    code = f"""
import importlib, sys
if {len(name) % 2}:
    importlib.import_module("sbibench.calibration.{name}")
import sbibench.calibration
function = sbibench.calibration.{name}
assert callable(function) and not isinstance(function, type(sys)), function
assert function.__name__ == "{name}"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
