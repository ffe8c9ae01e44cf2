"""SNLE of the toolbox sbi: a flow q(x | θ) in rounds, with its own networks and chains."""

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
class SbiSNLE:
    """Settings of sbi's NLE in rounds.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
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

    rounds: int = 10
    density_estimator: Literal["maf", "nsf", "mdn", "made", "maf_rqs", "zuko_nsf"] = "maf"
    training: SbiTraining = field(default_factory=SbiTraining)
    chains: SbiChains = field(default_factory=SbiChains)
    invalid: InvalidPolicy = "refuse"

    @property
    def amortized(self) -> bool:
        """Whether its posteriors are: with one round, nothing depends on the observation."""
        return self.rounds == 1

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Spend the budget in rounds, and train after each; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NLE, density_estimator=self.density_estimator),
            self.training,
            self.invalid,
            partial(ChainsPosterior, chains=self.chains),
            rounds=self.rounds,
        )


ALGORITHM = SbiSNLE
