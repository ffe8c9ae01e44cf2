"""From simulations to a posterior: train an estimate, anew or on from that of the round before."""

import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core.keys import numpy_rng
from sbibench.core.problem import Problem
from sbibench.inference.estimator import Estimator
from sbibench.inference.features import Features
from sbibench.inference.flows import Flow
from sbibench.inference.mcmc import MCMC, MCMCPosterior
from sbibench.inference.rounds import Data, Learn
from sbibench.inference.standardize import constant_columns, note_constant
from sbibench.inference.training import Loss, Training, train
from sbibench.inference.truncated import TruncatedPosterior


def fit_flow(
    key: PRNGKeyArray,
    problem: Problem,
    flow: Flow,
    loss: Loss,
    rows: tuple[np.ndarray, ...],
    training: Training,
    max_proposals: int,
    previous: TruncatedPosterior | None = None,
    *,
    log_data: bool,
    warm_start: bool = False,
) -> TruncatedPosterior:
    """Train a flow on rows (θ [n, d], x [n, p], ...) and return its posterior.

    Parameters
    ----------
    loss
        What is minimised; it takes these rows.
    previous
        A posterior of the same flow, from the round before. Data are seen as it sees them.
    log_data
        Whether positive data columns that span orders of magnitude are seen as logarithms.
    warm_start
        Whether the training goes on from the weights and scales of `previous`, or starts anew.
    """
    init_key, train_key = random.split(key)
    xs = rows[1]
    features = previous.features if previous else Features.fit(rows[1], log_data=log_data)
    rows = (rows[0], features(rows[1]), *rows[2:])
    start = previous.params if previous and warm_start else flow.init(init_key, rows[0], rows[1])
    params, info = train(train_key, loss, start, rows, training, problem.deadline, problem.progress)
    note_constant(info, xs)
    return TruncatedPosterior(
        flow,
        params,
        features,
        problem.prior,
        problem.x_obs,
        info,
        max_proposals,
        progress=problem.progress,
    )


def _without_constants(key: PRNGKeyArray, xs: np.ndarray) -> np.ndarray:
    """Return x [n, p] with noise around the value of each constant column.

    No density can be fitted to a constant: it would grow for ever, and not at the same pace for all
    θ. The noise is the same for all.
    """
    noise = numpy_rng(key).normal(size=xs.shape) * constant_columns(xs)
    return np.asarray(xs + noise, np.float32)


def learn_by_mcmc(
    estimator: Estimator,
    problem: Problem,
    training: Training,
    mcmc: MCMC,
    *,
    log_data: bool,
    warm_start: bool = False,
) -> Learn:
    """Return how a round learns: anew, or on from the weights of the round before.

    Either way a column of data is seen as in the first round: as it is, or as its logarithm.
    """

    def learn(key: PRNGKeyArray, data: Data, previous: MCMCPosterior | None) -> MCMCPosterior:
        init_key, train_key = random.split(key)
        features = previous.features if previous else Features.fit(data.xs, log_data=log_data)
        xs = _without_constants(random.fold_in(key, 2), features(data.xs))
        start = (
            previous.params
            if previous and warm_start
            else estimator.init(init_key, data.thetas, xs)
        )
        params, info = train(
            train_key,
            estimator.loss,
            start,
            (data.thetas, xs),
            training,
            problem.deadline,
            problem.progress,
        )
        note_constant(info, data.xs)
        return MCMCPosterior(
            estimator,
            params,
            features,
            problem.prior,
            problem.x_obs,
            info,
            mcmc,
            progress=problem.progress,
        )

    return learn
