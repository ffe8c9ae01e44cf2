"""What every registered algorithm owes: shapes, support, budget, reproducibility, refusals."""

import dataclasses

import numpy as np
import pytest

from contract import kept, points
from sbibench.contract.candidate import Candidate
from sbibench.core import registry
from sbibench.core.errors import UsageError


@pytest.fixture(scope="module", params=registry.ALGORITHMS.names())
def candidate(request):
    if missing := registry.ALGORITHMS.missing(request.param):
        pytest.skip(missing)
    return Candidate(request.param)


@points("algorithm")
def test_the_contract_is_kept(candidate, point):
    kept(point, candidate)


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [0.0, np.inf]])
def test_an_observation_that_is_not_finite_is_refused_before_simulating(toy_task, bad):
    task = dataclasses.replace(toy_task, observations=np.array([bad, bad]))
    with pytest.raises(UsageError, match="not finite"):
        task.problem(1, 10)
