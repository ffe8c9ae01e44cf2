"""NPE of the toolbox sbi: a flow q(θ | x), with the toolbox's own networks and training."""

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
class SbiNPE:
    """Settings of sbi's NPE.

    Attributes
    ----------
    density_estimator
        The network, by the toolbox's name.
    training
        How it is trained.
    invalid
        What to do with simulations that are not finite: "drop" them, which is unbiased, or
        "refuse".
    max_sampling_seconds
        After how long the toolbox gives up to find draws in the prior's support.
    """

    density_estimator: Literal["maf", "nsf", "mdn", "made", "maf_rqs", "zuko_nsf"] = "maf"
    training: SbiTraining = field(default_factory=SbiTraining)
    invalid: InvalidPolicy = "drop"
    max_sampling_seconds: float = 300.0

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Simulate from the prior until the budget is used, and train; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NPE, density_estimator=self.density_estimator),
            self.training,
            self.invalid,
            partial(DensityPosterior, seconds=self.max_sampling_seconds),
            corrected=True,
        )


ALGORITHM = SbiNPE
