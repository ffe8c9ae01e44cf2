"""How long what is left will take."""

import pytest

from sbibench.core.run import RunRecord, RunSpec
from sbibench.runner.estimate import in_words, time_left


def spec(algorithm="npe", task="two_moons", budget=1000, observation=1):
    return RunSpec(
        task=task, task_version=1, algorithm=algorithm, settings={}, label=algorithm,
        budget=budget, observation=observation, seed=0,
    )  # fmt: skip


def record(seconds, status="done", **where):
    stages = {"fit": 0.75 * seconds, "metrics": 0.25 * seconds, "compile": 1000.0}
    return RunRecord(spec=spec(**where), status=status, reason="x", seconds=stages)


RECORDS = [
    record(10, observation=1),
    record(20, observation=2),
    record(40, task="slcp"),
    record(300, algorithm="nle", budget=10_000),
    record(0.1, status="failed", observation=3),
]


@pytest.mark.parametrize(
    ("todo", "seconds", "unknown"),
    [
        ([], 0, 0),
        ([spec(observation=3), spec(observation=4)], 30, 0),  # of the same cell
        ([spec(task="sir")], (10 + 20 + 40) / 3, 0),  # of any task
        ([spec(algorithm="nle", budget=1000)], 30, 0),  # in proportion to the budget
        ([spec(algorithm="nle", budget=100_000)], 3000, 0),
        ([spec(algorithm="snre"), spec()], 15, 1),
    ],
)
def test_runs_take_as_long_as_the_nearest_that_are_on_record(todo, seconds, unknown):
    assert time_left(todo, RECORDS) == (pytest.approx(seconds), unknown)
    assert time_left(todo, RECORDS, workers=2).seconds == pytest.approx(seconds / 2)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.4, "4 s"),
        (89, "89 s"),
        (300, "5 min"),
        (3599, "1 h 0 min"),
        (7800, "2 h 10 min"),
        (26 * 3600, "1 day 2 h"),
        (76 * 3600, "3 days 4 h"),
    ],
)
def test_a_time_is_told_as_people_say_it(seconds, words):
    assert in_words(seconds) == words
