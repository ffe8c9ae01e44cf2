"""Time `c2st` against scikit-learn's classifier, on the same pairs in one run.

python benchmarks/c2st.py [--skip-sklearn] [--rows 10000] [--dims 2 10] [--shift 0.1] [--threads 2]
python benchmarks/c2st.py --npe [--skip-sklearn] [--budget 1000]

The second takes NPE's samples of the ten tasks, observation 1, and ends with the medians.
"""

import argparse
import time
import warnings
from collections.abc import Iterator

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

import sbibench as sb
from sbibench.core.registry import TASKS
from sbibench.metrics import c2st

Pair = tuple[str, np.ndarray, np.ndarray]


def sklearn_c2st(samples: np.ndarray, reference: np.ndarray, seed: int) -> float:
    mean, deviation = reference.mean(0), reference.std(0, ddof=1)
    xs = (np.concatenate([reference, samples]) - mean) / deviation
    ys = np.repeat([0, 1], [len(reference), len(samples)])
    units = 10 * xs.shape[1]
    classifier = MLPClassifier((units, units), max_iter=1000, random_state=seed)
    folds = KFold(5, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(cross_val_score(classifier, xs, ys, cv=folds, scoring="accuracy").mean())


def shifted(rows: int, dims: list[int], shift: float) -> Iterator[Pair]:
    for d in dims:
        rng = np.random.default_rng(d)
        reference = rng.normal(size=(rows, d))
        yield f"d = {d}", rng.normal(size=(rows, d)) + shift, reference


def posteriors(rows: int, budget: int) -> Iterator[Pair]:
    for name in TASKS.names():
        task = sb.get_task(name)
        fit_key, sample_key = jax.random.split(jax.random.key(0))
        posterior = sb.get_algorithm("npe").fit(fit_key, task.problem(1, budget))
        yield name, posterior.sample(sample_key, rows), task.reference_samples(1, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npe", action="store_true")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--skip-sklearn", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--shift", type=float, default=0.1)
    parser.add_argument("--threads", type=int)
    o = parser.parse_args()
    pairs = posteriors(o.rows, o.budget) if o.npe else shifted(o.rows, o.dims, o.shift)

    print(f"{'pair':>23} {'first s':>8} {'again s':>8} {'sklearn s':>9} {'ratio':>6} {'c2st':>7}")
    ours, ratios = [], []
    for name, samples, reference in pairs:
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            value = c2st(jax.random.key(0), samples, reference, threads=o.threads)
            seconds.append(time.perf_counter() - start)
        ours.append(seconds[1])
        row = f"{name:>23} {seconds[0]:>8.2f} {seconds[1]:>8.2f}"
        if o.skip_sklearn:
            print(f"{row} {'-':>9} {'-':>6} {value:>7.4f}", flush=True)
            continue
        start = time.perf_counter()
        theirs = sklearn_c2st(samples, reference, seed=0)
        took = time.perf_counter() - start
        ratios.append(took / seconds[1])
        print(f"{row} {took:>9.1f} {ratios[-1]:>6.1f} {value:>7.4f} {theirs:.4f}", flush=True)
    medians = f"median {np.median(ours):.1f} s"
    print(medians + (f", ratio {np.median(ratios):.1f}" if ratios else ""))


if __name__ == "__main__":
    main()
