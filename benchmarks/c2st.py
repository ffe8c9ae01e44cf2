"""Time `c2st` against scikit-learn's classifier, on the same pairs in one run.

python benchmarks/c2st.py [--skip-sklearn] [--rows 10000] [--dims 2 10] [--shift 0.1] [--threads 2]
"""

import argparse
import time
import warnings

import jax
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

import sbibench.metrics


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--skip-sklearn", action="store_true")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 10])
    parser.add_argument("--shift", type=float, default=0.1)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()

    print(
        f"{'d':>3} {'first s':>8} {'again s':>8} {'sklearn s':>9} {'ratio':>6} {'c2st':>7} sklearn"
    )
    for d in options.dims:
        rng = np.random.default_rng(d)
        reference = rng.normal(size=(options.rows, d))
        samples = rng.normal(size=(options.rows, d)) + options.shift
        seconds, values = [], []
        for _ in range(2):
            start = time.perf_counter()
            key = jax.random.key(0)
            values.append(sbibench.metrics.c2st(key, samples, reference, threads=options.threads))
            seconds.append(time.perf_counter() - start)
        row = f"{d:>3} {seconds[0]:>8.2f} {seconds[1]:>8.2f}"
        if options.skip_sklearn:
            print(f"{row} {'-':>9} {'-':>6} {values[1]:>7.4f} -", flush=True)
            continue
        start = time.perf_counter()
        theirs = sklearn_c2st(samples, reference, seed=0)
        took = time.perf_counter() - start
        ratio = took / seconds[1]
        print(f"{row} {took:>9.1f} {ratio:>6.1f} {values[1]:>7.4f} {theirs:.4f}", flush=True)


if __name__ == "__main__":
    main()
