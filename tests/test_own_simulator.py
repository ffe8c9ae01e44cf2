"""Simulators in NumPy: what is needed for a task, what they may return, and what is found out."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as st

import sbibench as sb
from sbibench.core import priors
from sbibench.core.deadline import Deadline
from sbibench.core.errors import DeadlineError, NoneSucceededError, SimulationError, UsageError
from sbibench.core.probe import ProbeWarning
from sbibench.core.simulator import Simulator
from sbibench.core.task_fields import names

BOX = dist.Uniform(-2 * np.ones(2), 2 * np.ones(2)).to_event(1)


def gaussian(rng, thetas):
    return thetas + 0.3 * rng.normal(size=thetas.shape)


def task(simulate_batch=gaussian, prior=BOX, x_obs=(0.5, -0.2), **more):
    return sb.Task(
        name="mine", prior=prior, simulate_batch=simulate_batch, x_obs=np.array(x_obs), **more
    )


def data(mine, key, n):
    """Return n simulations of parameters from the prior."""
    thetas = priors.rows(mine.prior).sample(key, n)
    return mine.problem(1, n).simulator(key, thetas)


def test_a_prior_a_simulator_and_an_observation_are_enough(key):
    mine = task()
    assert (mine.d, mine.p, mine.label) == (2, 2, "mine")
    assert mine.parameter_names == ("theta_1", "theta_2")
    assert mine.data_names == ("x_1", "x_2")
    np.testing.assert_array_equal(mine.observation(1), [0.5, -0.2])
    with pytest.raises(UsageError, match="true parameters are unknown"):
        mine.true_parameters(1)
    np.testing.assert_allclose(mine.true_parameters(2), mine.observation(2), atol=1.5)
    posterior = sb.get_algorithm("rej_abc").fit(key, mine.problem(1, 2500))
    np.testing.assert_allclose(posterior.sample(key, 500).mean(0), [0.5, -0.2], atol=0.3)


def test_a_thousand_equal_parameters_are_a_thousand_single_calls(key):
    mine = task()
    together = mine.problem(1, 1000).simulator(key, np.zeros((1000, 2))).xs
    simulator = mine.problem(1, 1000).simulator
    alone = np.concatenate(
        [simulator(jax.random.fold_in(key, i), np.zeros((1, 2))).xs for i in range(1000)]
    )
    assert len(np.unique(together)) == 2000
    for column in range(2):
        assert st.ks_2samp(together[:, column], alone[:, column]).pvalue > 1e-3
        assert abs(st.pearsonr(together[:-1, column], together[1:, column])[0]) < 0.12
    assert abs(np.corrcoef(together.T)[0, 1]) < 0.12


def test_blocks_have_noise_of_their_own_and_the_key_decides(key):
    thetas = np.zeros((2300, 2))
    xs = task().forward(key, thetas)
    assert len(np.unique(xs)) == 4600
    np.testing.assert_array_equal(task().forward(key, thetas), xs)
    assert (task().forward(jax.random.key(1), thetas) != xs).all()


def test_the_function_gets_float64_blocks_of_a_thousand_at_most(key):
    seen = []

    def simulate(rng, thetas):
        assert isinstance(thetas, np.ndarray)
        assert thetas.dtype == np.float64
        seen.append(len(thetas))
        return gaussian(rng, thetas)

    mine = task(simulate)
    mine.problem(1, 2300)  # nothing runs before it has to
    assert not seen
    data(mine, key, 2300)
    data(mine, key, 10)
    assert seen[-4:] == [1000, 1000, 300, 10]
    assert sum(seen[:-4]) <= 40  # the probe, once


def test_the_probe_does_not_count(key):
    problem = task().problem(1, 50)
    problem.simulator(key, np.zeros((50, 2)))
    assert (problem.simulator.calls, problem.simulator.left) == (50, 0)


def test_a_deadline_is_looked_at_between_blocks(key):
    simulator = Simulator(task().forward, (2, 2), 5000, Deadline(0.0))
    with pytest.raises(DeadlineError, match="1000 of 5000"):
        simulator(key, np.zeros((5000, 2)))


class Tensor:
    """What converts to an array, as a tensor does."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


@pytest.mark.parametrize(
    "as_theirs",
    [
        lambda x: x.tolist(),
        lambda x: x.astype(np.float32),
        Tensor,
        lambda x: x.astype(object),
        jax.numpy.asarray,
        lambda x: [tuple(row) for row in x],
    ],
)
def test_what_is_clearly_meant_is_taken(key, as_theirs):
    theirs = task(lambda rng, thetas: as_theirs(gaussian(rng, thetas)))
    np.testing.assert_allclose(data(theirs, key, 20).xs, data(task(), key, 20).xs, rtol=1e-6)


def test_integers_and_one_value_without_its_axis(key):
    prior = st.gamma(2.0)
    counts = task(lambda rng, t: rng.poisson(t[:, 0] * 20), prior, x_obs=[30])
    got = data(counts, key, 1500)
    assert got.thetas.shape == got.xs.shape == (1500, 1)
    assert np.corrcoef(got.thetas[:, 0], got.xs[:, 0])[0, 1] > 0.9
    assert data(task(lambda rng, t: rng.poisson(t * 20), prior, x_obs=30), key, 3).xs.shape == (
        3,
        1,
    )


OUTPUTS = {
    "vector": (lambda rng, t: rng.normal(size=len(t)), "one data value, x_obs has 2"),
    "swapped": (lambda rng, t: gaussian(rng, t).T, "axes are swapped; return xs.T"),
    "longer": (lambda rng, t: rng.normal(size=(len(t), 3)), "3 data values, x_obs has 2"),
    "deeper": (lambda rng, t: gaussian(rng, t)[:, :, None], r"xs.reshape\(len\(thetas\), -1\)"),
    "one row": (lambda rng, t: gaussian(rng, t)[:1], "rowwise"),
    "text": (lambda rng, t: gaussian(rng, t).astype(str), "real numbers"),
    "complex": (lambda rng, t: gaussian(rng, t) + 1j, "real numbers"),
    "nothing": (lambda rng, t: None, "is None"),
    "ragged": (lambda rng, t: [[1.0], [1.0, 2.0]], "array of numbers"),
    "squeezed": (lambda rng, t: gaussian(rng, t).squeeze(), "no squeeze"),
    "raises": (lambda rng, t: 1 / 0, "failed on an array of 4 parameters.*division by zero"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_other_outputs_are_refused_with_the_mend(key, name):
    simulate, message = OUTPUTS[name]
    with pytest.raises(UsageError, match=message):
        data(task(simulate), key, 100)


def unbatched(rng, theta):
    return np.array([theta[0] + rng.normal(), theta[1] * rng.normal()])


def unpacks(rng, theta):
    a, b = theta
    return [a + rng.normal(), b * rng.normal()]


MIXED = {
    "shared": (lambda rng, t: t + rng.normal(size=2), "noise that all rows share"),
    "shared in one column": (
        lambda rng, t: np.stack([t[:, 0] + rng.normal(size=len(t)), t[:, 1] + rng.normal()], 1),
        "all rows share .data column 1",
    ),
    "scaled": (
        lambda rng, t: t + rng.normal(size=2) * np.arange(1, len(t) + 1)[:, None],
        "noise that all rows share",
    ),
    "shared switch": (lambda rng, t: t * 0 + rng.integers(1000), "noise that all rows share"),
    "unbatched": (unbatched, "rowwise"),
    "unpacks": (unpacks, "rowwise"),
    "normalised": (lambda rng, t: gaussian(rng, t) / t.sum(), "mixes its rows"),
    "centred": (lambda rng, t: gaussian(rng, t - t.mean(0)), "mixes its rows"),
    "first of all": (lambda rng, t: gaussian(rng, t) + t[-1], "mixes its rows"),
}


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_are_not_apart_are_found_before_the_budget_is_spent(key, name):
    simulate, message = MIXED[name]
    problem = task(simulate).problem(1, 1000)
    with pytest.raises(UsageError, match=message):
        problem.simulator(key, np.ones((1000, 2)))
    assert problem.simulator.calls == 0


def rejection(rng, thetas):
    """A sampler that takes from the generator as much as it needs."""
    return np.stack([rng.poisson(np.exp(t), size=(rng.poisson(20), 2)).sum(0) for t in thetas])


GOOD = {
    "gaussian": gaussian,
    "rejection": rejection,
    "switches": lambda rng, t: (rng.random(t.shape) < 0.03).astype(float) + 0 * t,
    "one noise a row": lambda rng, t: t + rng.normal(size=(len(t), 1)),
    "spawned": lambda rng, t: np.stack(
        [v + g.normal(size=2) for v, g in zip(t, rng.spawn(len(t)), strict=True)]
    ),
    "some NaN": lambda rng, t: np.where(rng.random((len(t), 1)) < 0.3, np.nan, gaussian(rng, t)),
}


@pytest.mark.filterwarnings("ignore::sbibench.core.probe.ProbeWarning")
@pytest.mark.parametrize("name", GOOD)
def test_sound_simulators_pass(key, name):
    assert data(task(GOOD[name]), key, 50).xs.shape == (50, 2)


def test_many_columns_of_switches_are_not_taken_for_shared_noise(key):
    def simulate(rng, thetas):
        return rng.random((len(thetas), 3000)) < 0.5 + 0.1 * thetas[:, :1]

    assert data(task(simulate, x_obs=np.zeros(3000)), key, 5).xs.shape == (5, 3000)


def modifies(rng, thetas):
    thetas += 0.3 * rng.normal(size=thetas.shape)
    return thetas


WARNED = {
    "modifies": (modifies, "thetas.copy"),
    "deterministic": (lambda rng, t: t**2, "without noise"),
    "constant": (lambda rng, t: gaussian(rng, t) * [1, 0], r"columns \[1\].*x_obs has another"),
    "own randomness": (lambda rng, t: gaussian(np.random.default_rng(), t), "randomness from rng"),
    "never finite": (lambda rng, t: t * np.nan, "none of .* finite"),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_may_be_meant_is_warned_of(key, name):
    simulate, message = WARNED[name]
    with pytest.warns(ProbeWarning, match=message):
        simulations = data(task(simulate), key, 10)
    assert len(simulations.thetas) == 10


RNG = np.random.default_rng(0)
NO_JAX = {
    "asks for numbers": lambda key, theta: np.array([float(theta[0]), 1.0]),
    "branches": lambda key, theta: theta if theta[0] > 0 else -theta,
    "takes the key for a generator": lambda rng, theta: theta + rng.normal(size=2),
    "has no key": lambda theta: theta,
}
OWN_NOISE = {
    "global": lambda key, theta: theta + 0.3 * np.random.normal(size=2),  # noqa: NPY002
    "a number": lambda key, theta: theta * RNG.normal(),
    "in a loop": lambda key, theta: jax.lax.fori_loop(0, 3, lambda i, t: t + RNG.random(2), theta),
}


@pytest.mark.parametrize("name", NO_JAX)
def test_what_is_no_jax_is_refused_with_the_line(key, name):
    mine = sb.Task(name="mine", prior=BOX, simulate=NO_JAX[name], x_obs=np.zeros(2))
    where = "a library" if name == "has no key" else r"\S*test_own_simulator.py:\d+"
    with pytest.raises(UsageError, match=rf"no JAX function: \w+ in {where}: .*rowwise") as caught:
        data(mine, key, 5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", OWN_NOISE)
def test_noise_that_would_be_drawn_once_for_all_is_refused(key, name):
    mine = sb.Task(name="mine", prior=BOX, simulate=OWN_NOISE[name], x_obs=np.zeros(2))
    with pytest.raises(UsageError, match="random numbers of its own"):
        data(mine, key, 5)


def test_a_jax_function_without_noise_or_with_constants_is_none_of_these(key):
    matrix = np.random.default_rng(0).normal(size=(2, 2))

    def simulate(key, theta):
        return jnp.where(theta > 0, matrix @ theta, jnp.nan)

    mine = sb.Task(name="mine", prior=BOX, simulate=simulate, x_obs=np.zeros(2))
    assert data(mine, key, 5).xs.shape == (5, 2)


@pytest.mark.parametrize(("d", "p"), [(1, 1), (4, 5), (5, 4), (4, 4), (6, 1)])
def test_the_probe_suits_all_dimensions(key, d, p):
    mixing = np.ones((d, p))

    def simulate(rng, thetas):
        return thetas @ mixing + rng.normal(size=(len(thetas), p))

    mine = task(simulate, [st.norm()] * d, np.zeros(p))
    assert data(mine, key, 30).xs.shape == (30, p)
    one = task(lambda rng, t: t @ mixing + rng.normal(size=p), [st.norm()] * d, np.zeros(p))
    with pytest.raises(UsageError, match="rowwise"):
        data(one, key, 30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x_obs": [0.5, np.nan]}, r"x_obs is not finite at index \[1\]"),
        ({"x_obs": [[0.5, 0.1]]}, "one vector"),
        ({"x_obs": ["a", "b"]}, "real numbers"),
        ({"x_obs": []}, "one vector"),
        ({"observations": np.zeros((1, 2))}, "one of x_obs"),
        ({"simulate": lambda key, theta: theta}, "one of simulate"),
        ({"simulate_batch": None}, "one of simulate"),
        ({"parameter_names": ("a",)}, "over 2 parameters, parameter_names are 1"),
        ({"data_names": ("a",)}, "observations has shape"),
        ({"parameter_names": ("a", "a")}, "parameter_names has 'a' twice"),
        ({"data_names": ("b", "b")}, "data_names has 'b' twice"),
        (
            {"thetas_true": np.zeros((1, 2)), "x_obs": None, "observations": np.zeros((2, 2))},
            "2 observations, but 1",
        ),
    ],
)
def test_tasks_that_can_t_be_are_refused(arguments, message):
    whole = {"simulate_batch": gaussian, "prior": BOX, "x_obs": [0.5, -0.2]} | arguments
    with pytest.raises(UsageError, match=message):
        sb.Task(name="mine", **whole)


def test_a_word_is_no_list_of_names():
    with pytest.raises(UsageError, match="parameter_names is a list of names, not 'ab'"):
        names("mine", "parameter_names", "ab", 2, "theta")


class Apart:
    """A simulator whose rows are apart, and the first of which fail."""

    rows_apart = True

    def __init__(self, failing, how):
        self.failing, self.how, self.asked = failing, how, 0

    def __call__(self, rng, thetas):
        start, self.asked = self.asked, self.asked + len(thetas)
        xs = gaussian(rng, thetas)
        xs[: max(0, self.failing - start)] = np.nan
        if np.isnan(xs).all() and self.how == "refused":
            raise NoneSucceededError("all failed: no root")
        return xs


@pytest.mark.parametrize(("failing", "asked"), [(3, 4), (4, 12), (20, 36)])
@pytest.mark.parametrize("how", ["refused", "nan"])
def test_the_probe_tries_more_rows_where_the_first_fail(key, failing, asked, how):
    simulator = Apart(failing, how)
    task(simulator).forward.probe()
    assert simulator.asked == asked


def test_the_probe_gives_up_where_no_row_succeeds():
    with pytest.raises(NoneSucceededError, match="no root"):
        task(Apart(99, "refused")).forward.probe()
    with pytest.warns(ProbeWarning, match="none of 36 simulations is finite"):
        task(Apart(99, "nan")).forward.probe()


def test_what_is_row_by_row_already_is_not_told_to_be_made_so():
    simulator = sb.simulators.rowwise(lambda rng, theta: 1 / 0)
    with pytest.raises(UsageError, match="failed on one of 4 parameters: ZeroDiv") as caught:
        task(simulator).forward.probe()
    assert "rowwise" not in str(caught.value)


def test_outside_a_box_the_density_is_zero():
    inside, outside = priors.rows(task().prior).log_prob(np.array([[0.0, 0.0], [0.0, 5.0]]))
    assert inside == pytest.approx(-np.log(16))
    assert outside == -np.inf


@pytest.mark.parametrize("thetas", [[[0, 1], [1, 0]], np.array([[0, 1], [1, 0]])])
def test_parameters_may_be_lists_and_integers(key, thetas):
    exact = task().problem(1, 10).simulator(key, np.array(thetas, np.float64))
    given = task().problem(1, 10).simulator(key, thetas)
    np.testing.assert_array_equal(given.xs, exact.xs)


def test_a_simulator_that_raises_later_is_told_in_one_line_with_the_mend(key):
    def late(rng, thetas):
        if (thetas[:, 1] > 1.9).any():
            raise ValueError("too big")
        return thetas + 0.3 * rng.normal(size=thetas.shape)

    prior = dist.Uniform(-2 * np.ones(2), 2 * np.ones(2)).to_event(1)
    task = sb.Task(name="late", prior=prior, simulate_batch=late, x_obs=np.zeros(2))
    simulator = task.problem(1, 1000).simulator
    simulator(key, np.zeros((10, 2)))
    wanted = r"1 parameters: ValueError: too big \(.*test_own_simulator.py:\d+\).*parallel"
    with pytest.raises(SimulationError, match=wanted) as caught:
        simulator(key, np.full((1, 2), 1.95))
    assert "\n" not in str(caught.value)
