"""SNPE-B: rounds, and a loss whose importance weights turn the proposal into the prior.

Lueckmann et al. 2017, eq. 6, as described in Lueckmann et al. 2021, appendix A.6: ten rounds of
equal size, each training on the simulations of all rounds; here with the flow of single-round NPE.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.atoms import balance_weights, weighted_loss
from sbibench.inference.density import DensityEstimator
from sbibench.inference.flows import conditional_flow
from sbibench.inference.learning import fit_flow
from sbibench.inference.rounds import Data, check_rounds, run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training
from sbibench.inference.truncated import TruncatedPosterior, check_proposals


@dataclass(frozen=True)
class SNPEB:
    """Settings of SNPE-B.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    weights
        p(θ) over what θ was drawn from: "own", the proposal of its round (the paper), or "balance",
        the mixture of all proposals, under which no weight is above the number of rounds.
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
    weights: Literal["balance", "own"] = "balance"
    flow: DensityEstimator = field(default_factory=DensityEstimator)
    training: Training = field(default_factory=Training)
    warm_start: bool = False
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"
    max_proposals: int = 200_000

    def __post_init__(self) -> None:
        check_types(self)
        check_rounds(self.rounds)
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
        loss = weighted_loss(flow)
        log_prior = priors.rows(problem.prior).log_prob
        proposals: list[Callable[[np.ndarray], np.ndarray]] = []

        def weigh(data: Data) -> np.ndarray:
            log_prior_values = log_prior(data.thetas)
            if self.weights == "balance":
                log_proposals = np.array([proposal(data.thetas) for proposal in proposals])
                sizes = np.bincount(data.rounds, minlength=len(proposals))
                return balance_weights(log_prior_values, log_proposals, sizes)
            log_own = np.empty(len(data.thetas))
            for number, proposal in enumerate(proposals):
                rows = data.rounds == number
                log_own[rows] = proposal(data.thetas[rows])
            return np.exp(log_prior_values - log_own).astype(np.float32)

        def learn(key: PRNGKeyArray, data: Data, previous: Any) -> TruncatedPosterior:
            proposals.append(previous.log_prob if previous else log_prior)
            weights = weigh(data)
            learned = fit_flow(
                key,
                problem,
                flow,
                loss,
                (data.thetas, data.xs, weights),
                self.training,
                self.max_proposals,
                previous,
                log_data=self.log_data,
                warm_start=self.warm_start,
            )
            learned.info["effective_simulations"] = float(weights.sum() ** 2 / (weights**2).sum())
            return learned

        posterior: TruncatedPosterior = run_rounds(key, problem, self.rounds, learn, self.invalid)
        return posterior


ALGORITHM = SNPEB
PAPER = SNPEB(weights="own", training=TOOLBOX, warm_start=True, log_data=False)
