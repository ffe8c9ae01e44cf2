"""SNRE-B of the toolbox sbi: a classifier in rounds, with its own networks and chains."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from jaxtyping import PRNGKeyArray
from sbi.inference import NRE

from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.toolboxes.sbi import SbiTraining, fit
from sbibench.toolboxes.sbi_posteriors import ChainsPosterior, SbiChains


@dataclass(frozen=True)
class SbiSNRE:
    """Settings of sbi's NRE-B in rounds.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    classifier
        The network, by the toolbox's name.
    training
        How it is trained.
    chains
        How the posterior is sampled.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        ratio wherever simulations fail more often.
    """

    rounds: int = 10
    classifier: Literal["resnet", "mlp", "linear"] = "resnet"
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
            partial(NRE, classifier=self.classifier),
            self.training,
            self.invalid,
            partial(ChainsPosterior, chains=self.chains),
            rounds=self.rounds,
        )


ALGORITHM = SbiSNRE
