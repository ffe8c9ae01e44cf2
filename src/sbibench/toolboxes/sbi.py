"""The toolbox `sbi` in our rounds: it trains and samples, we simulate.

Tejero-Cantero et al. 2020; Boelts et al. 2024. Defaults are those of the toolbox.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import PRNGKeyArray
from torch.utils.data import default_collate

from sbibench.core.errors import DeadlineError, UsageError
from sbibench.core.posterior import Info
from sbibench.core.problem import Problem
from sbibench.core.simulator import InvalidPolicy
from sbibench.inference.rounds import Data, check_rounds, run_rounds
from sbibench.inference.standardize import note_constant
from sbibench.toolboxes.guest import guest
from sbibench.toolboxes.sbi_posteriors import SbiPosterior, tensor
from sbibench.toolboxes.torch_prior import torch_prior

torch.set_num_threads(1)  # as everything else in a run; networks this small are no slower

LEAST = 20
"""Simulations of a round: less leave no validation data, or none to train on."""


@dataclass(frozen=True)
class SbiTraining:
    """How sbi trains; the names are those of its method `train`.

    Attributes
    ----------
    training_batch_size
        Rows of a minibatch.
    learning_rate
        Of Adam.
    validation_fraction
        The share of the simulations that says when to stop.
    stop_after_epochs
        Epochs without improvement after which training ends.
    max_num_epochs
        Epochs after which it ends in any case.
    """

    training_batch_size: int = 200
    learning_rate: float = 5e-4
    validation_fraction: float = 0.1
    stop_after_epochs: int = 20
    max_num_epochs: int = 2**31 - 1

    def __post_init__(self) -> None:
        if not 0 < self.validation_fraction < 1:
            raise UsageError(
                f"validation_fraction lies between 0 and 1, not {self.validation_fraction}"
            )
        for name in ("training_batch_size", "stop_after_epochs", "max_num_epochs"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is 1 or more, not {getattr(self, name)}")


class _NoTracker:
    """Tracks nothing: the toolbox would write a folder of logs."""

    log_dir = None

    def log_metric(self, name: str, value: float, step: int | None = None) -> None:
        """Drop it."""

    def flush(self) -> None:
        """Do nothing."""


def fit(
    key: PRNGKeyArray,
    problem: Problem,
    trainer_of: Callable[..., Any],
    training: SbiTraining,
    invalid: InvalidPolicy,
    posterior_of: Callable[[Any, Problem, Info], SbiPosterior],
    *,
    rounds: int = 1,
    corrected: bool = False,
) -> Any:
    """Spend the budget in rounds and let a trainer of sbi learn after each.

    Parameters
    ----------
    trainer_of
        Makes the trainer of `prior`, `tracker` and `show_progress_bars`.
    posterior_of
        Makes of the toolbox's posterior one of ours.
    corrected
        Whether the trainer corrects for the proposal of a round, and so has to know it.

    Raises
    ------
    UsageError
        If the budget is smaller than 20 simulations a round, or torch has no such prior.
    InvalidSimulationsError
        By the policy `invalid`.
    SamplingError
        If the toolbox can't draw the parameters of a round.
    """
    check_rounds(rounds)
    trainer = trainer_of(
        prior=torch_prior(problem.prior), tracker=_NoTracker(), show_progress_bars=False
    )

    def watched(batch: Any) -> Any:
        problem.deadline.check("training")
        return default_collate(batch)

    def learn(key: PRNGKeyArray, data: Data, previous: SbiPosterior | None) -> SbiPosterior:
        number = int(data.rounds[-1])
        new = data.rounds == number
        info: Info = {}
        origin: dict[str, Any] = {"from_round": number}
        if corrected:
            origin = {"proposal": previous.native if previous else None}
        with guest(key, info) as seed, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            trainer.append_simulations(tensor(data.thetas[new]), tensor(data.xs[new]), **origin)
            try:
                trainer.train(**asdict(training), dataloader_kwargs={"collate_fn": watched})
            except DeadlineError:
                info["stopped"] = "deadline"
            native = trainer.build_posterior().set_default_x(tensor(problem.x_obs)[None])
        info["epochs"] = int(trainer.epoch)
        note_constant(info, data.xs)
        return posterior_of(native, problem, info)

    return run_rounds(key, problem, rounds, learn, invalid, LEAST)
