"""Certificates: what they must catch, what ships, and how references are made on demand."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats

import sbibench as sb
from sbibench.cli import main
from sbibench.core import priors, references, registry
from sbibench.core.errors import NoReferenceError, SamplingError, UsageError
from sbibench.metrics.c2st import c2st
from sbibench.reference import certify, checks, library
from sbibench.reference.agreement import c2st_trees
from sbibench.reference.calibration import Ranks, calibrate

KEY = jax.random.key(9)
PUBLIC = Path(__file__).parents[1].parent / "shared" / "data" / "reference"
ALL = registry.TASKS.names()


def failed(certificate):
    return [check.id for check in certificate.failed]


# What a certificate must catch.


@pytest.fixture
def quick(monkeypatch):
    """Fewer fresh observations, and a cache of its own."""
    monkeypatch.setattr(certify, "FRESH", {"exact": (500, 30), "rejection": (8, 20)})
    monkeypatch.setattr(checks, "LEAST_FRESH", 8)


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "cache", lambda: tmp_path / "references")
    return tmp_path / "references"


def test_a_right_task_passes_and_a_simulator_with_more_noise_fails():
    task = registry.TASKS.get("gaussian_linear")
    right = certify.calibration(task)
    made, samples = certify.certify(task, 1, right)
    assert not made.failed
    assert samples.shape == (10_000, task.d)

    def noisier(key, theta):
        return theta + 1.05 * (task.simulate(key, theta) - theta)

    wrong = replace(task, simulate=noisier)
    made, _ = certify.certify(wrong, 1, certify.calibration(wrong))
    assert "calibration" in failed(made)
    assert right.p_value > 0.05
    assert made.failed[-1].value < 1e-4


def test_two_moons_without_1_over_r_fails():
    """Leaving out 1/r moves the crescents by a tenth of their width."""
    task = registry.TASKS.get("two_moons")

    def wrong(theta, x):
        from sbibench.tasks import two_moons

        r = jnp.linalg.norm(x - two_moons.shift(theta) - jnp.array(two_moons.CENTRE))
        return task.log_likelihood(theta, x) + jnp.log(r)

    calibration = certify.calibration(task)
    assert not certify.certify(task, 1, calibration)[0].failed
    made, _ = certify.certify(replace(task, log_likelihood=wrong), 1, calibration)
    assert "sharper agreement" in failed(made)


def test_a_biased_sampler_fails(toy_task, quick):
    biased = replace(
        toy_task, reference=lambda key, x, n: toy_task.reference(key, x, n) + np.array([0.1, 0.0])
    )
    made, _ = certify.certify(biased, 1, certify.calibration(biased))
    assert "agreement" in failed(made)


def test_repeated_and_outside_samples_fail(toy_task, quick):
    calibration = certify.calibration(toy_task)
    made, samples = certify.certify(toy_task, 1, calibration)
    assert not made.failed
    samples[:5] = samples[5:10]
    again, _ = certify.certify(toy_task, 1, calibration, stored=(made, samples))
    assert failed(again) == ["duplicates"]
    moved = samples + np.array([0.15, 0.0], np.float32)
    again, _ = certify.certify(toy_task, 1, calibration, stored=(made, moved))
    assert "agreement" in failed(again)
    task = registry.TASKS.get("gaussian_linear_uniform")
    made, samples = certify.certify(task, 1, certify.calibration(task))
    samples[0, 0] = 1.5
    again, _ = certify.certify(task, 1, certify.calibration(task), stored=(made, samples))
    assert failed(again) == ["support"]


def test_ranks_of_the_truth_are_uniform_or_not(toy_task):
    def exact(key, x, n):
        return toy_task.reference(key, x, n)

    def too_narrow(key, x, n):
        draws = exact(key, x, n)
        return draws.mean(0) + 0.8 * (draws - draws.mean(0))

    good = calibrate(KEY, toy_task, exact, 300, 50)
    assert good.shares.shape == (300, 4)
    assert good.quantities == ("a", "b", "log_likelihood", "log_posterior")
    assert good.p_value() > 1e-3
    assert sum(good.histogram(10)["a"]) == 300
    assert calibrate(KEY, toy_task, too_narrow, 300, 50).p_value() < 1e-3
    assert calibrate(KEY, toy_task, lambda k, x, n: exact(k, x, n) + 0.3, 300, 50).p_value() < 1e-3


def test_a_sampler_that_gives_up_says_why(toy_task):
    def gives_up(key, x, n):
        raise SamplingError("its reason")

    with pytest.raises(SamplingError, match=r"gave up 20 of them \(the last: its reason\)"):
        calibrate(KEY, toy_task, gives_up, 10, 5)


def test_p_values_of_uniform_ranks_are_p_values():
    rng = np.random.default_rng(3)
    p_values = [Ranks(rng.uniform(size=(200, 4)), tuple("abcd"), 99).p_value() for _ in range(400)]
    assert np.mean(np.array(p_values) < 0.05) < 0.08


def test_trees_tell_what_can_be_told():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 10_000, 10))
    assert c2st_trees(KEY, a, b) == pytest.approx(0.5, abs=0.015)
    best = scipy.stats.norm.cdf(0.1 * np.sqrt(10) / 2)
    assert best - 0.025 < c2st_trees(KEY, a, b + 0.1) < best + 0.01
    assert c2st_trees(KEY, a, 1.1 * b[:5000]) > 0.53
    assert c2st_trees(KEY, a, b) == c2st_trees(KEY, a, b)


# What ships.


@pytest.mark.parametrize("name", ALL)
def test_every_canonical_observation_ships_with_a_certificate(name):
    task = registry.TASKS.get(name)
    calibration = library.calibrated(task, (references.SHIPPED,))
    assert calibration.task == (task.posterior_of or name)
    assert calibration.observations >= 200
    assert calibration.p_value >= checks.SIGNIFICANCE
    for i in range(1, 11):
        found = references.certificate(references.SHIPPED, name, i)
        assert not found.failed
        assert found.x == task.observation(i).tolist()
        assert found == library.certificate(task, i, references.SHIPPED)
        made = {check.id for check in found.checks}
        assert {"support", "duplicates", "agreement", "fresh", "calibration"} <= made
        assert found.method.startswith("exact") or "bound" in made
        samples = task.reference_samples(i)
        assert samples.shape == (10_000, task.d)
        assert samples.dtype == np.float32
        assert priors.rows(task.prior).inside(samples).all()
        assert len(np.unique(samples, axis=0)) == len(samples)
    np.testing.assert_array_equal(task.reference_samples(10, 7), samples[:7])
    with pytest.raises(UsageError, match="10000 samples, not 10001"):
        task.reference_samples(1, 10_001)


def test_variants_share_their_files_and_all_is_small():
    files = list(references.SHIPPED.glob("*/*.npy"))
    assert len(files) == 80
    assert sum(f.stat().st_size for f in files) < 19e6
    for variant, owner in (("slcp_distractors", "slcp"), ("bernoulli_glm_raw", "bernoulli_glm")):
        np.testing.assert_array_equal(
            sb.get_task(variant).reference_samples(4), sb.get_task(owner).reference_samples(4)
        )


def test_exact_references_are_made_again_bit_by_bit():
    for name in ("two_moons", "gaussian_linear"):
        task = registry.TASKS.get(name)
        stored = references.certificate(references.SHIPPED, name, 1)
        calibration = references.calibration(references.SHIPPED, name)
        made, _ = certify.certify(task, 1, calibration, stored.seed)
        assert made.sha256 == stored.sha256
        assert not made.failed


@pytest.mark.slow
def test_a_reference_is_made_again_from_nothing():
    """Of one distribution: the bits of a trained flow depend on the processor."""
    task = registry.TASKS.get("sir")
    calibration = references.calibration(references.SHIPPED, "sir")
    made, samples = certify.certify(task, 1, calibration)
    assert not made.failed
    assert c2st_trees(KEY, samples, task.reference_samples(1)) == pytest.approx(0.5, abs=0.015)


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public reference posteriors are not here")
@pytest.mark.slow
@pytest.mark.parametrize("observation", [1, 2, 3])
@pytest.mark.parametrize("name", ALL)
def test_samples_are_those_of_the_public_references(name, observation):
    file = PUBLIC / f"{name}_{observation:02d}.npz"
    if not file.exists():
        pytest.skip(f"no public reference {file.name}: it shares that of another task")
    with np.load(file) as content:
        public = content["samples"]
    ours = registry.TASKS.get(name).reference_samples(observation)
    assert c2st(KEY, ours, public) == pytest.approx(0.5, abs=0.02)


# Made on demand.


def test_a_task_of_ones_own_gets_a_reference_on_demand(toy_task, quick, own_cache, monkeypatch):
    samples = toy_task.reference_samples(3)  # beyond the two canonical ones
    assert samples.shape == (10_000, 2)
    x = toy_task.observation(3)
    z = (samples - x / (1 + 0.25)) / np.sqrt(0.25 / 1.25)
    assert scipy.stats.kstest(z.ravel()[::3], "norm").pvalue > 1e-4
    assert (own_cache / "toy" / "03.json").exists()
    monkeypatch.setattr(certify, "certify", None)  # not made a second time
    np.testing.assert_array_equal(toy_task.reference_samples(3), samples)


def test_a_changed_model_is_not_served_from_the_cache(toy_task, quick, own_cache):
    toy_task.reference_samples(1)

    def sharper(theta, x):
        return 2 * toy_task.log_likelihood(theta, x)

    changed = replace(toy_task, log_likelihood=sharper)
    with pytest.raises(NoReferenceError, match=r"failed a check .*C2ST"):
        changed.reference_samples(1)


@pytest.mark.usefixtures("quick")
def test_any_likelihood_will_do(toy_task, own_cache, monkeypatch):
    scheme = certify.LIGHT
    monkeypatch.setattr(certify, "SCHEME", scheme)
    general = replace(toy_task, name="general", reference=None)
    samples = general.reference_samples(1, 4000)
    z = (samples - general.observation(1) / 1.25) / np.sqrt(0.25 / 1.25)
    assert scipy.stats.kstest(z.ravel()[::3], "norm").pvalue > 1e-4
    found = references.certificate(own_cache, "general", 1)
    assert found.method == "rejection"
    assert found.facts["draws_since_m_was_raised"] >= scheme.quiet


def test_without_likelihood_and_sampler_there_is_no_reference(toy_task):
    nothing = replace(toy_task, reference=None, log_likelihood=None)
    for ask in (
        lambda: nothing.reference_samples(1),
        lambda: sb.reference.sample(nothing, KEY, nothing.observation(1), 5),
    ):
        with pytest.raises(NoReferenceError, match="give it a log_likelihood"):
            ask()


def test_a_posterior_of_any_observation_can_be_sampled(toy_task):
    samples = sb.reference.sample(toy_task, KEY, [1.0, 1.0], 100)
    assert samples.shape == (100, 2)
    assert samples.dtype == np.float32
    for x, n in (([1.0], 5), ([1.0, np.inf], 5), ([1.0, 1.0], 0)):
        with pytest.raises(UsageError, match=r"finite numbers|1 or more"):
            sb.reference.sample(toy_task, KEY, x, n)


def test_a_canonical_task_with_another_model_does_not_get_what_ships(quick, own_cache):
    task = registry.TASKS.get("gaussian_linear")
    other = replace(task, reference=lambda key, x, n: task.reference(key, x + 1.0, n))
    with pytest.raises(NoReferenceError, match="failed a check"):
        other.reference_samples(1)


def test_a_certificate_with_a_failed_check_is_refused(toy_task, quick, own_cache):
    toy_task.reference_samples(1)
    path = own_cache / "toy" / "01.json"
    path.write_text(path.read_text().replace('"passed": true', '"passed": false', 1))
    with pytest.raises(NoReferenceError, match="failed a check"):
        toy_task.reference_samples(1)


def test_one_parameter_is_enough(quick, own_cache):
    def log_likelihood(theta, x):
        return jnp.sum(-0.5 * ((x - theta) / 0.1) ** 2)

    task = sb.Task(
        name="line",
        label="Line",
        citation="none",
        prior=dist.Normal(np.ones(1), np.ones(1)).to_event(1),
        simulate=lambda key, theta: theta + 0.1 * jax.random.normal(key, (1,)),
        log_likelihood=log_likelihood,
        reference=lambda key, x, n: (
            (100 * x + 1) / 101 + np.asarray(jax.random.normal(key, (n, 1))) / np.sqrt(101)
        ),
        parameter_names=("a",),
        data_names=("x",),
        observations=np.array([[1.1]]),
        thetas_true=np.array([[1.0]]),
    )
    assert task.reference_samples(1).shape == (10_000, 1)


def test_a_damaged_file_is_no_reference(toy_task, quick, own_cache):
    toy_task.reference_samples(1)
    path = own_cache / "toy" / "01.npy"
    samples = np.load(path)
    samples[0, 0] += 1e-3
    np.save(path, samples)
    with pytest.raises(NoReferenceError, match="not those that were certified"):
        toy_task.reference_samples(1)
    path.write_bytes(b"torn")
    with pytest.raises(NoReferenceError, match="can't be read"):
        toy_task.reference_samples(1)


def test_a_certificate_is_read_as_it_was_written(toy_task, quick, tmp_path):
    made, samples = certify.certify(toy_task, 1, certify.calibration(toy_task))
    references.write(tmp_path, made, samples)
    assert references.certificate(tmp_path, "toy", 1) == made
    np.testing.assert_array_equal(references.samples(tmp_path, made), samples)
    assert msgspec.json.encode(made)


# On the command line.


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return left.value.code


def test_reference_on_the_command_line(tmp_path, own_cache, capsys, quick):
    assert run("reference", "two_moons", "--observation", "2", "--out", str(tmp_path)) == 0
    shown = capsys.readouterr().out
    assert "the same samples as before" in shown
    assert "C2ST" in shown
    assert (tmp_path / "two_moons" / "02.npy").exists()
    assert run("reference", "two_moons", "--observation", "2", "--verify", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["passed"]
    assert row["seed"] == certify.SEED + 1  # tested anew
    assert row["task"] == "two_moons"
    assert abs(row["c2st"] - 0.5) < 0.02


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["two_moon"], 2, "two_moons"),
        (["two_moons", "--observation", "0"], 2, "numbered from 1"),
        (["two_moons", "--observation", "11", "--verify"], 2, "no stored reference"),
    ],
)
def test_what_makes_no_sense_is_one_line(arguments, code, message, own_cache, capsys):
    assert run("reference", *arguments) == code
    assert message in capsys.readouterr().err


def test_the_page_in_the_docs_is_that_of_the_certificates():
    docs = Path(__file__).parents[1] / "docs"
    page = runpy.run_path(str(docs / "references.py"))["page"]
    assert (docs / "references.md").read_text() == page()
