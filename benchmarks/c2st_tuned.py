"""`c2st_tuned` and `c2st` beside the best possible classifier: python benchmarks/c2st_tuned.py."""

import sys
import time

import jax
import numpy as np

from known_pairs import PAIRS, optimum
from sbibench.metrics import c2st, c2st_tuned

if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{'pair':>15} {'optimum':>8} {'c2st_tuned':>10} {'s':>6} {'c2st':>8} {'s':>6}")
    for name, (p, q) in PAIRS.items():
        rng = np.random.default_rng(0)
        sets = p.sample(rng, rows), q.sample(rng, rows)
        row = f"{name:>15} {optimum(p, q):>8.4f}"
        for metric, width in ((c2st_tuned, 10), (c2st, 8)):
            metric(jax.random.key(1), *sets)  # compiles
            start = time.perf_counter()
            value = metric(jax.random.key(0), *sets)
            row += f" {value:>{width}.4f} {time.perf_counter() - start:>6.2f}"
        print(row, flush=True)
