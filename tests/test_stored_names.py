"""Stored simulations: names of their columns and arrays, and which of them go together."""

import numpy as np
import polars as pl
import pytest

import sbibench as sb
from sbibench.core.errors import UsageError


def refused(path, **names):
    with pytest.raises(UsageError) as caught:
        sb.simulators.stored(path, **names)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_numbers_are_names_of_columns_if_they_are_said(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("1,2\n0.5,3\n0.7,4\n")
    found = sb.simulators.stored(path, parameters=["1"], data=["2"])
    np.testing.assert_array_equal(found.thetas, [[0.5], [0.7]])
    np.testing.assert_array_equal(found.xs, [[3], [4]])
    assert "holds numbers, not names" in refused(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_one_name_but_for_blanks_are_refused(tmp_path, kind):
    path = tmp_path / f"runs.{kind}"
    table = pl.DataFrame({"theta_1": [0.5], "x_1": [1.0], " x_1": [2.0]})
    table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    assert "several columns are named 'x_1'; name each differently" in refused(path)


def test_arrays_that_do_not_go_side_by_side_are_refused_with_their_shapes(tmp_path):
    path = tmp_path / "runs.npz"
    arrays = {"a": np.zeros((5, 2, 2)), "b": np.zeros((5, 2)), "c": np.zeros(4), "x": np.ones(5)}
    arrays["y"] = np.ones(5)
    np.savez(path, **arrays)
    said = refused(path, parameters=["a", "b"], data=["x"])
    assert "arrays a (5, 2, 2), b (5, 2) do not go side by side" in said
    assert "b (5, 2), c (4,) do not" in refused(path, parameters=["b", "c"], data=["x"])
    found = sb.simulators.stored(path, parameters=["y", "b"], data=["x"])
    assert found.thetas.shape == (5, 3)


@pytest.mark.parametrize("what", ["parameters", "data"])
def test_one_text_in_place_of_names_is_refused_with_the_mend(tmp_path, what):
    path = tmp_path / "runs.npz"
    np.savez(path, thetas=np.zeros((5, 2)), xs=np.zeros(5))
    names = {"parameters": ["thetas"], "data": ["xs"]}
    (name,) = names[what]
    said = refused(path, **names | {what: name})
    assert said == f"{what} are a list of names: {what}=['{name}'], not '{name}'"


def test_no_column_is_both_a_parameter_and_data(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    said = refused(path, parameters=["a"], data=["b", "a"])
    assert said == "'a' can't be both a parameter and data"
