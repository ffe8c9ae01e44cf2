"""Which method should I use? Answered where the answer is known."""

import dataclasses
import json
import re
import time

import numpy as np
import pytest

import sbibench as sb
from gaussian_methods import FITS, Gaussian
from sbibench.core.errors import InvalidSimulationsError, UsageError
from sbibench.runner.verdict import TESTS, verdict

FEW = {"budget": 200, "pairs": 100, "draws": 100, "samples": 200, "predictions": 100}


@pytest.fixture(scope="module")
def known(toy_task):
    """Return a comparison of methods of which all is known."""
    methods = {
        "exact": Gaussian(),
        "twin": Gaussian(twin=1),
        "narrow": Gaussian(width=0.5),
        "vague": Gaussian(width=1.3, shrink=0.7),
        "prior": "prior",
        "no density": Gaussian(dense=False),
        "one x": Gaussian(amortized=False),
        "broken": Gaussian(fails="fit"),
        "odd density": Gaussian(fails="log_prob"),
        "some": Gaussian(fails="some"),
    }
    return sb.compare(toy_task, methods, **FEW)


def test_the_exact_posterior_wins_and_its_twin_is_not_told_from_it(known):
    (verdict,) = known.verdicts
    assert {verdict.places["exact"], verdict.places["twin"]} == {"best", "tied"}
    other = "twin" if verdict.against == "exact" else "exact"
    assert verdict.gaps[other].mean == pytest.approx(0, abs=1e-9)
    assert "can't be told apart" in str(known)
    assert verdict.text[0].startswith("With 200 simulations: ")
    assert "exact" in verdict.text[0]


def test_the_prior_is_worse_by_what_theory_says(known):
    # The mutual information of two parameters: log(1 / 0.2) / 2 nats each.
    (verdict,) = known.verdicts
    gap = verdict.gaps["prior"]
    assert verdict.places["prior"] == "uninformative"
    assert gap.pairs == 100
    assert gap.mean == pytest.approx(np.log(5), abs=3 * gap.error)
    assert 0.05 < gap.error < 0.3
    assert any("prior is the baseline" in line and "worse than" in line for line in verdict.text)


def test_overconfidence_is_a_fault_whatever_the_nltp(known):
    (verdict,) = known.verdicts
    assert verdict.places["narrow"] == "faulty"
    (line,) = [line for line in verdict.text if line.startswith("narrow is at fault")]
    assert "too narrow" in line
    assert "(coverage)" in line
    assert "(sbc)" in line


def test_one_without_a_density_or_for_one_x_is_told_with_its_reason(known):
    (verdict,) = known.verdicts
    assert verdict.places["no density"] == "unranked"
    assert "can't be ranked: it has no density" in str(known)
    assert verdict.places["one x"] == "unranked"
    assert "one x was not judged at the pairs: fitted for this observation alone" in str(known)
    one = _entry(known, "one x")
    assert not one.checks
    assert one.distance == pytest.approx(_entry(known, "exact").distance, rel=0.3)
    assert one.distance < 0.7 * known.prior_distance
    assert "refit=20" in str(known)


def test_without_any_density_it_says_what_can_be_told(toy_task):
    methods = {
        "exact": Gaussian(dense=False),
        "vague": Gaussian(dense=False, width=1.1),
        "one x": Gaussian(amortized=False),
    }
    found = sb.compare(toy_task, methods, **FEW)
    (verdict,) = found.verdicts
    assert "without a density there is no NLTP" in verdict.text[0]
    assert "No check finds fault with exact and vague." in verdict.text[0]
    (line,) = [line for line in verdict.text if "narrower than the prior" in line]
    told = [float(line.split(f"{label} ")[1][:4]) for label in ("exact", "vague")]
    assert told[0] > told[1] > 0
    assert "add npe, nle or nre" in line
    found = sb.compare(toy_task, {"one x": Gaussian(amortized=False)}, **FEW)
    assert "none was judged at the pairs" in found.verdicts[0].text[0]


def test_what_fails_costs_only_itself(known):
    (verdict,) = known.verdicts
    assert verdict.places["broken"] == "failed"
    (line,) = [line for line in verdict.text if line.startswith("broken failed: ")]
    assert line.startswith("broken failed: ZeroDivisionError: it was never going to work (")
    odd = _entry(known, "odd density")
    assert verdict.places["odd density"] == "unranked"
    assert odd.checks["sbc"].passed
    assert odd.checks["lc2st"].passed
    assert "can't be normalised" in odd.checks["nltp"]
    some = _entry(known, "some")
    assert 5 < some.missed < 40
    assert len(some.at) == 100 - some.missed
    assert verdict.gaps["some"].mean == pytest.approx(0, abs=1e-6)
    assert verdict.gaps["some"].pairs == len(some.at)
    assert f"some had no posterior at {some.missed} of the pairs" in str(known)


def test_all_of_it_is_data(known):
    plain = json.loads(json.dumps(known.plain(), allow_nan=False))
    assert plain["facts"]["pairs"] == 100
    assert plain["facts"]["pair_simulations"] == 100
    assert plain["facts"]["tests"] == 4 * 8
    entry = next(e for e in plain["entries"] if e["label"] == "narrow")
    assert entry["checks"]["coverage"]["passed"] is False
    assert entry["checks"]["coverage"]["arrays"]["covered"]
    assert entry["predictive_distance"]["value"] > 0
    assert plain["verdicts"][0]["places"]["broken"] == "failed"
    assert set(plain["verdicts"][0]["gaps"]["prior"]) == {"mean", "error", "pairs"}
    assert "arrays" not in known.plain(arrays=False)["entries"][0]["checks"]["sbc"]


def test_methods_that_are_right_are_not_at_fault(toy_task):
    methods = {f"twin {i}": Gaussian(twin=i) for i in range(5)}
    found = sb.compare(toy_task, methods, **FEW | {"seed": 1})
    assert set(found.verdicts[0].places.values()) == {"best", "tied"}


def test_budgets_give_a_slope_and_the_cost_of_the_next_factor_of_ten(toy_task):
    methods = {"learner": Gaussian(learns=True, seconds=4.0)}
    found = sb.compare(toy_task, methods, **FEW | {"budget": [400, 100]})
    assert [v.budget for v in found.verdicts] == [100, 400]
    (slope,) = found.slopes
    assert slope.budgets == (100, 400)
    # A normal density that is w times too wide costs log w + (1/w² - 1) / 2 nats a parameter.
    cost = {n: 2 * (np.log(w) + (w**-2 - 1) / 2) for n in (100, 400) for w in [1 + 100 / n]}
    expected = (cost[400] - cost[100]) / np.log10(4)
    assert slope.change == pytest.approx(expected, abs=3 * slope.error)
    assert 0 < slope.error < 0.2
    (forecast,) = found.forecasts
    assert forecast.budget == 4000
    assert forecast.learned
    assert forecast.seconds["fit"] == pytest.approx(16, rel=0.3)
    assert re.search(r"4,000 simulations, would take about: learner (1[1-9]|2[01]) s", str(found))
    assert "from 100 to 400 simulations its NLTP improved" in str(found)


def test_if_all_are_at_fault_it_says_what_would_help(toy_task):
    # With most seeds lc2st finds fault with the prior, too; with this one it does not.
    methods = {"narrow": Gaussian(width=0.5), "prior": "prior"}
    (verdict,) = sb.compare(toy_task, methods, **FEW | {"seed": 2}).verdicts
    assert verdict.text[0] == (
        "With 200 simulations: none can be recommended. What no check finds fault with (prior) is "
        "no better than the prior."
    )
    assert "a second, larger budget" in verdict.text[-1]
    found = sb.compare(toy_task, [Gaussian(width=0.5)], **FEW | {"budget": [100, 200]})
    assert "checks find fault with them all" in found.verdicts[1].text[0]
    assert "did not clearly lower it" in found.verdicts[1].text[-1]


def test_a_fault_with_a_better_nltp_is_not_kept_quiet(known):
    # As if no check had found fault with the vague one and the prior were not there.
    vague, narrow = _entry(known, "vague"), _entry(known, "narrow")
    sound = {n: dataclasses.replace(vague.checks[n], passed=True) for n in TESTS}
    lower = vague.log_probs_true - 3
    vague = dataclasses.replace(vague, checks={**vague.checks, **sound}, log_probs_true=lower)
    found = verdict([vague, narrow], [])
    assert found.against == "vague"
    assert found.places == {"vague": "best", "narrow": "faulty"}
    assert found.gaps["narrow"].mean < -1
    assert "Its NLTP is better all the same, by" in found.text[-1]
    assert "the uncertainty that it states is wrong" in found.text[-1]


def test_a_density_of_0_at_a_true_parameter_is_a_fault(known):
    exact = _entry(known, "exact")
    density = exact.log_probs_true.copy()
    density[:3] = -np.inf
    checks = {**exact.checks, "nltp": "the mean is infinite"}
    entry = dataclasses.replace(exact, log_probs_true=density, checks=checks)
    found = verdict([entry], [])
    assert found.places == {"exact": "faulty"}
    assert "its density is 0 at 3 of 100 true parameters (nltp)" in found.text[1]


def test_methods_asked_at_different_pairs_are_ranked_by_those_they_share(known):
    exact, other = _entry(known, "exact"), _entry(known, "vague")
    sound = {n: dataclasses.replace(other.checks[n], passed=True) for n in TESTS}
    easy = np.argsort(-other.log_probs_true)[:40]
    checks = {**other.checks, **sound}
    checks["nltp"] = dataclasses.replace(
        checks["nltp"], statistic=-other.log_probs_true[easy].mean()
    )
    few = dataclasses.replace(
        other, checks=checks, at=other.at[easy], log_probs_true=other.log_probs_true[easy]
    )
    assert checks["nltp"].statistic < exact.checks["nltp"].statistic  # but not a fair comparison
    found = verdict([few, exact], [])
    shared = exact.log_probs_true[easy] - other.log_probs_true[easy]
    assert (found.against == "exact") == (shared.mean() > 0)
    (gap,) = found.gaps.values()
    assert gap.pairs == 40
    assert gap.mean == pytest.approx(abs(shared.mean()))
    assert gap.error == pytest.approx(shared.std(ddof=1) / np.sqrt(40))


def test_one_x_is_judged_by_fits_of_its_own_on_request(toy_task):
    FITS.clear()
    methods = {"exact": Gaussian(), "one x": Gaussian(amortized=False)}
    found = sb.compare(toy_task, methods, **FEW | {"refit": 30})
    entry = _entry(found, "one x")
    assert entry.judged == "refit"
    assert len(entry.at) == 30
    assert FITS.count(methods["one x"]) == 1 + 31
    (verdict,) = found.verdicts
    assert {verdict.places[label] for label in methods} <= {"best", "tied"}
    (gap,) = verdict.gaps.values()
    assert gap.pairs == 30
    assert found.facts["refit_simulations"] == 31 * 200
    assert "refit=20" not in str(found)


def test_what_was_kept_is_not_made_again(toy_task, tmp_path):
    FITS.clear()
    one, two = (
        {"exact": Gaussian(), "broken": Gaussian(fails="fit")},
        {"narrow": Gaussian(width=0.5)},
    )
    first = sb.compare(toy_task, one, **FEW, out=tmp_path)
    assert [*one.values()] == FITS
    again = sb.compare(toy_task, one | two, **FEW, out=tmp_path)
    assert [*one.values(), *two.values()] == FITS
    assert (
        _entry(again, "exact").checks["nltp"].plain()
        == _entry(first, "exact").checks["nltp"].plain()
    )
    kept = (tmp_path / "comparison.json").read_bytes()
    assert json.loads(kept) == json.loads(json.dumps(again.plain()))
    third = sb.compare(toy_task, one | two, **FEW, out=tmp_path)
    assert third.plain() == again.plain()
    assert len(FITS) == 3
    sb.compare(toy_task, one | two, **FEW, out=tmp_path, retry=True)
    assert len(FITS) == 4  # the one that failed


def test_a_comparison_that_was_stopped_asks_the_saved_posterior(toy_task, tmp_path, monkeypatch):
    from sbibench.algorithms.prior import Prior
    from sbibench.runner import contest

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(contest, "draw_pairs", stop)
        with pytest.raises(KeyboardInterrupt):
            sb.compare(toy_task, ["prior"], **FEW, out=tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Prior, "fit", stop)
        found = sb.compare(toy_task, ["prior"], **FEW, out=tmp_path)
    assert _entry(found, "prior").checks["sbc"].passed


def test_another_task_of_the_same_name_is_noticed(toy_task, tmp_path):
    sb.compare(toy_task, ["prior"], **FEW, out=tmp_path)
    changed = dataclasses.replace(
        toy_task, simulate=lambda key, theta: 2 * toy_task.simulate(key, theta)
    )
    with pytest.raises(UsageError, match="its simulator has changed"):
        sb.compare(changed, ["prior"], **FEW, out=tmp_path)


def test_simulations_that_are_not_finite_are_counted(toy_task):
    import jax.numpy as jnp

    def simulate(key, theta):
        return jnp.where(theta[0] > 0.5, jnp.nan, toy_task.simulate(key, theta))

    some = dataclasses.replace(toy_task, name="some", simulate=simulate)
    found = sb.compare(some, ["prior"], **FEW)
    assert found.facts["pairs"] == 100
    assert found.facts["pair_simulations_invalid"] > 10
    none = dataclasses.replace(toy_task, name="none", simulate=lambda key, theta: jnp.nan * theta)
    with pytest.raises(InvalidSimulationsError, match="0 of 100 pairs"):
        sb.compare(none, ["prior"], **FEW)


def test_predictions_are_bounded_in_time(toy_task):
    blocks, predicting = [], []

    def simulate(rng, thetas):
        if predicting:
            blocks.append(time.monotonic())
            time.sleep(0.3)
        return thetas + 0.5 * rng.normal(size=thetas.shape)

    def progress(stage, done, total):
        if stage.endswith("predictions"):
            predicting.append(stage)

    slow = sb.Task(name="slow", prior=toy_task.prior, simulate_batch=simulate, x_obs=[0.5, 0.5])
    few = FEW | {"predictions": 30_000, "time_limit": 1.0}
    found = sb.compare(slow, {"one": Gaussian()}, **few, progress=progress)
    (entry,) = found.entries
    assert entry.record.status == "done"
    assert predicting
    assert entry.distance is None
    assert "the time limit was reached while simulating" in entry.distance_missing
    assert 1 <= len(blocks) <= 5  # of 30; the limit is looked at after each
    assert entry.checks["sbc"]


@pytest.mark.parametrize(
    ("algorithms", "options", "message"),
    [
        ([], {}, "no algorithm"),
        ("npe", {}, "a list"),
        (["npee"], {}, "did you mean 'npe'"),
        ([int], {}, "a frozen dataclass"),
        ([Gaussian()], {"budget": []}, "no budget"),
        ([Gaussian()], {"budget": 0}, "a budget is"),
        ([Gaussian()], {"pairs": 1}, "pairs are"),
        ([Gaussian()], {"refit": 1}, "refit is 0"),
        ([Gaussian()], {"seed": -1}, "a seed is"),
        ([Gaussian()], {"level": 1.0}, "a level"),
        ([Gaussian()], {"time_limit": 0.0}, "positive"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_done(toy_task, algorithms, options, message):
    FITS.clear()
    with pytest.raises(UsageError, match=message):
        sb.compare(toy_task, algorithms, **FEW | options)
    assert not FITS


def test_two_of_one_label_are_refused(toy_task):
    from sbibench.runner.contenders import Contender

    two = [Contender("a", "x:A", Gaussian()), Contender("a", "x:A", Gaussian(twin=1))]
    with pytest.raises(UsageError, match="two different algorithms are called 'a'"):
        sb.compare(toy_task, two, **FEW)


def _entry(comparison, label):
    (entry,) = [e for e in comparison.entries if e.label == label]
    return entry
