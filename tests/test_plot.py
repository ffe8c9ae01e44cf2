import numpy as np
import pytest

import sbibench as sb
from sbibench.core.errors import UsageError


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_pair_plot_is_saved_offline(toy_task, tmp_path, ending):
    samples = {"A": np.random.default_rng(0).normal(size=(500, 2))}
    path = tmp_path / f"x.{ending}"
    sb.plot.posterior(toy_task, 1, samples).save(path)
    assert path.stat().st_size > 1000


def test_wrong_samples_are_refused(toy_task):
    with pytest.raises(UsageError, match=r"\(500, 3\), not \[n, 2\]"):
        sb.plot.posterior(toy_task, 1, {"A": np.zeros((500, 3))})
