"""SNPE-C, automatic posterior transformation: rounds, and a loss that compares atoms.

Greenberg et al. 2019 with atomic proposals, as in Lueckmann et al. 2021, appendix A.6: ten rounds
of equal size, the spline flow of single-round NPE, ten atoms. The first round is that of NPE; later
ones train on the simulations of all rounds.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.atoms import atomic_loss
from sbibench.inference.contrast import check_size
from sbibench.inference.density import DensityEstimator
from sbibench.inference.flows import conditional_flow
from sbibench.inference.learning import fit_flow
from sbibench.inference.rounds import Data, check_rounds, run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training
from sbibench.inference.truncated import TruncatedPosterior, check_proposals


@dataclass(frozen=True)
class SNPEC:
    """Settings of SNPE-C.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    atoms
        How many parameters each x meets in the loss, its own among them.
    combined
        Whether simulations from the prior add the loss of NPE in later rounds, too. The comparison
        of atoms says nothing of places where no proposal goes, and mass leaks out there.
    flow
        Architecture of the density estimator.
    training
        How it is trained.
    warm_start
        Whether a round goes on from the weights and scales of the round before. Otherwise it starts
        anew: weights that were trained on few rows generalise worse than new ones once there are
        more (Ash & Adams 2020).
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        posterior since later rounds do not simulate from the prior.
    max_proposals
        After how many draws of the flow chains take over to find samples in the support.
    """

    rounds: int = 10
    atoms: int = 10
    combined: bool = True
    flow: DensityEstimator = field(default_factory=DensityEstimator)
    training: Training = field(default_factory=Training)
    warm_start: bool = False
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"
    max_proposals: int = 200_000

    def __post_init__(self) -> None:
        check_types(self)
        check_rounds(self.rounds)
        if self.atoms < 2:
            raise UsageError(f"atoms are 2 or more, not {self.atoms}")
        check_size(self.atoms, self.training.batch_size)
        check_proposals(self.max_proposals)

    @property
    def amortized(self) -> bool:
        """Whether its posteriors are: with one round, nothing depends on the observation."""
        return self.rounds == 1

    def fit(self, key: PRNGKeyArray, problem: Problem) -> TruncatedPosterior:
        """Spend the budget in rounds, and train after each.

        Raises
        ------
        UsageError
            If the budget is smaller than two simulations a round; nothing is simulated then.
        InvalidSimulationsError
            By the policy `invalid`.
        SamplingError
            If too little of a round's estimate lies inside the prior's support.
        """
        flow = conditional_flow(self.flow.architecture, problem.d, problem.p)
        loss = atomic_loss(flow, priors.rows(problem.prior), self.atoms)

        def learn(key: PRNGKeyArray, data: Data, previous: Any) -> TruncatedPosterior:
            rows: tuple[np.ndarray, ...] = (data.thetas, data.xs)
            if previous is not None:
                rows += (((data.rounds == 0) & self.combined).astype(np.float32),)
            return fit_flow(
                key,
                problem,
                flow,
                loss if previous else flow.loss,
                rows,
                self.training,
                self.max_proposals,
                previous,
                log_data=self.log_data,
                warm_start=self.warm_start,
            )

        posterior: TruncatedPosterior = run_rounds(key, problem, self.rounds, learn, self.invalid)
        return posterior


ALGORITHM = SNPEC
PAPER = SNPEC(combined=False, training=TOOLBOX, warm_start=True, log_data=False)
