"""What every algorithm owes on an easy problem: shapes, budget, truth, reproducibility."""

import dataclasses

import jax
import numpy as np

from sbibench.contract.candidate import BASELINES, KEY, Candidate
from sbibench.contract.compilations import demand_none
from sbibench.contract.points import Contract, demand, not_for, refusal
from sbibench.contract.toy import TOY
from sbibench.contract.toy import posterior as true_posterior
from sbibench.core.errors import UsageError
from sbibench.metrics.c2st import c2st

CONTRACT = Contract()


@CONTRACT.owes("decorate the class with @dataclass(frozen=True); settings are hashable values")
def settings_are_a_frozen_dataclass(candidate: Candidate) -> None:
    """Look at the class alone."""
    made = candidate.settings
    demand(dataclasses.is_dataclass(made), "it is no dataclass")
    demand(candidate.cls.__dataclass_params__.frozen, "the dataclass is not frozen")
    demand(made == candidate.settings, "two instances with the same settings are not equal")


@CONTRACT.owes(
    "fit(key, problem) returns an object with sample(key, n, x=None) -> float32 [n, d], "
    "`amortized` and a dictionary `info`; simulate by problem.simulator, which counts; "
    "--budget gives it more simulations"
)
def samples_have_shape_and_type_and_the_budget_is_kept(candidate: Candidate) -> None:
    """Fit the toy problem and draw."""
    problem, posterior = candidate.fitted
    samples = posterior.sample(KEY, 1234)
    demand(samples.shape == (1234, 2), f"samples have shape {samples.shape}, not (1234, 2)")
    demand(samples.dtype == np.float32, f"samples are {samples.dtype}, not float32")
    demand(np.isfinite(samples).all(), "samples are not all finite")
    calls = problem.simulator.calls
    demand(calls <= candidate.budget, f"{calls} simulations, {candidate.budget} were allowed")
    none = candidate.name in BASELINES
    demand((calls == 0) == none, f"{calls} simulations were counted")


@CONTRACT.owes(
    "does it use x_obs, and are samples in the units of the parameters? --budget gives it more "
    "simulations, if it needs them"
)
def the_posterior_is_better_than_the_prior(candidate: Candidate) -> None:
    """C2ST to the truth is lower by 0.05 at least."""
    if candidate.name == "prior":
        not_for("it is the prior")
    _, posterior = candidate.fitted
    truth = true_posterior(jax.random.key(1), TOY.observation(1), 2000)
    prior = np.asarray(jax.random.normal(KEY, (2000, 2)))
    ours = float(c2st(KEY, posterior.sample(KEY, 2000), truth))
    baseline = float(c2st(KEY, prior, truth))
    demand(ours < baseline - 0.05, f"c2st is {ours:.3f}, that of the prior {baseline:.3f}")


@CONTRACT.owes("normalise log_prob on the prior's support, or leave it out if there is no density")
def density_agrees_with_samples(candidate: Candidate) -> None:
    """Integrate it, and its mean, on a grid."""
    _, posterior = candidate.fitted
    if not hasattr(posterior, "log_prob"):
        not_for("this posterior has no density")
    samples = posterior.sample(KEY, 4000)
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 200)] * 2), -1).reshape(-1, 2)
    density = np.exp(posterior.log_prob(grid))
    cell = (8 / 199) ** 2
    total = density.sum() * cell
    demand(np.allclose(total, 1.0, rtol=1e-7, atol=0.02), f"it integrates to {total:.3f}")
    mean = (density[:, None] * grid).sum(0) * cell
    demand(
        np.allclose(samples.mean(0), mean, rtol=1e-7, atol=5 * samples.std() / np.sqrt(4000)),
        f"its mean is {mean.round(3)}, that of samples {samples.mean(0).round(3)}",
    )


@CONTRACT.owes(
    "draw all that is random from the key (in a function: np.random.default_rng(seed)), nothing "
    "from a global generator or the clock"
)
def same_key_same_samples(candidate: Candidate) -> None:
    """And another key others."""
    _, posterior = candidate.fitted
    drawn = posterior.sample(KEY, 100)
    again = candidate.fit(TOY, jax.random.key(0))
    demand(np.array_equal(again.sample(KEY, 100), drawn), "the same key gave other samples")
    if candidate.name == "prior":
        return  # there is nothing random in its fit
    other = candidate.fit(TOY, jax.random.key(1))
    demand(not np.array_equal(other.sample(KEY, 100), drawn), "another key gave the same samples")


@CONTRACT.owes(
    "make jitted functions once, at module level, and keep the shapes that they see independent "
    "of the budget (core/blocks.py, inference/training.py)"
)
def a_second_fit_compiles_nothing(candidate: Candidate) -> None:
    """Even with another budget and observation."""
    _, posterior = candidate.fitted
    posterior.sample(KEY, 1000)

    def again() -> None:
        problem = TOY.problem(2, candidate.budget - 100)
        candidate.settings.fit(jax.random.key(2), problem).sample(KEY, 1000)

    demand_none(again, "a second fit with 100 simulations less")


@CONTRACT.owes("let the attribute `amortized` of the settings be that of the posterior")
def what_it_says_beforehand_of_amortization_is_so(candidate: Candidate) -> None:
    """Let it also say nothing."""
    said = getattr(candidate.settings, "amortized", True)
    is_so = candidate.fitted[1].amortized
    demand(said == is_so, f"beforehand it is {said}, of the posterior {is_so}")


@CONTRACT.owes("use the x that sample is given, or set `amortized` to False")
def an_amortized_posterior_follows_x(candidate: Candidate) -> None:
    """Compare means at two x."""
    candidate.infers()
    _, posterior = candidate.fitted
    if not posterior.amortized:
        not_for("this posterior is for one observation")
    left, right = (posterior.sample(KEY, 500, x).mean(0) for x in ([-1.0, -1.0], [1.0, 1.0]))
    demand((right > left + 0.5).all(), f"means are {left} at x = (-1, -1), {right} at (1, 1)")


@CONTRACT.owes("call sbibench.core.posterior.check_count(n) first in `sample`")
def no_samples_are_no_request(candidate: Candidate) -> None:
    """Neither 0 nor -1 of them."""
    _, posterior = candidate.fitted
    for n in (0, -1):
        said = refusal(UsageError, posterior.sample, KEY, n)
        demand("1 or more" in said, f"the refusal of n = {n} does not say '1 or more': {said}")
