"""NPSE of the toolbox sbi: the score of a diffusion, with its own networks and training."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from jaxtyping import PRNGKeyArray
from sbi.inference import NPSE

from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.toolboxes.sbi import SbiTraining, fit
from sbibench.toolboxes.sbi_posteriors import RejectingPosterior


@dataclass(frozen=True)
class SbiNPSE:
    """Settings of sbi's score estimation.

    Attributes
    ----------
    vf_estimator
        The network, by the toolbox's name.
    training
        How it is trained.
    invalid
        What to do with simulations that are not finite: "drop" them, which is unbiased, or
        "refuse".
    max_sampling_seconds
        After how long the toolbox gives up to find draws in the prior's support.
    """

    vf_estimator: Literal["mlp", "ada_mlp", "transformer"] = "mlp"
    training: SbiTraining = field(default_factory=SbiTraining)
    invalid: InvalidPolicy = "drop"
    max_sampling_seconds: float = 300.0

    def fit(self, key: PRNGKeyArray, problem: Problem) -> Any:
        """Simulate from the prior until the budget is used, and train; see `toolboxes.sbi.fit`."""
        return fit(
            key,
            problem,
            partial(NPSE, vf_estimator=self.vf_estimator),
            self.training,
            self.invalid,
            partial(RejectingPosterior, seconds=self.max_sampling_seconds),
            corrected=True,
        )


ALGORITHM = SbiNPSE
