"""What every task owes that has a likelihood."""

import jax
import numpy as np
import scipy.special

from sbibench.contract.points import Contract, demand
from sbibench.contract.tasks import KEY, Model

STEPS = (1e-3, 1e-2, 0.1, 0.3)
"""Where the other parameters are, as a part of the way from the true ones to a prior draw."""

MORE_STEPS = (1.0, 3.0, 1e-4, 1e-5)
"""Where those were all too near, or too far."""

CONTRACT = Contract()


@CONTRACT.owes(
    "return -inf where x is impossible, never NaN; a jnp.where whose branch that is not taken is "
    "NaN has a NaN gradient: give that branch a harmless argument"
)
def likelihood_and_gradient_are_finite_or_the_value_is_minus_infinity(model: Model) -> None:
    """At the truth and all over the prior."""
    task, function = model.task, model.value_and_gradient
    for i in range(1, min(2, len(task.observations)) + 1):
        thetas = np.concatenate([model.likely(i)[None], model.thetas])
        values, gradients = function(thetas, task.observation(i))
        demand(np.isfinite(values[0]), f"it is {values[0]} at the parameters of observation {i}")
        demand(not np.isnan(values).any(), f"it is NaN for observation {i}")
        demand((values < np.inf).all(), f"it is infinite for observation {i}")
        demand(np.isfinite(gradients).all(), f"its gradient is not finite for observation {i}")


@CONTRACT.owes("let the likelihood be differentiable: no rounding, no stop_gradient")
def the_gradient_is_the_slope(model: Model) -> None:
    """To a hundredth."""
    task, function = model.task, model.value_and_gradient
    theta, x = model.likely(1), task.observation(1)
    steps = 1e-4 * np.where(theta == 0, 1.0, np.abs(theta))
    points = np.concatenate([theta[None], theta + np.diag(steps), theta - np.diag(steps)])
    values, gradients = function(np.resize(points, (101, task.d)), x)
    values, d = np.asarray(values), task.d
    slope = (values[1 : d + 1] - values[d + 1 : 2 * d + 1]) / (2 * steps)
    same = np.allclose(gradients[0], slope, rtol=1e-2, atol=1e-3 * np.abs(slope).max())
    demand(same, f"the gradient is {np.asarray(gradients[0])}, the slope {slope}")


MEND = (
    "the simulator and the likelihood are of two different models: look for a variance in place of "
    "a deviation, a factor that depends on θ left out, a scale applied in one of them alone"
)


@CONTRACT.owes(MEND)
def the_likelihood_is_that_of_the_simulator(model: Model) -> None:
    """At the first observation."""
    _guesses_are_calibrated(model, 1)


@CONTRACT.owes(MEND)
def the_likelihood_is_that_of_the_simulator_elsewhere(model: Model) -> None:
    """At the fourth observation."""
    _guesses_are_calibrated(model, 4)


def _guesses_are_calibrated(model: Model, observation: int) -> None:
    """Examine whether, told by its likelihoods, which of two parameters made x is a fair guess.

    With label ~ Bernoulli(1/2) and x ~ p(x | θ_label), P(label | x) = sigmoid(difference of log
    likelihoods), so (label - P) has mean 0, times any function of x too. This holds for every
    support, for counts and for what leaves out a factor of x alone.
    """
    function = model.likelihood_of_many
    n, centre = 2000, model.task.true_parameters(observation)
    u = model.prior.from_support(np.stack([centre, model.thetas[observation]]))
    informative = 0
    for step in (*STEPS, *MORE_STEPS):
        if informative and step in MORE_STEPS:
            break
        other = model.prior.to_support((u[0] + step * (u[1] - u[0]))[None])[0]
        key_0, key_1 = jax.random.split(jax.random.fold_in(KEY, int(1000 * step)))
        xs = np.concatenate([model.repeat(key_0, centre, n), model.repeat(key_1, other, n)])
        labels = np.repeat([0.0, 1.0], n)
        guess = scipy.special.expit(np.asarray(function(other, xs) - function(centre, xs)))
        residual = labels - guess
        if not 0.02 < np.abs(residual).mean() < 0.495:  # certain, or no better than a coin
            bias = np.abs(residual.mean())
            demand(bias < 0.02, f"a guess of which θ made x is wrong by {bias:.3f} on average")
            continue
        informative += 1
        for weight in (np.ones(2 * n), 2 * guess - 1):
            weighted = (residual * weight).reshape(2, n)
            error = np.sqrt((weighted.var(1) / n).sum()) / 2
            off = np.abs(weighted.mean()) / error
            demand(off < 4.5, f"a guess of which θ made x is off by {off:.1f} standard errors")
    demand(informative, "no pair of parameters could be told apart by chance alone")
