import dataclasses

import jax
import numpy as np
import pytest

import sbibench as sb
from sbibench.contract.gaussian_pairs import gaussian_pairs
from sbibench.core.errors import UsageError
from sbibench.report import style


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_pair_plot_is_saved_offline(toy_task, tmp_path, ending):
    samples = {"A": np.random.default_rng(0).normal(size=(500, 2))}
    path = tmp_path / f"x.{ending}"
    sb.plot.posterior(toy_task, 1, samples).save(path)
    assert path.stat().st_size > 1000


def test_wrong_samples_are_refused(toy_task):
    with pytest.raises(UsageError, match=r"\(500, 3\), not \[n, 2\]"):
        sb.plot.posterior(toy_task, 1, {"A": np.zeros((500, 3))})


def test_without_a_reference_the_samples_are_drawn_alone(toy_task):
    task = dataclasses.replace(toy_task, reference=None, log_likelihood=None, name="mine")
    rng = np.random.default_rng(0)
    samples = {"A": rng.normal(size=(50, 2)), "B": rng.normal(size=(50, 2))}
    drawn = sb.plot.posterior(task, 1, samples).to_json()
    assert "true posterior" not in drawn
    assert '"A"' in drawn
    assert '"B"' in drawn
    assert style.TRUTH not in drawn
    assert "true posterior" in sb.plot.posterior(toy_task, 1, samples).to_json()
    with pytest.raises(UsageError, match="nothing to draw"):
        sb.plot.posterior(task, 1, {})


@pytest.mark.parametrize("d", [1, 2, 7])
def test_findings_are_drawn_offline(tmp_path, d):
    pairs = gaussian_pairs("narrow", n=80, draws=20, d=d)
    findings = sb.diagnose(jax.random.key(0), pairs)
    chart = sb.plot.calibration(findings, pairs.names, "A title")
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF-")):
        chart.save(tmp_path / f"x.{ending}")
        saved = (tmp_path / f"x.{ending}").read_bytes()
        assert saved.startswith(start)
        assert len(saved) > 5000
    drawn = (tmp_path / "x.svg").read_text()
    for text in ("A title", "Expected coverage", "TARP", "L-C2ST", "Contraction", "theta_1"):
        assert text in drawn
    assert findings["coverage"].verdict[1:35] in drawn


def test_what_is_missing_is_left_out_and_nothing_at_all_is_refused():
    pairs = gaussian_pairs(n=30, draws=10)
    findings = sb.diagnose(jax.random.key(0), pairs) | {"coverage": "no densities"}
    text = sb.plot.calibration(findings).to_json()
    assert "Expected coverage" not in text
    assert "parameter 2" in text
    with pytest.raises(UsageError, match="nothing to draw"):
        sb.plot.calibration({"coverage": "no densities", "nltp": findings["nltp"]})
    with pytest.raises(UsageError, match="2 parameters need as many names, not 1"):
        sb.plot.calibration(findings, ("a",))
