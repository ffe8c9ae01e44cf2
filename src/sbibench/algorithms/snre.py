"""Sequential neural ratio estimation: each round simulates where the posterior is now.

Hermans et al. 2020, Durkan et al. 2020, as in Lueckmann et al. 2021, appendix A.8: ten rounds of
equal size, classifier and chains as in single-round NRE. With all rounds' θ as contrast the ratio
is p(x | θ) over a mixture of the rounds' evidence, which has no θ in it.
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
from sbibench.inference.rounds import check_rounds, run_rounds
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training


@dataclass(frozen=True)
class SNRE:
    """Settings of sequential neural ratio estimation.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    classifier
        What tells pairs (θ, x) that belong together from others, and by which loss.
    training
        How it is trained.
    mcmc
        How the posterior is sampled.
    warm_start
        Whether a round goes on from the weights and scales of the round before. Otherwise it starts
        anew: weights that were trained on few rows generalise worse than new ones once there are
        more (Ash & Adams 2020).
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        ratio wherever simulations fail more often.
    """

    rounds: int = 10
    classifier: Classifier = field(default_factory=Classifier)
    training: Training = field(default_factory=Training)
    mcmc: MCMC = field(default_factory=MCMC)
    warm_start: bool = False
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"

    def __post_init__(self) -> None:
        check_types(self)
        check_size(self.classifier.contrastive, self.training.batch_size)
        check_rounds(self.rounds)

    @property
    def amortized(self) -> bool:
        """Whether its posteriors are: with one round, nothing depends on the observation."""
        return self.rounds == 1

    def fit(self, key: PRNGKeyArray, problem: Problem) -> MCMCPosterior:
        """Spend the budget in rounds, and train after each.

        Raises
        ------
        UsageError
            If the budget is smaller than two simulations a round; nothing is simulated then.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        estimator = ratio(self.classifier, problem.d, problem.p)
        learn = learn_by_mcmc(
            estimator,
            problem,
            self.training,
            self.mcmc,
            log_data=self.log_data,
            warm_start=self.warm_start,
        )
        posterior: MCMCPosterior = run_rounds(key, problem, self.rounds, learn, self.invalid)
        return posterior


ALGORITHM = SNRE
PAPER = SNRE(training=TOOLBOX, warm_start=True, log_data=False)
