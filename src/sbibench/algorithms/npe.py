"""Neural posterior estimation: a flow q(θ | x) fitted to simulations from the prior.

Papamakarios & Murray 2016, with the neural spline flow of Durkan et al. 2019 as in Lueckmann et al.
2021, appendix A.6: five transforms, two residual blocks of 50 ReLU units, 10 bins. Parameters and
data are z-scored. The flow lives on R^d; what leaks out of the prior's support is cut off.
"""

from dataclasses import dataclass, field

from jaxtyping import PRNGKeyArray

from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.density import DensityEstimator
from sbibench.inference.flows import conditional_flow
from sbibench.inference.learning import fit_flow
from sbibench.inference.rounds import Data, run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training
from sbibench.inference.truncated import TruncatedPosterior, check_proposals


@dataclass(frozen=True)
class NPE:
    """Settings of neural posterior estimation.

    Attributes
    ----------
    flow
        Architecture of the density estimator.
    training
        How it is trained.
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "drop" trains on the others and so infers
        the posterior given that the simulation is valid, which is unbiased; or "refuse".
    max_proposals
        After how many draws of the flow chains take over to find samples in the support.
    """

    flow: DensityEstimator = field(default_factory=DensityEstimator)
    training: Training = field(default_factory=Training)
    log_data: bool = True
    invalid: InvalidPolicy = "drop"
    max_proposals: int = 200_000

    def __post_init__(self) -> None:
        check_types(self)
        check_proposals(self.max_proposals)

    def fit(self, key: PRNGKeyArray, problem: Problem) -> TruncatedPosterior:
        """Simulate from the prior until the budget is used, and train.

        Raises
        ------
        UsageError
            If fewer than two simulations are left to train on.
        InvalidSimulationsError
            If no simulation is finite, or by the policy `invalid`.
        """
        flow = conditional_flow(self.flow.architecture, problem.d, problem.p)

        def learn(key: PRNGKeyArray, data: Data, _: None) -> TruncatedPosterior:
            rows = (data.thetas, data.xs)
            return fit_flow(
                key,
                problem,
                flow,
                flow.loss,
                rows,
                self.training,
                self.max_proposals,
                log_data=self.log_data,
            )

        posterior: TruncatedPosterior = run_rounds(key, problem, 1, learn, self.invalid)
        return posterior


ALGORITHM = NPE
PAPER = NPE(training=TOOLBOX, log_data=False)
