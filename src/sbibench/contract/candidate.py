"""An algorithm that is examined, and what is known of those that are special."""

import dataclasses
from typing import Any

import jax

from sbibench.contract.points import not_for
from sbibench.contract.toy import TOY
from sbibench.core import registry, settings
from sbibench.core.posterior import check_posterior
from sbibench.core.problem import Problem
from sbibench.core.task import Task

BUDGET = 600
BUDGETS = {"rf_abc": 2000, "pyabcranger_rf": 2000, "sl": 600_000}
"""Of those that need more: whose samples are few simulations, or that estimate a covariance."""

TRAINED = {"training_batch_size": 50, "learning_rate": 5e-3, "max_num_epochs": 20}
CHAINS = TRAINED | {"num_chains": 100, "warmup_steps": 10}
DRAWN = TRAINED | {"max_sampling_seconds": 10}
QUICK: dict[str, dict[str, Any]] = {
    "sbi_npe": {"density_estimator": "mdn"} | DRAWN,
    "sbi_snpe": {"density_estimator": "mdn"} | DRAWN,
    "sbi_nle": {"density_estimator": "mdn"} | CHAINS,
    "sbi_snle": {"density_estimator": "mdn"} | CHAINS,
    "sbi_nre": {"classifier": "mlp"} | CHAINS,
    "sbi_snre": {"classifier": "mlp"} | CHAINS,
    "sbi_fmpe": DRAWN,
    "elfi_bolfi": {"max_evidence": 60, "n_chains": 4, "warmup": 100},
    "bayesflow_npe": {"depth": 2, "epochs": 50, "initial_learning_rate": 5e-3},
    "sbi_npse": TRAINED | {"max_num_epochs": 80, "max_sampling_seconds": 60},
}
"""Settings under which a fit takes seconds, of those whose default takes minutes."""

BASELINES = {"prior", "reference"}
"""One learns nothing, the other is told."""

STEPWISE = {"sl"}
"""Has no set of simulations in which a column could be constant, but one at each step."""

KEY = jax.random.key(20261130)


class Candidate:
    """An algorithm with its default settings, and what it makes of the toy problem.

    Parameters
    ----------
    name
        Its name or address.
    budget
        The simulations of a fit; more where it can do nothing with the default.
    """

    def __init__(self, name: str, budget: int | None = None) -> None:
        self.name = name
        self.cls = registry.ALGORITHMS.get(name)
        self.budget = budget or BUDGETS.get(name, BUDGET)
        self.ours = self.cls.__module__ == f"{registry.ALGORITHMS.folder}.{name}"
        self._fitted: tuple[Problem, Any] | None = None
        self._failed = False

    @property
    def settings(self) -> Any:
        """The default, but quick, and of several rounds two."""
        quick = QUICK.get(self.name)
        made = settings.build(self.cls, quick, self.name) if quick else self.cls()
        return dataclasses.replace(made, rounds=2) if hasattr(made, "rounds") else made

    def fit(self, task: Task, key: jax.Array = KEY) -> Any:
        """Return the posterior of a task's first observation."""
        self.fits()
        return self._posterior(task.problem(1, self.budget), key)

    @property
    def fitted(self) -> tuple[Problem, Any]:
        """The toy problem and its posterior; what gives none says so once."""
        self.fits()
        if self._fitted is None:
            self._failed = True
            problem = TOY.problem(1, self.budget)
            self._fitted = problem, self._posterior(problem, jax.random.key(0))
            self._failed = False
        return self._fitted

    def _posterior(self, problem: Problem, key: jax.Array) -> Any:
        posterior = self.settings.fit(key, problem)
        check_posterior(posterior)
        return posterior

    def fits(self) -> None:
        """Leave points that need a posterior, once `fit` has given none for the toy problem."""
        if self._failed:
            not_for("fit gave no posterior, see above")

    def infers(self) -> None:
        """Leave points that are about inference."""
        self.fits()
        if self.name in BASELINES:
            not_for("a baseline infers nothing from simulations")
