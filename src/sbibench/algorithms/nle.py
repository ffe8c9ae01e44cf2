"""Neural likelihood estimation: a flow q(x | θ) fitted to simulations from the prior, then MCMC.

Papamakarios et al. 2019, without rounds, as in Lueckmann et al. 2021, appendix A.3: a masked
autoregressive flow of five transforms with 2 × 50 tanh units; 100 chains of slice sampling.
"""

from dataclasses import dataclass, field

from jaxtyping import PRNGKeyArray

from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.density import DensityEstimator
from sbibench.inference.estimator import likelihood_flow
from sbibench.inference.learning import learn_by_mcmc
from sbibench.inference.mcmc import MCMC, MCMCPosterior
from sbibench.inference.rounds import run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training


@dataclass(frozen=True)
class NLE:
    """Settings of neural likelihood estimation.

    Attributes
    ----------
    flow
        Architecture of the density estimator.
    training
        How it is trained.
    mcmc
        How the posterior is sampled.
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        likelihood wherever simulations fail more often.
    """

    flow: DensityEstimator = field(default_factory=lambda: DensityEstimator("maf"))
    training: Training = field(default_factory=Training)
    mcmc: MCMC = field(default_factory=MCMC)
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"

    def __post_init__(self) -> None:
        check_types(self)

    def fit(self, key: PRNGKeyArray, problem: Problem) -> MCMCPosterior:
        """Simulate from the prior until the budget is used, and train.

        Raises
        ------
        UsageError
            If the budget is smaller than two.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        estimator = likelihood_flow(self.flow.architecture, problem.d, problem.p)
        learn = learn_by_mcmc(estimator, problem, self.training, self.mcmc, log_data=self.log_data)
        posterior: MCMCPosterior = run_rounds(key, problem, 1, learn, self.invalid)
        return posterior


ALGORITHM = NLE
PAPER = NLE(training=TOOLBOX, log_data=False)
