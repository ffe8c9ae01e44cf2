"""Seconds of a whole run, process and imports included: cold, and with compiled programs on disk.

    python benchmarks/algorithms.py [REPEATS] [NAME ...]

A run simulates, fits and draws 10 000 samples; metrics are not part of it. "Cold" starts with an
empty program cache, which the warm runs after it use.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

CASES = {
    "npe": ("two_moons", 10_000, "60 s cold, 15 s warm"),
    "nle": ("two_moons", 10_000, "60 s"),
    "snle": ("gaussian_linear", 10_000, "240 s"),
    "smc_abc": ("two_moons", 100_000, "5 s"),
    "rf_abc": ("gaussian_linear", 100_000, "600 s"),
}
PROGRAM = """
import sys, jax, sbibench as sb
from sbibench.core.compilation import keep_compiled_programs
keep_compiled_programs()
name, task, budget = sys.argv[1:]
fit_key, sample_key = jax.random.split(jax.random.key(0))
problem = sb.get_task(task).problem(1, int(budget))
sb.get_algorithm(name).fit(fit_key, problem).sample(sample_key, 10_000)
"""


def seconds(name: str, task: str, budget: int, cache: str) -> float:
    one_thread = {"NPROC": "1", "OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", PROGRAM, name, task, str(budget)],
        check=True,
        env=os.environ | one_thread | {"SBIBENCH_CACHE": cache},
    )
    return time.perf_counter() - start


def main(repeats: int, names: list[str]) -> None:
    for name in names:
        task, budget, target = CASES[name]
        with tempfile.TemporaryDirectory() as cache:
            cold = seconds(name, task, budget, cache)
            warm = [seconds(name, task, budget, cache) for _ in range(repeats)]
        print(
            f"{name} {task} {budget}: cold {cold:.1f} s, warm {statistics.median(warm):.1f} s "
            f"(median of {repeats}); wanted: {target}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:] or list(CASES))
