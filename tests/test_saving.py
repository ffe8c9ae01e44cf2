import dataclasses
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import sbibench as sb
from sbibench.algorithms.prior import PriorPosterior
from sbibench.algorithms.reference import ReferencePosterior
from sbibench.core import registry, settings
from sbibench.core.described import describe, rebuild
from sbibench.core.errors import UsageError
from sbibench.inference import saving
from sbibench.inference.training import Training

FIXTURE = Path(__file__).parent / "data" / "posterior_format_1.npz"
SMALL = {
    "rej_abc": {"adjust": "linear", "summaries": "semi_automatic"},
    "rf_abc": {"forest": {"trees": 20}},
    "sl": {"simulations": 5, "chains": 10, "candidates": 20},
    "reference": {"draws": 500},
    "snpe_a": {"density": {"components": 2, "hidden": 8}},
}
"""Settings under which a fit takes little time; how good it is does not matter here."""

OURS = [name for name in registry.ALGORITHMS.names() if not registry.ALGORITHMS.toolbox(name)]
"""Posteriors of outside toolboxes are theirs to save."""

CASES = {name: (name, SMALL.get(name, {})) for name in OURS} | {
    "npe, maf": ("npe", {"flow": {"family": "maf"}}),
    "nre, mlp": ("nre", {"classifier": {"network": "mlp"}}),
    "rej_abc, plain": ("rej_abc", {"kde": False}),
}
PRIORS = {
    "normal": dist.Normal(np.zeros(2), np.ones(2)).to_event(1),
    "lognormal": dist.LogNormal(np.zeros(2), np.full(2, 0.5)).to_event(1),
    "expanded": dist.Uniform(-1.0, 2.0).expand((3,)).to_event(1),
    "single": dist.Gamma(np.float32(2.0), np.ones(2, np.float32)).to_event(1),
    "correlated": dist.MultivariateNormal(np.zeros(2), np.array([[1.0, 0.3], [0.3, 2.0]])),
    "precision": dist.MultivariateNormal(jnp.zeros(2), precision_matrix=2 * jnp.eye(2)),
    "truncated": dist.TruncatedNormal(np.zeros(2), np.ones(2), low=-1.0).to_event(1),
    "simplex": dist.Dirichlet(np.ones(3)),
    "mixture": dist.MixtureSameFamily(
        dist.Categorical(np.array([0.2, 0.8])),
        dist.Normal(np.array([[0.0, 0.0], [1.0, 1.0]]).T, 0.1).to_event(0),
    ).to_event(1),
}
ELSEWHERE = """
import sys
from pathlib import Path
import jax
import numpy as np
import sbibench as sb
key = jax.random.key(1)
for path in sorted(Path(sys.argv[1]).glob("*.posterior")):
    loaded = sb.load(path)
    found = {"samples": loaded.sample(key, 50)}
    if hasattr(loaded, "log_prob"):
        found["log_prob"] = loaded.log_prob(found["samples"])
    if loaded.amortized:
        found["elsewhere"] = loaded.sample(key, 50, [-0.5, 0.4])
    np.savez(path.with_suffix(".found"), **found)
"""


@pytest.fixture(scope="module")
def fitted(toy_task):
    """Return a posterior for each case."""
    found = {}
    for case, (name, values) in CASES.items():
        cls = registry.ALGORITHMS.get(name)
        algorithm = settings.build(cls, values, name)
        if hasattr(algorithm, "rounds"):
            algorithm = dataclasses.replace(algorithm, rounds=2)
        if hasattr(algorithm, "training"):
            algorithm = dataclasses.replace(algorithm, training=Training(max_epochs=3))
        problem = toy_task.problem(1, 3000 if name == "sl" else 400)
        found[case] = algorithm.fit(jax.random.key(0), problem)
    return found


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    """Return a folder where each posterior was saved and answered in another process."""
    path = tmp_path_factory.mktemp("saved")
    for case, posterior in fitted.items():
        posterior.save(path / f"{case}.posterior")
    source = str(Path(sb.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}
    subprocess.run([sys.executable, "-c", ELSEWHERE, path], check=True, env=environment)
    return path


@pytest.mark.parametrize("case", CASES)
def test_another_process_gets_the_same_answers(case, fitted, folder):
    key, posterior = jax.random.key(1), fitted[case]
    with np.load(folder / f"{case}.found.npz") as found:
        samples = posterior.sample(key, 50)
        np.testing.assert_array_equal(found["samples"], samples)
        assert ("log_prob" in found) == hasattr(posterior, "log_prob")
        if "log_prob" in found:
            np.testing.assert_array_equal(found["log_prob"], posterior.log_prob(samples))
        assert ("elsewhere" in found) == posterior.amortized
        if posterior.amortized:
            expected = posterior.sample(key, 50, [-0.5, 0.4])
            np.testing.assert_array_equal(found["elsewhere"], expected)


@pytest.mark.parametrize("case", CASES)
def test_what_is_known_of_the_fit_is_kept(case, fitted, tmp_path):
    fitted[case].save(tmp_path / "a")
    loaded = sb.load(tmp_path / "a")
    assert type(loaded) is type(fitted[case])
    assert loaded.info == fitted[case].info
    assert loaded.amortized == fitted[case].amortized
    loaded.save(tmp_path / "b")
    with zipfile.ZipFile(tmp_path / "a") as a, zipfile.ZipFile(tmp_path / "b") as b:
        assert {n: a.read(n) for n in a.namelist()} == {n: b.read(n) for n in b.namelist()}


def test_a_sequential_posterior_stays_for_its_observation(fitted, tmp_path, key):
    fitted["snpe_c"].save(tmp_path / "a")
    with pytest.raises(UsageError, match="for the observation"):
        sb.load(tmp_path / "a").sample(key, 1, [0.0, 0.0])


def test_chains_of_a_mixture_are_the_same_after_loading(fitted, tmp_path, key):
    # Far from the prior's support nearly all draws are outside, and chains take over.
    posterior = fitted["snpe_a"]
    posterior.save(tmp_path / "a")
    loaded = sb.load(tmp_path / "a")
    for one in (posterior, loaded):
        one._max_proposals = 1
    np.testing.assert_array_equal(loaded.sample(key, 1500), posterior.sample(key, 1500))


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_comes_back_as_it_was(name, key, tmp_path):
    prior = PRIORS[name]
    PriorPosterior(prior, np.zeros(1, np.float32), {}).save(tmp_path / "a")
    loaded = sb.load(tmp_path / "a")._prior
    with jax.numpy_rank_promotion("allow"):  # numpyro's mixtures need it
        theta = prior.sample(key)
        np.testing.assert_array_equal(loaded.sample(key), theta)
        np.testing.assert_array_equal(loaded.log_prob(theta), prior.log_prob(theta))


class Own(dist.Normal):
    """A distribution of somebody's own."""


@pytest.mark.parametrize(
    "prior",
    [
        Own(np.zeros(2), np.ones(2)).to_event(1),
        dist.TransformedDistribution(
            dist.Normal(np.zeros(2), np.ones(2)), dist.transforms.ExpTransform()
        ).to_event(1),
    ],
    ids=["own", "transformed"],
)
def test_a_prior_that_cant_be_described_is_refused_when_saving(prior, tmp_path):
    with pytest.raises(UsageError, match=r"can't be saved.*numpyro.distributions"):
        PriorPosterior(prior, np.zeros(1, np.float32), {}).save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_only_distributions_are_made_of_a_description():
    assert rebuild(describe(PRIORS["normal"])).event_shape == (2,)
    with pytest.raises(UsageError, match="no class"):
        rebuild({"class": "transforms", "arguments": {}})


def _baseline():
    return ReferencePosterior(np.eye(2, dtype=np.float32), np.zeros(1, np.float32), {"draws": 2})


def _edited(path, change):
    """Rewrite the header of a saved posterior."""
    _baseline().save(path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])
    change(header)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (entries | {"header.json": json.dumps(header)}).items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format=99, sbibench="7.0"), "sbibench 7.0 wrote it in format 99"),
        (lambda h: h.pop("format"), "no saved posterior"),
        (lambda h: h.pop("parts"), "no saved posterior"),
        (lambda h: h["parts"].pop("thetas"), "no saved posterior"),
        (lambda h: h["parts"].update(thetas={"$array": "absent"}), "no saved posterior"),
        (lambda h: h.update(posterior="algorithms.reference:Reference"), "is no posterior"),
        (lambda h: h.update(posterior="algorithms.later:Posterior"), "has no"),
        (lambda h: h.update(posterior="cli.__main__:x"), "has no"),
        (lambda h: h.update(posterior="os:system"), "has no"),
        (
            lambda h: h["parts"].update({"info": {"$is": "class", "at": "os:system", "$": {}}}),
            "has no",
        ),
        (
            lambda h: h["parts"].update(
                {"info": {"$is": "class", "at": "core.files:write_whole", "$": {}}}
            ),
            "no class of named fields",
        ),
    ],
)
def test_a_header_that_is_wrong_is_refused_in_one_line(change, message, tmp_path):
    with pytest.raises(UsageError, match=message) as caught:
        sb.load(_edited(tmp_path / "a", change))
    assert "\n" not in str(caught.value)


def _pickled(path):
    np.savez(path, header=np.array([{"a": 1}], object))
    return path


def _with_object_array(path):
    _baseline().save(path)
    with zipfile.ZipFile(path, "a") as archive, archive.open("more.npy", "w") as entry:
        np.lib.format.write_array(entry, np.array([{"a": 1}], object), allow_pickle=True)
    return path


def _cut(path):
    _baseline().save(path)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def _flipped(path):
    _baseline().save(path)
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)
    return path


def _text(path):
    path.write_text("hello")
    return path


def _empty(path):
    path.touch()
    return path


@pytest.mark.parametrize("make", [_pickled, _with_object_array, _cut, _flipped, _text, _empty])
def test_another_or_a_damaged_file_is_refused_in_one_line(make, tmp_path):
    with pytest.raises(UsageError, match="no saved posterior, or it is damaged") as caught:
        sb.load(make(tmp_path / "a.npz"))
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(UsageError, match="can't read"):
        sb.load(tmp_path / "absent")
    with pytest.raises(UsageError, match="can't write"):
        _baseline().save(tmp_path)


def test_weights_of_another_network_are_refused(fitted, tmp_path):
    fitted["npe"].save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])
    header["parts"]["density"]["$"][0]["$"]["bins"] = 5
    entries["header.json"] = json.dumps(header)
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(UsageError, match=r"last\.(weight|bias).* not those of its network"):
        sb.load(tmp_path / "a")


def test_a_failing_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "a"
    _baseline().save(path)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(UsageError, match="No space left"):
        _baseline().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_file_of_the_first_format_can_be_read(key):
    loaded = sb.load(FIXTURE)
    assert loaded.info["epochs"] > 0
    samples = loaded.sample(key, 100, [0.5, 0.5])
    assert samples.shape == (100, 2)
    assert np.isfinite(loaded.log_prob(samples)).all()
    with np.load(FIXTURE.with_suffix(".expected.npz")) as expected:
        thetas = expected["thetas"]
        np.testing.assert_allclose(loaded.log_prob(thetas), expected["log_prob"], rtol=1e-4)


def test_loading_imports_no_other_algorithm(tmp_path):
    _baseline().save(tmp_path / "a")
    code = (
        "import sys, sbibench as sb; sb.load(sys.argv[1]);"
        "found = {m for m in sys.modules if m.startswith('sbibench.algorithms.')};"
        "assert found == {'sbibench.algorithms.reference'}, found"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(sb.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code, tmp_path / "a"], check=True, env=environment)


def test_a_class_from_outside_is_not_saved(tmp_path):
    class Outside(ReferencePosterior):
        pass

    outside = Outside(np.eye(2, dtype=np.float32), np.zeros(1, np.float32), {})
    with pytest.raises(UsageError, match="no class of sbibench"):
        outside.save(tmp_path / "a")


def test_the_version_of_the_format_is_that_of_the_fixture():
    assert FIXTURE.name == f"posterior_format_{saving.FORMAT}.npz"


def test_samples_for_arviz(fitted, toy_task, key):
    posterior = fitted["npe"]
    samples = posterior.sample(key, 1000)
    named = posterior.to_arviz(key, names=toy_task.parameter_names).posterior
    assert list(named.data_vars) == ["a", "b"]
    assert dict(named.sizes) == {"chain": 1, "draw": 1000}
    np.testing.assert_array_equal(named["b"].values[0], samples[:, 1])
    vector = posterior.to_arviz(key, 1000).posterior["theta"]
    assert vector.dims[:2] == ("chain", "draw")
    np.testing.assert_array_equal(vector.values[0], samples)
    with pytest.raises(UsageError, match="2 different names"):
        posterior.to_arviz(key, names=["a"])


def test_a_missing_arviz_is_named(key, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(UsageError, match=r"sbibench\[arviz\]"):
        _baseline().to_arviz(key, 2)
