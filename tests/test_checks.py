"""What every registered check promises."""

import dataclasses
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import sbibench.calibration
from gaussian_pairs import gaussian_pairs
from sbibench.core.calibration import Pairs
from sbibench.core.errors import UsageError
from sbibench.core.finding import Finding
from sbibench.core.registry import CHECKS

NAMES = CHECKS.names()
KEY = jax.random.key(0)
FIELDS = {field.name for field in dataclasses.fields(Pairs)}
PAIRS = gaussian_pairs(n=60, draws=30)


def test_the_checks_of_the_field_are_registered():
    wanted = {"sbc", "coverage", "tarp", "lc2st", "data_average", "contraction", "nltp"}
    assert wanted <= set(NAMES)


def test_an_unknown_check_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match="no check named 'trap'; did you mean 'tarp'"):
        CHECKS.get("trap")
    with pytest.raises(AttributeError, match="trap"):
        sbibench.calibration.trap  # noqa: B018


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_frozen_dataclass_with_defaults_and_known_needs(name):
    check = CHECKS.get(name)()
    assert dataclasses.is_dataclass(check)
    assert type(check).__dataclass_params__.frozen
    assert hash(check) == hash(CHECKS.get(name)())
    assert set(check.needs) <= FIELDS - {"names", "facts"}
    assert check.needs
    assert "needs" not in {field.name for field in dataclasses.fields(check)}


@pytest.mark.parametrize("name", NAMES)
def test_a_posterior_without_fault_gives_a_finding_that_says_so(name):
    found = CHECKS.get(name)()(KEY, PAIRS)
    assert isinstance(found, Finding)
    assert np.isfinite(found.statistic)
    assert found.passed is not False
    assert (found.p_value is None) == (found.level is None)
    assert found.p_value is None or 0 < found.p_value <= 1
    assert found.verdict
    assert not found.verdict.endswith(".")
    for values in (*found.values.values(), *found.arrays.values()):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_key_gives_the_same_finding_and_json_holds_all_of_it(name):
    check = CHECKS.get(name)()
    first, second = (check(KEY, PAIRS).plain() for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert set(first) == {"statistic", "p_value", "passed", "level", "verdict", "values", "arrays"}


@pytest.mark.parametrize("name", NAMES)
def test_what_it_needs_and_does_not_get_or_gets_as_nan_is_refused(name):
    check = CHECKS.get(name)()
    for field in check.needs:
        with pytest.raises(UsageError):
            check(KEY, dataclasses.replace(PAIRS, **{field: None}))
        spoilt = np.array(getattr(PAIRS, field))
        spoilt.flat[0] = np.nan
        with pytest.raises(UsageError):
            check(KEY, dataclasses.replace(PAIRS, **{field: spoilt}))
        with pytest.raises(UsageError):
            check(KEY, dataclasses.replace(PAIRS, **{field: np.empty((0, 2))}))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "draws", "d"), [(1, 5, 2), (5, 1, 2), (30, 20, 1), (2, 2, 1)])
def test_few_of_anything_are_judged_or_refused_in_words(name, n, draws, d):
    pairs = gaussian_pairs(n=n, draws=draws, d=d)
    check = CHECKS.get(name)()
    if (n == 1 and name in {"lc2st", "contraction", "nltp"}) or (draws, name) == (1, "contraction"):
        with pytest.raises(UsageError, match=r"at least 2|2 pairs or more"):
            check(KEY, pairs)
    else:
        found = check(KEY, pairs)
        assert np.isfinite(found.statistic)
        assert found.p_value is None or found.p_value > 0.01


@pytest.mark.parametrize("name", NAMES)
def test_ties_and_a_constant_parameter_are_no_fault(name):
    """Whole numbers tie often; the second parameter is 3 everywhere."""
    rng = np.random.default_rng(1)
    pool = np.stack([rng.poisson(rng.gamma(2, 2, (150, 1)), (150, 41)), np.full((150, 41), 3)], 2)
    pool = pool.astype(float)
    pairs = Pairs(
        thetas=pool[:, 0],
        xs=rng.integers(2, size=(150, 1)),
        draws=pool[:, 1:],
        log_probs_true=np.round(-pool[:, 0, 0]),
        log_probs=np.round(-pool[:, 1:, 0]),
        log_priors_true=np.full(150, -50.0),
        prior_draws=pool.reshape(-1, 2),
        x_obs=np.ones(1),
        draws_at_x_obs=pool[:20, 1:].reshape(-1, 2),
    )
    check = CHECKS.get(name)()
    if name == "contraction":
        with pytest.raises(UsageError, match="parameter 2 fixed"):
            check(KEY, pairs)
    else:
        assert check(KEY, pairs).passed is not False


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
