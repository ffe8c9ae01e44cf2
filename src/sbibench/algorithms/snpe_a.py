"""SNPE-A: a mixture density network fitted under Gaussian proposals, corrected in closed form.

Papamakarios & Murray 2016, algorithms 1 and 2, as described in Lueckmann et al. 2021, appendix A.6.
Each round trains on its own simulations alone: one Gaussian until the last round, whose network has
all components. What it finds is the posterior under the proposal; it is divided by the proposal and
multiplied by the prior, component by component. The prior is normal, lognormal (then all happens in
log θ) or uniform; outside of its support proposals and posterior are cut off, which changes nothing
in the division.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpyro.distributions as dist
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core import priors
from sbibench.core.errors import UsageError
from sbibench.core.problem import Problem
from sbibench.core.settings import check_types
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.features import Features
from sbibench.inference.mdn import MDNParams, MixtureDensity, mixture_density
from sbibench.inference.mixture import Gaussian, divide, mixture_over
from sbibench.inference.rounds import Data, check_rounds, run_rounds
from sbibench.inference.standardize import note_constant
from sbibench.inference.toolbox import TOOLBOX
from sbibench.inference.training import Training, train
from sbibench.inference.truncated import TruncatedPosterior, check_proposals

LEAST_INSIDE = 0.01
"""With a smaller share inside the prior's support a correction fails; the last one stays."""


def _gaussian(prior: dist.Distribution) -> tuple[Gaussian, bool]:
    """Return the prior as a Gaussian (precision 0 if uniform), and whether it is one of log θ."""
    base = prior
    while isinstance(base, dist.Independent | dist.ExpandedDistribution):
        base = base.base_dist
    if isinstance(base, dist.Uniform):
        return Gaussian(np.zeros(prior.event_shape), np.zeros(prior.event_shape * 2)), False
    if isinstance(base, dist.Normal | dist.LogNormal):
        scale = np.broadcast_to(np.asarray(base.scale), prior.event_shape)
        loc = np.broadcast_to(np.asarray(base.loc), prior.event_shape)
        return Gaussian(loc, np.diag(scale**-2.0)), isinstance(base, dist.LogNormal)
    if isinstance(base, dist.MultivariateNormal):
        return Gaussian(np.asarray(base.loc), np.asarray(base.precision_matrix)), False
    raise UsageError(
        "SNPE-A divides by the prior in closed form: it needs a normal, lognormal or uniform one, "
        f"not {type(base).__name__}; snpe_b and snpe_c take any"
    )


@dataclass(frozen=True)
class SNPEA:
    """Settings of SNPE-A.

    Attributes
    ----------
    rounds
        How many rounds share the budget.
    density
        The mixture density network; its components are those of the last round.
    training
        How it is trained.
    log_data
        Whether the network sees positive data columns that span orders of magnitude as logarithms.
    invalid
        What to do with simulations that are not finite: "refuse", or "drop" them, which biases the
        posterior since later rounds do not simulate from the prior.
    max_proposals
        After how many draws of the mixture chains take over to find samples in the support.
    """

    rounds: int = 10
    density: MixtureDensity = field(default_factory=MixtureDensity)
    training: Training = field(default_factory=Training)
    log_data: bool = True
    invalid: InvalidPolicy = "refuse"
    max_proposals: int = 200_000
    amortized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_types(self)
        check_rounds(self.rounds)
        check_proposals(self.max_proposals)

    def fit(self, key: PRNGKeyArray, problem: Problem) -> TruncatedPosterior:
        """Spend the budget in rounds, train and correct after each.

        Raises
        ------
        UsageError
            If the prior is none of those that can be divided by, or the budget is smaller than two
            simulations a round; nothing is simulated then.
        InvalidSimulationsError
            By the policy `invalid`.
        """
        prior, logarithmic = _gaussian(problem.prior)
        one = mixture_density(replace(self.density, components=1), problem.d, problem.p)
        many = mixture_density(self.density, problem.d, problem.p)
        support = priors.rows(problem.prior)
        network: MDNParams | None = None
        proposal = prior
        failed = 0

        def learn(
            key: PRNGKeyArray, data: Data, previous: TruncatedPosterior | None
        ) -> TruncatedPosterior:
            nonlocal network, proposal, failed
            init_key, grow_key, train_key, check_key = random.split(key, 4)
            last = int(data.rounds[-1]) == self.rounds - 1
            new = data.rounds == data.rounds[-1]
            features = (
                previous.features if previous else Features.fit(data.xs, log_data=self.log_data)
            )
            us = np.log(data.thetas[new]) if logarithmic else data.thetas[new]
            xs, x_obs = features(data.xs[new]), features(problem.x_obs)
            start = network or one.init(init_key, us, xs)
            mdn = many if last else one
            network, info = train(
                train_key,
                mdn.loss,
                many.grown(grow_key, start) if last else start,
                (us, xs),
                self.training,
                problem.deadline,
                problem.progress,
            )
            note_constant(info, data.xs)
            mixture, info["mended"] = divide(mdn.at(network, x_obs), proposal, prior)
            posterior = TruncatedPosterior(
                mixture_over("log_theta" if logarithmic else "theta"),
                mixture,
                features,
                problem.prior,
                problem.x_obs,
                info,
                self.max_proposals,
                progress=problem.progress,
            )
            inside = support.inside(posterior.propose(check_key, x_obs, 1000)).mean()
            if previous is not None and inside < LEAST_INSIDE:
                posterior, failed = previous, failed + 1
                posterior.info["stopped"] = info["stopped"]
            elif not last:
                proposal = Gaussian(mixture.means[0], mixture.precisions[0])
            posterior.info["failed_corrections"] = failed
            return posterior

        posterior: TruncatedPosterior = run_rounds(key, problem, self.rounds, learn, self.invalid)
        posterior.amortized = False  # the mixture is that at x_obs, rounds or not
        return posterior


ALGORITHM = SNPEA
PAPER = SNPEA(training=TOOLBOX, log_data=False)
