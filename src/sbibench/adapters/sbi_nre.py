"""NRE-B of the toolbox sbi: a classifier, with the toolbox's own networks and chains."""

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
class SbiNRE:
    """Settings of sbi's NRE-B.

    Attributes
    ----------
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

    classifier: Literal["resnet", "mlp", "linear"] = "resnet"
    training: SbiTraining = field(default_factory=SbiTraining)
    chains: SbiChains = field(default_factory=SbiChains)
    invalid: InvalidPolicy = "refuse"

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Simulate from the prior until the budget is used, and train; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NRE, classifier=self.classifier),
            self.training,
            self.invalid,
            partial(ChainsPosterior, chains=self.chains),
        )


ALGORITHM = SbiNRE
