"""Which check sees which fault, and how often one without fault is blamed."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy.stats import kstest, norm

import sbibench as sb
from sbibench.calibration import contraction, coverage, data_average, lc2st, nltp, sbc, tarp
from sbibench.contract.gaussian_pairs import gaussian_pairs
from sbibench.core.errors import SbibenchError, UsageError
from sbibench.core.registry import CHECKS

KEY = jax.random.key(20261130)

AVERAGING = {"sbc", "coverage", "tarp", "data_average"}
SEEN_BY = {
    "exact": set(),
    "shifted": {"sbc", "tarp", "data_average", "lc2st"},
    "narrow": {"sbc", "coverage", "tarp", "lc2st"},
    "wide": {"sbc", "coverage", "tarp", "lc2st"},
    "prior": {"lc2st", "contraction", "nltp"},
}
"""By kind of posterior, the checks that find fault with it in 400 pairs."""
BLIND = {
    "exact": AVERAGING | {"lc2st", "contraction", "nltp"},
    "shifted": {"contraction"},
    "narrow": {"contraction"},
    "wide": {"contraction"},
    "prior": AVERAGING,  # calibrated, but useless: whatever averages over data accepts it
}
"""Those that can't; the rest depends on how large the fault is."""


def judged(pairs):
    return {name: sb.get_check(name)(KEY, pairs) for name in CHECKS.names()}


@pytest.mark.parametrize("kind", SEEN_BY)
@pytest.mark.parametrize("d", [1, 3])
def test_a_fault_is_found_by_those_that_can_see_it_and_not_by_the_blind(kind, d):
    found = judged(gaussian_pairs(kind, n=400, d=d, seed=3))
    faulty = {name for name, finding in found.items() if finding.passed is False}
    assert faulty >= SEEN_BY[kind]
    assert not faulty & BLIND[kind]


def test_the_prior_as_posterior_is_calibrated_and_only_what_it_has_learnt_gives_it_away():
    """Lueckmann et al. 2021, appendix A.4: SBC can't tell the prior from the posterior."""
    prior, exact = (judged(gaussian_pairs(kind, n=1000)) for kind in ("prior", "exact"))
    for blind in AVERAGING:
        assert prior[blind].p_value > 0.01
    assert prior["contraction"].statistic == pytest.approx(0, abs=0.03)
    assert exact["contraction"].statistic == pytest.approx(0.5, abs=0.03)
    assert "no narrower than the prior" in prior["contraction"].verdict
    assert prior["nltp"].values["gain"] == 0
    assert "no better than the prior" in prior["nltp"].verdict
    # Mutual information of two parameters, each with half its variance explained.
    assert exact["nltp"].values["gain"] == pytest.approx(np.log(2), abs=0.1)
    assert prior["lc2st"].p_value < 0.01


def test_references_that_depend_on_the_data_let_tarp_see_the_prior_too():
    pairs = gaussian_pairs("prior", n=400)
    given = (pairs.thetas, pairs.draws, pairs.prior_draws)
    assert tarp(KEY, *given).passed
    assert not tarp(KEY, *given, references=pairs.xs / 2).passed
    exact = gaussian_pairs("exact", n=400)
    assert tarp(KEY, exact.thetas, exact.draws, exact.prior_draws, references=exact.xs / 2).passed


def test_verdicts_say_what_is_wrong():
    def verdict(kind, name):
        return judged(gaussian_pairs(kind, n=400))[name].verdict

    assert verdict("shifted", "sbc") == "too high: theta_1, theta_2"
    assert verdict("narrow", "sbc").startswith("too narrow: theta_")
    assert verdict("wide", "sbc").startswith("too wide: theta_")
    assert verdict("wide", "coverage").startswith("too wide: 90 % regions hold 9")
    assert verdict("narrow", "coverage").startswith("too narrow or misplaced: 90 % regions hold ")
    assert verdict("shifted", "tarp") == "shifted to one side"
    assert verdict("narrow", "tarp") == "too narrow or misplaced"
    assert verdict("wide", "tarp") == "too wide"
    assert verdict("exact", "sbc") == "no fault found in 400 pairs"
    assert verdict("exact", "contraction").startswith("narrower than the prior in every parameter")


def test_p_values_of_a_posterior_without_fault_are_uniform():
    repeats = 150
    p_values = {}
    for i in range(repeats):
        pairs = gaussian_pairs(n=40, draws=15, d=1, seed=1000 + i, at_x_obs=100)
        key = jax.random.fold_in(KEY, i)
        given = (pairs.thetas, pairs.draws)
        several = {
            "sbc": sbc(key, *given),
            "coverage": coverage(key, pairs.log_probs_true, pairs.log_probs),
            "tarp": tarp(key, *given, pairs.prior_draws),
        }
        observed = (given[0], pairs.xs, given[1], pairs.x_obs, pairs.draws_at_x_obs)
        one = {
            "data_average": data_average(key, *given, permutations=199),
            "lc2st": lc2st(key, *observed, permutations=199),
        }
        for name, found in (several | one).items():
            p_values.setdefault(name, []).append(found.p_value)
            for test, values in found.values.items():
                if test.endswith("p_value"):
                    p_values.setdefault(f"{name}.{test}", []).append(float(values[0]))
    for name, values in p_values.items():
        # A p-value may be too large now and then, but not too small too often.
        for level in (0.05, 0.2, 0.5):
            often = np.mean(np.array(values) <= level)
            assert often <= level + 3 * np.sqrt(level * (1 - level) / repeats), name
        if name not in {"sbc", "coverage", "tarp"}:  # whose tests share a level
            assert kstest(values, "uniform").pvalue > 1e-3, name


@pytest.mark.parametrize(("x_obs", "faulty"), [(1.5, True), (-1.5, False)])
def test_lc2st_sees_a_fault_where_it_is_and_not_where_it_is_not(x_obs, faulty):
    p_values = [
        sb.get_check("lc2st")(KEY, gaussian_pairs("local", seed=seed, x_obs=x_obs)).p_value
        for seed in range(8)
    ]
    assert (np.median(p_values) < 0.005) == faulty
    assert (min(p_values) < 0.01) == faulty


def test_lc2st_sees_the_shape_of_a_posterior_far_narrower_than_the_prior():
    pairs = gaussian_pairs("narrow", seed=5)
    shrunk = {
        field: 1e-3 * (getattr(pairs, field) - centre / 2) + centre / 2
        for field, centre in (
            ("thetas", pairs.xs),
            ("draws", pairs.xs[:, None]),
            ("draws_at_x_obs", pairs.x_obs),
        )
    }
    wide, slim = (
        lc2st(KEY, p.thetas, p.xs, p.draws, p.x_obs, p.draws_at_x_obs)
        for p in (pairs, dataclasses.replace(pairs, **shrunk))
    )
    assert not slim.passed
    # Units of the data are no matter, as long as their order is kept.
    other = lc2st(
        KEY, pairs.thetas, np.exp(5 * pairs.xs), pairs.draws, np.exp(5 * pairs.x_obs),
        pairs.draws_at_x_obs,
    )  # fmt: skip
    assert other.statistic == pytest.approx(wide.statistic)


def test_lc2st_takes_thousands_of_pairs():
    pairs = gaussian_pairs("narrow", n=2500, draws=5)
    found = lc2st(
        KEY, pairs.thetas, pairs.xs, pairs.draws, pairs.x_obs, pairs.draws_at_x_obs,
        permutations=99,
    )  # fmt: skip
    assert not found.passed or found.p_value == 0.01


def test_a_constant_bias_leaves_the_curve_of_tarp_on_the_diagonal_and_is_found_all_the_same():
    pairs = gaussian_pairs("shifted", n=300, d=1)
    found = tarp(KEY, pairs.thetas, pairs.draws, pairs.prior_draws)
    assert found.values["ks_p_value"] > 0.01
    assert found.values["bias_p_value"] < 1e-6
    # In any direction, and whatever the units of a parameter.
    pairs = gaussian_pairs("exact", n=300, d=4)
    draws = pairs.draws + 0.5 * np.array([1, -1, 1, -1])
    units = np.array([1, 1e6, 1, 1e-6])
    one = tarp(KEY, pairs.thetas, draws, pairs.prior_draws)
    other = tarp(KEY, pairs.thetas * units, draws * units, pairs.prior_draws * units)
    assert one.values["bias_p_value"] < 1e-4
    assert other.p_value == pytest.approx(one.p_value)


def test_coverage_needs_no_normalised_density_and_bears_a_density_of_zero():
    pairs = gaussian_pairs(seed=4)
    shift = np.linspace(-300, 300, len(pairs.thetas))
    one = coverage(KEY, pairs.log_probs_true, pairs.log_probs)
    other = coverage(KEY, pairs.log_probs_true + shift, pairs.log_probs + shift[:, None])
    assert other.p_value == pytest.approx(one.p_value)
    assert one.values["covered"] == pytest.approx([0.5, 0.8, 0.9, 0.95], abs=0.08)
    lost = np.where(np.arange(len(shift)) < 40, -np.inf, pairs.log_probs_true)
    found = coverage(KEY, lost, pairs.log_probs)
    assert not found.passed
    assert found.values["covered"][3] < 0.82


def test_one_pair_may_prefer_a_posterior_that_is_too_wide_and_many_do_not():
    """Lueckmann et al. 2021, appendix A.4: θ* = 0 and x = 2.1, both possible."""
    assert norm.logpdf(0, 1.05, 1) > norm.logpdf(0, 1.05, np.sqrt(0.5))
    scores = {}
    for kind in ("exact", "wide", "narrow", "shifted", "prior"):
        pairs = gaussian_pairs(kind, n=1000)
        scores[kind] = nltp(KEY, pairs.log_probs_true, pairs.log_priors_true).statistic
    assert min(scores, key=scores.get) == "exact"


def test_nltp_is_the_entropy_of_the_posterior_with_its_error():
    errors = []
    for seed in range(100):
        pairs = gaussian_pairs(n=50, draws=2, seed=seed)
        found = nltp(KEY, pairs.log_probs_true, pairs.log_priors_true)
        errors.append((found.statistic - np.log(np.pi * np.e)) / found.values["error"])
    assert np.mean(errors) == pytest.approx(0, abs=0.35)
    assert np.std(errors) == pytest.approx(1, abs=0.25)


def test_nltp_is_not_infinite_but_refused_in_words():
    with pytest.raises(SbibenchError, match="0 at 2 of 3 true parameters"):
        nltp(KEY, np.array([-np.inf, 0, -np.inf]), np.zeros(3))
    with pytest.raises(UsageError, match="not its own"):
        nltp(KEY, np.zeros(3), np.array([0, 0, -np.inf]))


def test_contraction_tells_which_parameter_has_learnt_nothing():
    pairs = gaussian_pairs(n=300)
    draws = pairs.draws.copy()
    draws[:, :, 1] = np.random.default_rng(0).normal(size=draws.shape[:2])
    found = contraction(KEY, pairs.thetas, draws, pairs.prior_draws, names=("a", "b"))
    assert found.passed is None
    assert found.verdict == "no narrower than the prior in b"
    np.testing.assert_allclose(found.values["contraction"], [0.5, 0], atol=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, q, p: sbc(KEY, t, q[:, :, :1]), "to go with parameters"),
        (lambda t, q, p: sbc(KEY, t, q, level=0.0), "a level lies between 0 and 1"),
        (lambda t, q, p: sbc(KEY, t, q, names=["a"]), "2 parameters need as many names, not 1"),
        (lambda t, q, p: tarp(KEY, t, q, p[:, :1]), "prior draws have 1 columns"),
        (lambda t, q, p: tarp(KEY, t, q, p, references=p), "200 pairs need as many references"),
        (lambda t, q, p: data_average(KEY, t, q, permutations=0), "permutations are 1 or more"),
        (lambda t, q, p: lc2st(KEY, t, t, q, t[0, :1], t), "do not belong together"),
        (lambda t, q, p: contraction(KEY, t, q[:, :1], p), "at least 2 draws"),
        (lambda t, q, p: coverage(KEY, t[:, 0], q[:5, :, 0]), r"shape \[5\]"),
    ],
)
def test_wrong_usage_is_said_in_words(call, message):
    pairs = gaussian_pairs(draws=3)
    with pytest.raises(UsageError, match=message):
        call(pairs.thetas, pairs.draws, pairs.prior_draws)
