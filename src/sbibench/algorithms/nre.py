"""Neural ratio estimation: a classifier finds p(x | θ) / p(x), then MCMC.

Hermans et al. 2020; Durkan et al. 2020, eq. 7, without rounds, as in Lueckmann et al. 2021,
appendix A.7: simulations from the prior, a residual network of two blocks of 50 ReLU units,
contrastive sets of 10; 100 chains of slice sampling.
"""

from dataclasses import dataclass, field

from jaxtyping import PRNGKeyArray

from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.contrast import check_size
from sbibench.inference.learning import learn_by_mcmc
from sbibench.inference.mcmc import MCMC, MCMCPosterior
from sbibench.inference.ratio import Classifier, ratio
from sbibench.inference.rounds import run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training


@dataclass(frozen=True)
class NRE:
    """Settings of neural ratio estimation.

    Attributes
    ----------
    classifier
        What tells pairs (θ, x) that belong together from others, and by which loss.
    training
        How it is trained.
    mcmc
        How the posterior is sampled.
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        ratio wherever simulations fail more often.
    """

    classifier: Classifier = field(default_factory=Classifier)
    training: Training = field(default_factory=Training)
    mcmc: MCMC = field(default_factory=MCMC)
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"

    def __post_init__(self) -> None:
        check_types(self)
        check_size(self.classifier.contrastive, self.training.batch_size)

    def fit(self, key: PRNGKeyArray, problem: Problem) -> MCMCPosterior:
        """Simulate from the prior until the budget is used, and train.

        Raises
        ------
        UsageError
            If the budget is smaller than two.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        estimator = ratio(self.classifier, problem.d, problem.p)
        learn = learn_by_mcmc(estimator, problem, self.training, self.mcmc, log_data=self.log_data)
        posterior: MCMCPosterior = run_rounds(key, problem, 1, learn, self.invalid)
        return posterior


ALGORITHM = NRE
PAPER = NRE(training=TOOLBOX, log_data=False)
