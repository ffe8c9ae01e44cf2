import re
import sys
import types

import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

import sbibench as sb
from sbibench.core.run import RunSpec
from sbibench.runner.execute import execute


@pytest.fixture
def theirs(toy_task, monkeypatch):
    """Return a module of somebody's own with a task and algorithms that misbehave."""
    from dataclasses import dataclass, replace

    module = types.ModuleType("theirs")

    class Fixed:
        amortized = False

        def __init__(self, samples):
            self.info = {}
            self._samples = samples

        def sample(self, key, n, x=None):
            return self._samples

    @dataclass(frozen=True)
    class Crash:
        def fit(self, key, problem):
            raise RuntimeError("their bug")

    @dataclass(frozen=True)
    class Leave:
        def fit(self, key, problem):
            sys.exit(7)

    @dataclass(frozen=True)
    class Greedy:
        def fit(self, key, problem):
            problem.simulator(key, np.zeros((problem.simulator.left + 1, 2)))

    @dataclass(frozen=True)
    class OutOfMemory:
        def fit(self, key, problem):
            raise MemoryError

    @dataclass(frozen=True)
    class WrongShape:
        def fit(self, key, problem):
            return Fixed(np.zeros((3, 2)))

    @dataclass(frozen=True)
    class NotANumber:
        def fit(self, key, problem):
            return Fixed(np.full((10, 2), np.nan))

    @dataclass(frozen=True)
    class OddFacts:
        def fit(self, key, problem):
            posterior = Fixed(np.zeros((10, 2)))
            posterior.info |= {"a": np.float32(1.5), "b": np.arange(3), "c": np.nan}
            return posterior

    @dataclass(frozen=True)
    class Nothing:
        def fit(self, key, problem):
            return None

    for thing in (Nothing, OddFacts, Leave, Crash, Greedy, OutOfMemory, WrongShape, NotANumber):
        setattr(module, thing.__name__, thing)
    module.task = toy_task
    module.no_reference = replace(toy_task, reference=None, log_likelihood=None)
    module.bad_reference = replace(toy_task, reference=lambda key, x, n: 1 / 0)
    module.all_nan = replace(toy_task, simulate=lambda key, theta: theta * jnp.nan)
    monkeypatch.setitem(sys.modules, "theirs", module)


def spec(algorithm, task="theirs:task", budget=200):
    return RunSpec(
        task=task, task_version=1, algorithm=algorithm, settings={}, label="x",
        budget=budget, observation=1, seed=0, samples=10,
    )  # fmt: skip


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize(
    ("algorithm", "status", "reason"),
    [
        ("theirs:Crash", "failed", "RuntimeError: their bug"),
        ("theirs:Leave", "failed", "SystemExit: 7"),
        ("theirs:Nothing", "failed", "fit returned NoneType, which has no sample and no amortized"),
        ("theirs:Greedy", "budget_exceeded", "201 simulations asked for, 200 of 200 are left"),
        ("theirs:OutOfMemory", "out_of_memory", "MemoryError"),
        ("theirs:WrongShape", "failed", r"shape \(3, 2\), not \(10, 2\)"),
        ("theirs:NotANumber", "failed", "10 of 10 samples are not finite"),
    ],
)
def test_whatever_happens_there_is_a_record_with_a_reason(algorithm, status, reason):
    record, samples = execute(spec(algorithm), ["c2st"])
    assert record.status == status
    assert re.search(reason, record.reason)
    assert samples is None
    assert record.metrics == {}
    assert record.missing == {"c2st": "the run has no samples"}


@pytest.mark.usefixtures("theirs")
def test_a_metric_that_cannot_be_computed_is_absent_with_its_reason():
    record, samples = execute(spec("rej_abc", "theirs:no_reference"), ["c2st"])
    assert record.status == "done"
    assert samples.shape == (10, 2)
    assert record.metrics == {}
    assert "no reference" in record.missing["c2st"]
    record, _ = execute(spec("rej_abc", "theirs:bad_reference"), ["c2st"])
    assert record.status == "done"
    assert "ZeroDivisionError" in record.missing["c2st"]


@pytest.mark.usefixtures("theirs")
def test_few_samples_repeated_are_told_as_such():
    record, samples = execute(spec("theirs:OddFacts"), [])
    assert record.status == "done"
    assert len(samples) == 10
    assert record.reason == "10 samples drawn, but only 1 distinct"
    record, _ = execute(spec("prior"), [])
    assert record.reason == "all samples drawn"


@pytest.mark.usefixtures("theirs")
def test_facts_of_any_type_and_metrics_without_a_value_make_a_readable_record(
    tmp_path, monkeypatch
):
    from dataclasses import dataclass
    from typing import ClassVar

    from sbibench.store.results import Results

    @dataclass(frozen=True)
    class NoNumber:
        needs: ClassVar[tuple[str, ...]] = ("samples",)

        def __call__(self, key, evidence):
            return float("nan")

    monkeypatch.setattr(sys.modules["theirs"], "NoNumber", NoNumber, raising=False)
    record, samples = execute(spec("theirs:OddFacts"), ["theirs:NoNumber"])
    assert record.info == {"a": 1.5, "b": "[0 1 2]", "c": "nan"}
    assert record.missing == {"theirs:NoNumber": "the value is nan"}
    Results(tmp_path).write(record, samples)
    assert Results(tmp_path).read(record.spec.id) == record


@pytest.mark.usefixtures("theirs")
def test_standard_errors_and_what_else_a_metric_tells_are_on_record(monkeypatch):
    from dataclasses import dataclass
    from typing import ClassVar

    from sbibench.core.metric import Estimate
    from sbibench.runner.judge import judge

    @dataclass(frozen=True)
    class Telling:
        needs: ClassVar[tuple[str, ...]] = ("samples", "x_obs")
        error: float = 0.25

        def __call__(self, key, evidence):
            return Estimate(1.5, self.error, auc=0.75)

    monkeypatch.setattr(sys.modules["theirs"], "Telling", Telling, raising=False)
    name = "theirs:Telling"
    record, samples = execute(spec("rej_abc"), [name])
    assert record.metrics == {name: 1.5, f"{name}.auc": 0.75}
    assert record.errors == {name: 0.25}

    @dataclass(frozen=True)
    class Broken(Telling):
        def __call__(self, key, evidence):
            raise ValueError("no more")

    monkeypatch.setattr(sys.modules["theirs"], "Telling", Broken)
    record = judge(record, samples, [name])
    assert (record.metrics, record.errors) == ({}, {})
    assert record.missing[name].startswith("ValueError: no more (")


@pytest.mark.usefixtures("theirs")
def test_the_density_at_the_true_parameters_is_on_record():
    record, _ = execute(spec("npe"), ["nltp"])
    assert np.isfinite(record.info["log_prob_true"])
    assert record.metrics["nltp"] == -record.info["log_prob_true"]
    record, _ = execute(spec("prior"), [])
    assert "log_prob_true" not in record.info
    record, _ = execute(spec("prior"), ["nltp"])
    task = sb.get_task(record.spec.task)
    expected = float(task.prior.log_prob(task.true_parameters(record.spec.observation)))
    assert record.info["log_prob_true"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize(("limit", "samples"), [(1e-6, None), (3.0, (10, 2))])
def test_a_passed_deadline_is_a_timeout_with_what_is_there(limit, samples):
    execute(spec("npe", budget=1000), [])  # so that the second limit is not spent on compiling
    patient = msgspec.structs.replace(
        spec("npe", budget=1000), settings={"training": {"patience": 10_000}}, seed=3
    )
    record, drawn = execute(patient, [], time_limit=limit)
    assert record.status == "timeout"
    assert "time limit" in record.reason
    assert (None if drawn is None else drawn.shape) == samples


@pytest.mark.usefixtures("theirs")
def test_a_simulator_that_never_works_is_a_reason():
    record, _ = execute(spec("rej_abc", "theirs:all_nan"), ["c2st"])
    assert record.status == "failed"
    assert "none of 200 simulations is finite" in record.reason
    assert (record.calls, record.invalid) == (200, 200)


@pytest.mark.usefixtures("theirs")
def test_the_same_spec_gives_the_same_samples_and_another_seed_others():
    first = execute(spec("rej_abc"), [])[1]
    np.testing.assert_array_equal(first, execute(spec("rej_abc"), [])[1])
    other = msgspec.structs.replace(spec("rej_abc"), seed=1)
    assert not np.array_equal(first, execute(other, [])[1])
