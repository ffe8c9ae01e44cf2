"""Names, files of results and files of tasks of sbibm."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sbibench as sb
from sbibench.core import registry
from sbibench.core.errors import UsageError
from sbibench.report.summary import summary
from sbibench.store.results import Results
from sbibench.store.table import COLUMNS, table
from sbibm_files import write, write_observation

RESULTS = (
    ",task,num_simulations,num_observation,algorithm,seed,C2ST,C2ST_Z,MMD,MEDDIST,NLTP,RT,KSD,"
    "num_simulations_simulator,folder\n"
    "0,two_moons,10³,2,SNPE,2937087782,0.6,0.5,0.1,2.0,,0.5,inf,1000.0,a\n"
    "1,two_moons,10³,1,SNPE,1,0.8,0.5,0.3,4.0,,1.5,1.0,1000.0,b\n"
    "2,slcp,>10⁸,1,SL,2,0.9,0.5,,1.0,,,,,c\n"
    "3,slcp,100000,1,MINE,3,0.7,0.5,0.2,1.0,,1,1,100000.0,d\n"
)


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results.csv").write_text(RESULTS)
    return tmp_path / "results.csv"


def test_tasks_have_the_names_that_they_had():
    names = [
        "bernoulli_glm", "bernoulli_glm_raw", "gaussian_linear", "gaussian_linear_uniform",
        "gaussian_mixture", "lotka_volterra", "sir", "slcp", "slcp_distractors", "two_moons",
    ]  # fmt: skip
    for name in names:
        assert sb.sbibm.task(name) is registry.TASKS.get(name)
    with pytest.raises(UsageError, match="did you mean 'two_moons'"):
        sb.sbibm.task("two_moon")


@pytest.mark.parametrize("name", sorted(sb.sbibm.ALGORITHMS))
def test_every_old_name_is_an_algorithm_of_ours_with_the_settings_of_the_paper(name):
    ours = sb.sbibm.ALGORITHMS[name]
    assert sb.sbibm.algorithm(name) == registry.ALGORITHMS.preset(ours, "paper")


def test_algorithms_are_found_as_they_are_written_in_different_places():
    assert sb.sbibm.algorithm("snpe") == sb.get_algorithm("snpe_c", "paper")
    assert sb.sbibm.algorithm("snpe", num_rounds=1) == sb.get_algorithm("npe", "paper")
    assert sb.sbibm.algorithm("rej-abc") == sb.sbibm.algorithm("REJ-ABC")
    with pytest.raises(UsageError, match="algorithm of sbibm named 'snpee'; did you mean 'snpe'"):
        sb.sbibm.algorithm("snpee")


def test_a_file_of_results_is_a_table_of_runs(results):
    runs = sb.sbibm.runs(results)
    assert dict(list(runs.schema.items())[: len(COLUMNS)]) == COLUMNS
    assert set(runs.columns) - set(COLUMNS) == {
        "metric.c2st", "metric.mmd", "metric.meddist", "seconds.total",
    }  # fmt: skip
    first = runs.filter(pl.col("id") == "a").row(0, named=True)
    assert (first["task"], first["algorithm"], first["label"]) == ("two_moons", "snpe_c", "SNPE")
    assert (first["budget"], first["observation"], first["seed"]) == (1000, 2, 2937087782)
    assert (first["calls"], first["metric.c2st"], first["seconds.total"]) == (1000, 0.6, 30)
    assert first["status"] == "done"
    sl = runs.filter(pl.col("label") == "SL").row(0, named=True)
    assert (sl["budget"], sl["metric.mmd"], sl["calls"]) == (10**8, None, None)
    assert runs.filter(pl.col("label") == "MINE")["algorithm"].to_list() == ["MINE"]


def test_the_table_stands_beside_ours(results, tmp_path):
    runs = sb.sbibm.runs(results)
    assert len(pl.concat([table(list(Results(tmp_path))), runs], how="diagonal")) == 4
    cell = summary(runs).filter(pl.col("label") == "SNPE").row(0, named=True)
    assert (cell["runs"], cell["failed"]) == (2, 0)
    assert cell["c2st"] == pytest.approx(0.7)


def test_the_page_s_code_runs(results, monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "sbibm.md").read_text()
    code = "".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2])
    results.rename(results.with_name("main_paper.csv"))
    monkeypatch.chdir(results.parent)
    names = {}
    exec(compile(code, "sbibm.md", "exec"), names)
    assert len(names["runs"]) == 4
    assert names["algorithm"] == registry.ALGORITHMS.preset("npe", "paper")


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with two observations of two_moons and one of slcp, that is another."""
    for task, numbers in (("two_moons", (1, 10)), ("slcp", (2,))):
        ours = registry.TASKS.get(task)
        for i in numbers:
            x = ours.observation(i) + (0.25 if task == "slcp" else 0)
            samples = np.arange(3 * ours.d).reshape(3, ours.d) / 7
            theta = ours.true_parameters(i)
            write_observation(tmp_path, task, i, x=x, theta=theta, samples=samples)
    (tmp_path / "sbibm" / "tasks" / "__init__.py").touch()
    return tmp_path


@pytest.mark.parametrize("part", ["", "sbibm", "sbibm/tasks"])
def test_the_files_of_a_checkout_are_read(checkout, part):
    theirs = sb.sbibm.Checkout(checkout / part)
    assert theirs.tasks() == ["slcp", "two_moons"]
    assert theirs.observations("two_moons") == [1, 10]
    ours = registry.TASKS.get("two_moons")
    np.testing.assert_allclose(theirs.observation("two_moons", 10), ours.observation(10))
    np.testing.assert_allclose(theirs.true_parameters("two_moons"), ours.true_parameters(1))
    samples = theirs.reference_samples("two_moons")
    assert (samples.shape, samples.dtype) == ((3, 2), np.float32)
    np.testing.assert_allclose(samples[2], [4 / 7, 5 / 7], rtol=1e-6)


def test_what_differs_from_ours_is_said(checkout):
    theirs = sb.sbibm.Checkout(checkout)
    assert theirs.differs("two_moons", 10) == ""
    assert theirs.differs("slcp", 2) == "observation: by up to 0.25"
    folder = checkout / "sbibm" / "tasks" / "slcp" / "files" / "num_observation_2"
    write(folder / "true_parameters.csv", "parameter_1", [[1.0, 2.0]])
    assert "parameters: 2 values, ours 5" in theirs.differs("slcp", 2)


def test_what_is_missing_or_damaged_is_one_line(checkout, tmp_path):
    theirs = sb.sbibm.Checkout(checkout)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is no checkout of sbibm"):
        sb.sbibm.Checkout(tmp_path / "empty")
    with pytest.raises(UsageError, match="did you mean 'slcp'"):
        theirs.observation("slpc")
    with pytest.raises(UsageError, match="no observation 3 in this checkout, but 1, 10"):
        theirs.observation("two_moons", 3)
    folder = checkout / "sbibm" / "tasks" / "two_moons" / "files" / "num_observation_1"
    write(folder / "observation.csv", "data_1", [[1.0], [2.0]])
    with pytest.raises(UsageError, match="has 2 rows, it should have 1"):
        theirs.observation("two_moons")
    write(folder / "observation.csv", "data_1", [[np.nan]])
    with pytest.raises(UsageError, match="not finite"):
        theirs.observation("two_moons")
    (folder / "observation.csv").write_text("data_1\nversion https://git-lfs\n")
    with pytest.raises(UsageError, match="is no table of numbers"):
        theirs.observation("two_moons")
    (folder / "reference_posterior_samples.csv.bz2").write_bytes(b"no archive")
    with pytest.raises(UsageError, match="is no table of numbers"):
        theirs.reference_samples("two_moons")
    (folder / "true_parameters.csv").unlink()
    with pytest.raises(UsageError, match=r"no true_parameters\.csv"):
        theirs.true_parameters("two_moons")
