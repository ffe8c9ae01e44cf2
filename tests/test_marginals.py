"""What samples tell of each parameter."""

import numpy as np
import pytest
from rich.console import Console

from sbibench.cli.summaries import described
from sbibench.core.errors import UsageError
from sbibench.report.marginals import marginal_table, marginals


def test_marginals_are_told_for_each_parameter():
    samples = np.stack([np.linspace(0, 1, 1001), np.full(1001, 1e4 + 0.5)], 1).astype(np.float32)
    expected = [[0.5, np.sqrt(1 / 12), 0.025, 0.975], [1e4 + 0.5, 0, 1e4 + 0.5, 1e4 + 0.5]]
    np.testing.assert_allclose(marginals(samples), expected, rtol=2e-3, atol=1e-9)
    console = Console(width=100)
    with console.capture() as told:
        console.print(marginal_table(["rate [1/s]", "b"], samples))
    (row,) = [line for line in told.get().splitlines() if "rate [1/s]" in line]
    assert "0.025" in row
    assert "0.975" in row


@pytest.mark.parametrize("where", ["listing:nothing", "console:out"])
def test_a_command_without_a_text_is_said_in_words(where):
    with pytest.raises(UsageError, match=f"{where} is no function and no app with a help"):
        described(where)
