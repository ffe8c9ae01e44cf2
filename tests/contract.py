"""Contracts as tests: one test for each registered thing and each point that it owes."""

import pytest

from sbibench.contract.kinds import NOUNS
from sbibench.contract.points import NotApplicableError


def points(noun):
    """Return a decorator: a test of the argument `point`, one for each of the noun."""
    return pytest.mark.parametrize("point", NOUNS[noun].points, ids=lambda p: p.name)


def kept(point, subject):
    """Examine a point as the command does; what does not apply is skipped."""
    try:
        point.examine(subject)
    except NotApplicableError as error:
        pytest.skip(str(error))
