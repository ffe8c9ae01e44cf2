"""What every task owes: shapes, rows that are independent, a prior, observations."""

import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import TypeCheckError

from sbibench.contract.compilations import demand_none
from sbibench.contract.points import Contract, demand, not_for, refusal
from sbibench.core import priors, registry
from sbibench.core.blocks import map_rows
from sbibench.core.errors import UsageError
from sbibench.core.simulator import Simulator
from sbibench.core.task import Task

KEY = jax.random.key(20)


class Model:
    """A task that is examined.

    Parameters
    ----------
    name
        Its name or address.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.task: Task = registry.TASKS.get(name)
        self.registered = name in registry.TASKS.names()
        self.thetas = self.prior.sample(KEY, 100).astype(np.float64)

    @property
    def prior(self) -> priors.Rows:
        """The prior's functions of many rows."""
        return priors.rows(self.task.prior)

    @property
    def simulates(self) -> bool:
        """Whether there is a simulator, not only simulations that were made before."""
        return self.task.forward.pairs is None

    @property
    def simulator(self) -> Simulator:
        """A fresh simulator with a large budget."""
        if not self.simulates:
            not_for("it has stored simulations in place of a simulator")
        return self.task.problem(1, 10**6).simulator

    @property
    def simulate(self) -> Any:
        """The simulator of one θ in JAX, if it has one."""
        simulate = getattr(self.task, "simulate", None)
        if simulate is None:
            not_for("its simulator is not JAX: there is no `simulate` for one θ")
        return simulate

    @property
    def log_likelihood(self) -> Any:
        """The log likelihood of one θ and x, if it has one."""
        if self.task.log_likelihood is None:
            not_for("it has no likelihood")
        return self.task.log_likelihood

    def likely(self, observation: int) -> np.ndarray:
        """Return the true parameters θ [d] of an observation, or the likeliest prior draw."""
        if len(self.task.thetas_true) >= observation:
            return self.task.true_parameters(observation)
        values, _ = self.value_and_gradient(self.thetas, self.task.observation(observation))
        return np.asarray(self.thetas[np.nanargmax(values)])

    @functools.cached_property
    def value_and_gradient(self) -> Any:
        """(θ [n, d], x [p]) -> log likelihoods [n] and their gradients [n, d]."""
        one = jax.value_and_grad(self.log_likelihood)
        return jax.jit(jax.vmap(one, in_axes=(0, None)))

    @functools.cached_property
    def likelihood_of_many(self) -> Any:
        """(θ [d], xs [n, p]) -> log likelihoods of all xs at one θ."""
        return jax.jit(jax.vmap(self.log_likelihood, in_axes=(None, 0)))

    def repeat(self, key: jax.Array, theta: np.ndarray, n: int) -> np.ndarray:
        """Return n draws of x [n, p] at one θ [d], in float64."""
        if not self.simulates:
            not_for("it has stored simulations in place of a simulator")
        thetas = np.tile(theta, (n, 1))
        return self.task.forward(key, thetas)


CONTRACT = Contract()


@CONTRACT.owes("give the task a label and a citation, and each parameter and data value a name")
def texts_are_there(model: Model) -> None:
    """And names are different."""
    task = model.task
    if model.registered:
        demand(task.name == model.name, f"{model.name} calls itself {task.name}")
    for what in ("label", "citation") if model.registered else ("label",):
        demand(getattr(task, what), f"{what} is empty")
    for what, names, n in (
        ("parameter", task.parameter_names, task.d), ("data", task.data_names, task.p)
    ):  # fmt: skip
        demand(len(set(names)) == n, f"two {what} names are the same")
    d = int(task.prior.event_shape[0])
    demand(task.d == d, f"{task.d} parameters have names, the prior has {d}")


@CONTRACT.owes(
    "return x [p] for one θ [d] (`simulate_batch`: one row for each row of θ), with noise of its "
    "own in every row"
)
def simulations_have_shape_and_type_and_differ(model: Model) -> None:
    """Of draws of the prior."""
    task, thetas = model.task, model.thetas
    demand(thetas.shape == (100, task.d), f"draws of the prior have shape {thetas.shape}")
    demand(model.prior.inside(thetas).all(), "draws of the prior lie outside its support")
    result = model.simulator(KEY, thetas)
    demand(result.xs.shape == (100, task.p), f"data have shape {result.xs.shape}")
    demand(result.xs.dtype == np.float32, f"data are {result.xs.dtype}")
    # Data of somebody's own model may be a few counts.
    different, least = len(np.unique(result.xs, axis=0)), 90 if model.registered else 1
    demand(different > least, f"100 simulations from the prior gave {different} different x")


@CONTRACT.owes("draw noise for each row by itself, not once for the whole batch")
def the_same_parameters_give_other_data_in_every_row(model: Model) -> None:
    """Simulate one θ a thousand times."""
    xs = model.repeat(KEY, model.thetas[0], 1000)
    demand(len(np.unique(xs, axis=0)) > 1, "1000 simulations of one θ are all the same")


@CONTRACT.owes("mend the simulator where it returns NaN or infinite values")
def simulations_from_the_prior_are_finite(model: Model) -> None:
    """All of them; a task of one's own may have some that are not, if it is meant so."""
    bad = int((~model.simulator(KEY, model.thetas).valid).sum())
    if 0 < bad < 100 and not model.registered:
        not_for(f"{bad} of 100 are not: algorithms drop or refuse them, by their setting `invalid`")
    demand(not bad, f"{bad} of 100 simulations are not finite")


@CONTRACT.owes("use the key alone for randomness and θ alone for the rest; no NumPy generator")
def a_batch_is_its_single_calls(model: Model) -> None:
    """In float64."""
    thetas = model.thetas
    batch = map_rows(model.simulate, thetas, key=KEY)
    demand(batch.dtype == np.float64, f"data are {batch.dtype} before they are rounded")
    single = jax.jit(model.simulate)
    for i in (0, 1, 99):
        x = single(jax.random.fold_in(KEY, i), thetas[i])
        same = np.allclose(batch[i], x, rtol=1e-9, atol=1e-9, equal_nan=True)
        demand(same, f"row {i} of a batch is another than the single call gives")


@CONTRACT.owes("draw the noise from the key, or the generator, that the simulator is given")
def same_key_same_result_and_another_key_another(model: Model) -> None:
    """Simulate twice with one key, once with another."""
    thetas = model.thetas
    first = model.simulator(KEY, thetas).xs
    again = model.simulator(KEY, thetas).xs
    demand(np.array_equal(first, again, equal_nan=True), "the same key gave other data")
    other = model.simulator(jax.random.key(21), thetas).xs
    demand(not np.array_equal(first, other, equal_nan=True), "another key gave the same data")


@CONTRACT.owes("pass the same function object always, not a new lambda for each problem")
def no_second_compilation(model: Model) -> None:
    """Whatever the number of rows."""
    thetas = np.tile(model.thetas, (11, 1))
    model.simulator(KEY, thetas[:5])
    demand_none(lambda: model.simulator(jax.random.key(3), thetas), "1100 rows after 5")


@CONTRACT.owes("take a prior whose support numpyro has a bijection for, with a density in it")
def the_prior_goes_to_the_whole_space_and_back(model: Model) -> None:
    """By numpyro's bijection."""
    rows, thetas = model.prior, model.thetas
    us = rows.from_support(thetas)
    demand(np.isfinite(us).all(), "draws of the prior have no finite image in R^d")
    back = np.allclose(rows.to_support(us), thetas, rtol=1e-5, atol=1e-5)
    demand(back, "draws of the prior do not come back")
    demand(
        np.isfinite(rows.log_prob(thetas)).all(), "the prior's density at its draws is no number"
    )


@CONTRACT.owes("let some simulation from the prior be finite, and be determined by its key")
def observations_beyond_the_canonical_ones_are_simulated_the_same_everywhere(model: Model) -> None:
    """Take the number as the seed."""
    if not model.simulates:
        not_for("it has stored simulations in place of a simulator")
    task, m = model.task, max(10, len(model.task.observations))
    xs = [task.observation(i) for i in (m + 1, m + 2, 2**31 - 1)]
    for i, x in zip((m + 1, m + 2), xs, strict=False):
        demand(x.shape == (task.p,), f"observation {i} has shape {x.shape}")
        demand(x.dtype == np.float64, f"observation {i} is {x.dtype}")
        demand(np.isfinite(x).all(), f"observation {i} is not finite")
        demand(np.array_equal(x, task.observation(i)), f"observation {i} is another each time")
        demand(np.array_equal(x, x.astype(np.float32)), f"observation {i} is no float32 number")
        theta = task.true_parameters(i)
        demand(model.prior.inside(theta[None]).all(), f"θ {i} lies outside the prior's support")
        if task.log_likelihood is not None:
            value = jax.jit(task.log_likelihood)(theta, x)
            demand(np.isfinite(value), f"the log likelihood of observation {i} is {value}")
    demand(not np.array_equal(xs[0], xs[1]), "two observations are the same")


@CONTRACT.owes("give observations [m, p] that are finite, and θ [m, d] inside the prior's support")
def observations_count_from_one(model: Model) -> None:
    """Ten of them, and no others than whole numbers from 1."""
    task = model.task
    known = len(task.observations)
    for i in range(1, max(known, 10) + 1 if model.simulates else known + 1):
        x = task.observation(i)
        demand(x.shape == (task.p,), f"observation {i} has shape {x.shape}")
        demand(np.isfinite(x).all(), f"observation {i} is not finite")
        if i <= known and not len(task.thetas_true):
            continue
        theta = task.true_parameters(i)
        demand(theta.shape == (task.d,), f"the parameters of observation {i} are {theta.shape}")
        inside = model.prior.inside(theta[None]).all()
        demand(inside, f"the parameters of observation {i} lie outside the prior's support")
    first = np.array_equal(task.observation(1), task.observations[0])
    demand(first, "observation 1 is not the first row of `observations`")
    for wrong in (0, 2**31, -1, 1.0, True):
        for function in (task.observation, task.true_parameters):
            refusal((UsageError, TypeCheckError), function, wrong)
