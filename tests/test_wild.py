"""A suite with simulators that do all that a simulator should not: every run has its record."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sbibench.store.results import Results

WILD = '''
import collections, itertools, os, time
from dataclasses import dataclass
from typing import ClassVar
import jax, jax.numpy as jnp, numpy as np, numpyro.distributions as dist
from sbibench.core.task import Task


def task(name, act):
    """A task whose simulator calls back into Python."""
    def on_host(theta):
        if np.any(theta):  # not while it is compiled
            act()
        return np.asarray(theta)

    def simulate(key, theta):
        shape = jax.ShapeDtypeStruct(theta.shape, theta.dtype)
        return jax.pure_callback(on_host, shape, theta, vmap_method="sequential")

    return made(name, simulate)


def made(name, simulate):
    return Task(
        name=name, label=name, citation="none",
        prior=dist.Normal(np.zeros(2), np.ones(2)).to_event(1), simulate=simulate,
        reference=lambda key, x, n: np.asarray(jax.random.normal(key, (n, 2))),
        parameter_names=("a", "b"), data_names=("u", "v"),
        observations=np.zeros((1, 2)), thetas_true=np.zeros((1, 2)),
    )


def fail():
    raise RuntimeError("their bug")


def eat():
    eaten = []
    while True:
        eaten.append(np.ones(10**6))
        time.sleep(0.001)


raises = task("raises", fail)
sleeps = task("sleeps", lambda: time.sleep(10_000))
spins = task("spins", lambda: collections.deque(itertools.repeat(0), maxlen=0))
eats = task("eats", eat)
leaves = task("leaves", lambda: os._exit(3))
sometimes = made("sometimes", lambda key, theta: jnp.where(
    jax.random.uniform(key) < 0.3, jnp.nan, theta + jax.random.normal(key, (2,))
))


@dataclass(frozen=True)
class Stuck:
    """A metric that never comes back, for one task."""
    needs: ClassVar[tuple[str, ...]] = ("samples",)

    def __call__(self, key, evidence):
        if evidence.x_obs.any():
            collections.deque(itertools.repeat(0), maxlen=0)
        return 0.5
'''

SUITE = """
tasks = [
    "wild:spins", "wild:sleeps", "wild:raises", "wild:eats", "wild:leaves", "wild:sometimes",
    "two_moons",
]
budgets = [200]
observations = [1]
metrics = ["wild:Stuck", "mmd"]
samples = 100
hard_limit = 15
memory_limit = 2
[[algorithms]]
name = "rej_abc"
"""


@pytest.mark.slow
def test_whatever_a_simulator_does_its_run_is_recorded_and_the_others_go_on(tmp_path):
    (tmp_path / "wild.py").write_text(WILD)
    (tmp_path / "suite.toml").write_text(SUITE)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    command = [sys.executable, "-m", "sbibench.cli", "suite", "run", "suite.toml", "--out", "out"]

    def run():
        return subprocess.run(
            [*command, "--workers", "2"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
            check=False, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    done = run()
    assert done.returncode == 1, done.stderr
    results = Results(tmp_path / "out")
    records = {r.spec.task.removeprefix("wild:"): r for r in results}
    assert {name: r.status for name, r in records.items()} == {
        "spins": "timeout", "sleeps": "timeout", "raises": "failed", "eats": "out_of_memory",
        "leaves": "failed", "sometimes": "done", "two_moons": "done",
    }  # fmt: skip
    for name, reason in {
        "spins": "killed after 15 s", "sleeps": "killed after 15 s", "raises": "their bug",
        "eats": "more memory than its limit, 2 GiB", "leaves": "exit status 3",
    }.items():  # fmt: skip
        assert reason in records[name].reason
        assert records[name].versions["sbibench"]
        assert records[name].metrics == {}
    assert 30 <= records["sometimes"].invalid <= 90  # of 200, three in ten
    assert set(records["sometimes"].metrics) == {"wild:Stuck", "mmd", "mmd.p_value"}
    moons = records["two_moons"]
    assert moons.missing == {"wild:Stuck": "killed after 15 s, the hard limit"}
    assert set(moons.metrics) == {"mmd", "mmd.p_value"}
    samples = results.samples(moons.spec.id)
    assert np.isfinite(samples).all()
    again = run()  # failures are not tried again, and nothing else is left to do
    assert again.returncode == 1
    assert "7 runs, 0 to do" in again.stderr
