"""The classifier two-sample test against scikit-learn's classifier, and on awkward input."""

import importlib
import warnings
from dataclasses import dataclass

import jax
import numpy as np
import pytest
import scipy.stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier

from sbibench.core.errors import UsageError
from sbibench.inference.classifier import (
    advance,
    initial,
    logits,
    loss_and_gradient,
    permutation,
    start,
)
from sbibench.inference.two_samples import area
from sbibench.metrics import c2st

module = importlib.import_module("sbibench.metrics.c2st")
KEY = jax.random.key(1)


# --- pairs of sets -------------------------------------------------------------------------------


def normal(rng, n, d, shift=0.0, scale=1.0):
    return shift + scale * rng.normal(size=(n, d))


def clusters(rng, n, d, apart):
    """Two clusters, with mean 0 and variance 1 in the first coordinate as one normal has."""
    xs = rng.normal(size=(n, d))
    xs[:, 0] *= (1 - apart**2) ** 0.5
    xs[:, 0] += apart * rng.choice([-1, 1], n)
    return xs


def moon(rng, n, noise):
    angle = rng.uniform(-np.pi / 2, np.pi / 2, n)
    radius = 1 + noise * rng.normal(size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def correlated(rng, n, rho):
    return rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n)


PAIRS = {
    "d2 equal": lambda rng, n: (normal(rng, n, 2), normal(rng, n, 2)),
    "d2 shift 0.2": lambda rng, n: (normal(rng, n, 2, 0.2), normal(rng, n, 2)),
    "d2 shift 1": lambda rng, n: (normal(rng, n, 2, 1), normal(rng, n, 2)),
    "d2 scale 1.3": lambda rng, n: (normal(rng, n, 2, 0, 1.3), normal(rng, n, 2)),
    "d2 scale 0.3": lambda rng, n: (normal(rng, n, 2, 0, 0.3), normal(rng, n, 2)),
    "d2 clusters": lambda rng, n: (normal(rng, n, 2), clusters(rng, n, 2, 0.95)),
    "d2 moons": lambda rng, n: (moon(rng, n, 0.2), moon(rng, n, 0.1)),
    "d2 correlated": lambda rng, n: (normal(rng, n, 2), correlated(rng, n, 0.7)),
    "d5 scale 1.5": lambda rng, n: (normal(rng, n, 5, 0, 1.5), normal(rng, n, 5)),
    "d5 clusters": lambda rng, n: (normal(rng, n, 5), clusters(rng, n, 5, 0.9)),
    "d5 shift 2": lambda rng, n: (normal(rng, n, 5, 2), normal(rng, n, 5)),
    "d10 shift 2": lambda rng, n: (normal(rng, n, 10, 2), normal(rng, n, 10)),
    "d10 scale 4": lambda rng, n: (normal(rng, n, 10, 0, 4), normal(rng, n, 10)),
}


# --- against scikit-learn ------------------------------------------------------------------------


@dataclass
class Outcome:
    accuracy: float
    epochs: float


def theirs(samples, reference, seed):
    xs = np.concatenate([reference, samples])
    xs = (xs - reference.mean(0)) / reference.std(0, ddof=1)
    ys = np.repeat([0, 1], [len(reference), len(samples)])
    units = 10 * xs.shape[1]
    accuracies, epochs = [], []
    folds = KFold(5, shuffle=True, random_state=seed).split(xs)
    for fold, (rest, held) in enumerate(folds):
        classifier = MLPClassifier((units, units), max_iter=1000, random_state=5 * seed + fold)
        classifier.fit(xs[rest], ys[rest])
        accuracies.append(classifier.score(xs[held], ys[held]))
        epochs.append(classifier.n_iter_)
    return Outcome(np.mean(accuracies), np.mean(epochs))


def ours(samples, reference, key):
    found = module.cross_validate(
        key,
        *module.standardized(samples, reference),
        folds=5,
        hidden=10 * samples.shape[1],
        max_epochs=1000,
        threads=2,
    )
    return Outcome(
        float(np.mean([fold.accuracy for fold in found])),
        float(np.mean([fold.epochs for fold in found])),
    )


def compared(names, n):
    """Differences of accuracy and logarithms of the ratio of epochs, ours to theirs."""
    accuracy, epochs = [], []
    for name in names:
        seed = len(accuracy)
        pair = PAIRS[name](np.random.default_rng(seed), n)
        a, b = ours(*pair, jax.random.key(seed)), theirs(*pair, seed)
        print(f"{name:15} {a.accuracy:.4f} {b.accuracy:.4f}  {a.epochs:6.1f} {b.epochs:6.1f}")
        accuracy.append(a.accuracy - b.accuracy)
        epochs.append(np.log(a.epochs / b.epochs))
    return np.array(accuracy), np.array(epochs)


@pytest.mark.parametrize("n", [150, 450])
def test_a_training_is_that_of_scikit_learn_step_by_step(n, monkeypatch):
    """With the same first weights and the same order of the rows: one batch, or 200, 200 and 50."""
    rng = np.random.default_rng(0)
    d, hidden = 3, 30
    xs = np.concatenate([normal(rng, n // 2, d, 4), normal(rng, n // 2, d)])
    xs = xs.astype(np.float32).astype(np.float64)
    ys = np.repeat([0, 1], n // 2)
    test = normal(rng, 500, d, 2).astype(np.float32)
    key_network, key_order = jax.random.split(KEY)
    first = initial(key_network, (d, hidden, hidden, 1))

    def shuffle(rows, random_state):
        key = jax.random.fold_in(key_order, classifier.n_iter_)
        return np.array(permutation(key, len(rows)))

    monkeypatch.setattr("sklearn.neural_network._multilayer_perceptron.shuffle", shuffle)
    classifier = MLPClassifier((hidden, hidden), max_iter=1, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        classifier.fit(xs, ys)
    # Rounding to single precision grows with the number of steps.
    for epochs, tolerance in ((1, 1e-6), (2, 1e-6), (10, 1e-5), (1000, 1e-2)):
        classifier.max_iter = epochs
        classifier.coefs_ = [np.array(w, np.float64) for w, _ in first]
        classifier.intercepts_ = [np.array(b, np.float64) for _, b in first]
        classifier.best_loss_, classifier._no_improvement_count = np.inf, 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(xs, ys)
        fit = start(key_network, d, hidden)
        for until in (epochs // 2, epochs):  # in two parts
            fit = advance(fit, key_order, np.float32(xs), np.float32(ys), until)
        assert int(fit.epochs) == classifier.n_iter_
        assert float(fit.loss) == pytest.approx(classifier.loss_, rel=tolerance)
        told = np.asarray(logits(fit.network, test)) > 0
        assert np.mean(told == classifier.predict(test.astype(np.float64))) > 0.99
    assert 20 < classifier.n_iter_ < 1000, "the last training should have stopped by itself"


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    network = start(KEY, 3, 30).network
    x, y = rng.normal(size=(3, 50)), rng.integers(0, 2, 50)
    batch = [np.float32(v) for v in (x, y, np.arange(50) < 40)]
    value, gradient = loss_and_gradient(network, *batch)
    automatic = jax.grad(lambda network: loss_and_gradient(network, *batch)[0])(network)
    assert jax.tree.structure(gradient) == jax.tree.structure(automatic)
    for ours, theirs in zip(jax.tree.leaves(gradient), jax.tree.leaves(automatic), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7)
    assert float(value) > 0.1


def test_all_permutations_are_equally_likely():
    keys = jax.random.split(KEY, 6000)
    orders = np.asarray(jax.jit(jax.vmap(lambda key: permutation(key, 3)))(keys))
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 0.001


def test_first_weights_are_uniform_within_their_bounds():
    for (weight, bias), (a, b) in zip(
        initial(KEY, (20, 200, 200, 1)), [(20, 200), (200, 200), (200, 1)], strict=True
    ):
        values = np.concatenate([np.ravel(weight), bias]) / (6 / (a + b)) ** 0.5
        assert weight.shape == (a, b)
        assert scipy.stats.kstest(values, scipy.stats.uniform(-1, 2).cdf).pvalue > 0.001


@pytest.mark.slow
def test_small_sets_score_as_with_scikit_learn():
    accuracy, epochs = compared(["d2 shift 1", "d2 scale 0.3", "d5 shift 2"], 1000)
    assert abs(accuracy.mean()) < 0.01
    assert abs(accuracy).max() < 0.02
    assert abs(epochs.mean()) < np.log(1.3)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_large_sets_score_as_with_scikit_learn():
    accuracy, epochs = compared(PAIRS, 10_000)
    print(f"mean difference {accuracy.mean():.4f}, largest {abs(accuracy).max():.4f}")
    print(f"epochs: mean ratio {np.exp(epochs.mean()):.3f}")
    assert abs(accuracy.mean()) < 0.005
    assert abs(accuracy).max() < 0.01
    assert abs(epochs.mean()) < np.log(1.2)


# --- values --------------------------------------------------------------------------------------


def pair(d=2, n=300, shift=0.0, m=None):
    rng = np.random.default_rng(3)
    return normal(rng, n, d, shift), normal(rng, m or n, d)


def test_sets_far_apart_score_one():
    assert c2st(KEY, *pair(shift=10)) == 1


def test_equal_distributions_score_one_half():
    n = 2000
    assert c2st(KEY, *pair(n=n)) == pytest.approx(0.5, abs=4 * 0.5 / (2 * n) ** 0.5)


def test_the_value_depends_on_the_key_alone():
    a, b = pair(shift=0.5)
    values = [c2st(KEY, a, b, threads=threads) for threads in (1, 2, 5)]
    assert values == [values[0]] * 3
    assert c2st(jax.random.key(2), a, b) != values[0]


def test_the_value_does_not_depend_on_the_units_of_the_reference():
    a, b = pair(shift=0.5)
    # Powers of two scale without rounding.
    assert c2st(KEY, 1024 * a, 1024 * b) == c2st(KEY, a, b)


def test_every_row_is_held_out_once():
    a, b = pair(n=101)
    found = module.cross_validate(
        KEY, *module.standardized(a, b), folds=4, hidden=40, max_epochs=1, threads=1
    )
    assert [len(fold.labels) for fold in found] == [51, 51, 50, 50]
    assert sum(fold.labels.sum() for fold in found) == 101
    assert len(np.unique(np.concatenate([fold.scores for fold in found]))) > 195


@pytest.mark.parametrize("d", [1, 7])
def test_other_dimensions(d):
    a, b = pair(d, shift=2)
    assert 0.8 < c2st(KEY, a, b) <= 1


def test_a_batch_may_be_left_over():
    # 402 rows for training: two batches of 200, and one of 2.
    a, b = pair(n=335, shift=1)
    assert len(a) * 2 * 3 // 5 == 402
    found = module.cross_validate(
        KEY, *module.standardized(a, b)[:2], folds=5, hidden=20, max_epochs=300, threads=1
    )
    assert np.mean([fit.accuracy for fit in found]) > 0.65


# --- awkward input -------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 / 3])
def test_a_constant_column_of_the_reference_is_centred_only(constant):
    a, b = pair()
    a, b = (np.column_stack([x, np.full(len(x), constant)]) for x in (a, b))
    _, standard = module.standardized(a, b)
    np.testing.assert_allclose(standard[:, 2], 0, atol=1e-6)
    assert 0.3 < c2st(KEY, a, b) < 0.6
    assert c2st(KEY, a + np.array([0, 0, 5]), b) == 1


def test_identical_sets_score_below_one_half():
    a, _ = pair()
    assert 0.2 < c2st(KEY, a, a) < 0.5


def test_copies_of_one_row_score_at_most_one_half():
    assert 0.3 < c2st(KEY, np.ones((100, 2)), np.ones((100, 2))) <= 0.55


def test_of_the_larger_set_as_many_rows_are_used_as_the_smaller_one_has():
    a, b = pair(n=200, m=2000)
    assert 0.4 < c2st(KEY, a, b) < 0.6
    assert 0.4 < c2st(KEY, b, a) < 0.6
    assert c2st(KEY, a, b) == c2st(KEY, a, b)


def test_samples_at_the_ends_of_float64_are_told_apart():
    a, b = pair()
    assert c2st(KEY, 1e300 * a, b) > 0.95
    assert c2st(KEY, np.concatenate([a[:-1], [[1e300, -1e300]]]), b) < 0.65


def test_lists_integers_and_single_precision_are_accepted():
    a, b = (np.round(10 * x).astype(int) for x in pair(shift=1))
    value = c2st(KEY, a.astype(float), b.astype(float))
    assert value == c2st(KEY, a, b) == c2st(KEY, a.tolist(), b.astype(np.float32))
    assert isinstance(value, float)


BROKEN = normal(np.random.default_rng(0), 10, 2)
BROKEN[3, 1] = np.nan
GOOD = normal(np.random.default_rng(1), 10, 2)


@pytest.mark.parametrize(
    ("samples", "reference", "message"),
    [
        (BROKEN, GOOD, "not finite"),
        (GOOD, BROKEN * np.inf, "not finite"),
        (GOOD, GOOD[:, :1], "columns"),
        (GOOD[:, 0], GOOD, "shape"),
        (GOOD[:4], GOOD, "at least 5 rows"),
        (GOOD, GOOD[:1], "at least 5 rows"),
        (GOOD[:0], GOOD, "at least 5 rows"),
        (GOOD, 1e300 * GOOD, "too large"),
    ],
)
def test_what_makes_no_sense_is_refused(samples, reference, message):
    with pytest.raises(UsageError, match=message):
        c2st(KEY, samples, reference)


@pytest.mark.parametrize("options", [{"folds": 1}, {"units": 0}, {"max_epochs": 0}, {"threads": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(UsageError):
        c2st(KEY, GOOD, GOOD, **options)


def test_nothing_in_a_training_is_double_precision():
    shape = jax.ShapeDtypeStruct
    program = jax.make_jaxpr(lambda xs, ys: advance(start(KEY, 2, 20), KEY, xs, ys, 3))(
        shape((450, 2), np.float32), shape((450,), np.float32)
    )
    assert "f32[" in str(program)
    assert "f64[" not in str(program)


# --- what is told besides ------------------------------------------------------------------------


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=80).round(1).astype(np.float32), rng.random(80) < 0.3
    assert area(scores, labels) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert area(scores, np.ones(80, bool)) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0, 0.3])
def test_stated_errors_and_p_values_are_those_of_fresh_sets(shift):
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        a, b = normal(rng, 250, 2, shift), normal(rng, 250, 2)
        found.append(c2st(jax.random.key(seed), a, b))
    ratio = np.mean([value.error for value in found]) / np.std(found)
    p_values = np.array([value.also["p_value"] for value in found])
    print(f"stated error / spread {ratio:.2f}; p-values below 0.05: {np.mean(p_values < 0.05):.3f}")
    assert 0.8 < ratio < 1.5
    if shift:
        assert np.mean(p_values < 0.05) > 0.7
    else:
        assert np.mean(p_values < 0.05) < 0.1
        assert 0.35 < p_values.mean() < 0.65
