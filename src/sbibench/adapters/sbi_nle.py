"""NLE of the toolbox sbi: a flow q(x | θ), with the toolbox's own networks and chains."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from jaxtyping import PRNGKeyArray
from sbi.inference import NLE

from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.toolboxes.sbi import SbiTraining, fit
from sbibench.toolboxes.sbi_posteriors import ChainsPosterior, SbiChains


@dataclass(frozen=True)
class SbiNLE:
    """Settings of sbi's NLE.

    Attributes
    ----------
    density_estimator
        The network, by the toolbox's name.
    training
        How it is trained.
    chains
        How the posterior is sampled.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        likelihood wherever simulations fail more often.
    """

    density_estimator: Literal["maf", "nsf", "mdn", "made", "maf_rqs", "zuko_nsf"] = "maf"
    training: SbiTraining = field(default_factory=SbiTraining)
    chains: SbiChains = field(default_factory=SbiChains)
    invalid: InvalidPolicy = "refuse"

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Simulate from the prior until the budget is used, and train; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NLE, density_estimator=self.density_estimator),
            self.training,
            self.invalid,
            partial(ChainsPosterior, chains=self.chains),
        )


ALGORITHM = SbiNLE
