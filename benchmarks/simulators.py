"""Time 100 000 simulations of every task at draws from its prior, after compilation."""

import statistics
import time

import jax

from sbibench.core import priors, registry
from sbibench.core.deadline import Deadline
from sbibench.core.simulator import Simulator
from sbibench.core.task import Task

N = 100_000
REPEATS = 5


def seconds(task: Task) -> tuple[float, float, float]:
    """Return the time of the first block, the median time of N simulations, the share invalid."""
    key = jax.random.key(0)
    thetas = priors.rows(task.prior).sample(key, N)
    simulator = Simulator(task.simulate, (task.d, task.p), (REPEATS + 1) * N, Deadline())
    start = time.perf_counter()
    simulator(key, thetas[:1000])
    first, times = time.perf_counter() - start, []
    for _ in range(REPEATS):
        start = time.perf_counter()
        simulator(key, thetas)
        times.append(time.perf_counter() - start)
    return first, statistics.median(times), simulator.invalid / simulator.calls


def main() -> None:
    print(f"{'task':<26}{'first block, s':>16}{f'{N:,} simulations, s':>26}{'invalid':>10}")
    for name in registry.TASKS.names():
        first, median, invalid = seconds(registry.TASKS.get(name))
        print(f"{name:<26}{first:>16.2f}{median:>26.2f}{invalid:>10.2%}", flush=True)


if __name__ == "__main__":
    main()
