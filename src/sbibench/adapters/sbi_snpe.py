"""SNPE-C of the toolbox sbi: a flow q(θ | x) in rounds, with its own networks and training."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from jaxtyping import PRNGKeyArray
from sbi.inference import NPE

from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.toolboxes.sbi import SbiTraining, fit
from sbibench.toolboxes.sbi_posteriors import DensityPosterior


@dataclass(frozen=True)
class SbiSNPE:
    """Settings of sbi's NPE-C in rounds.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    density_estimator
        The network, by the toolbox's name.
    training
        How it is trained.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        posterior since later rounds do not simulate from the prior.
    max_sampling_seconds
        After how long the toolbox gives up to find draws in the prior's support.
    """

    rounds: int = 10
    density_estimator: Literal["maf", "nsf", "mdn", "made", "maf_rqs", "zuko_nsf"] = "maf"
    training: SbiTraining = field(default_factory=SbiTraining)
    invalid: InvalidPolicy = "refuse"
    max_sampling_seconds: float = 300.0

    @property
    def amortized(self) -> bool:
        """Whether its posteriors are: with one round, nothing depends on the observation."""
        return self.rounds == 1

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Spend the budget in rounds, and train after each; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NPE, density_estimator=self.density_estimator),
            self.training,
            self.invalid,
            partial(DensityPosterior, seconds=self.max_sampling_seconds),
            rounds=self.rounds,
            corrected=True,
        )


ALGORITHM = SbiSNPE
