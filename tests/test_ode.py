"""The batched ODE solver against closed forms and against an independent solver."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from sbibench.core import priors, registry
from sbibench.core.blocks import map_rows
from sbibench.core.ode import InitialValueProblem
from sbibench.tasks import lotka_volterra, sir

LINEAR = InitialValueProblem(
    lambda y, theta: jnp.stack([theta[1] - theta[0] * y[0]]), start=(2.0,), times=(0.0, 0.5, 2.0)
)
EXPLODING = InitialValueProblem(lambda y, theta: theta * y**2, start=(1.0,), times=(0.0, 0.5, 1.0))
MODELS = {"sir": sir, "lotka_volterra": lotka_volterra}
RATES = {
    "sir": lambda _, y, b, c: [-b * np.exp(y[1]), b * np.exp(y[0]) - c],
    "lotka_volterra": lambda _, y, a, b, c, d: [a - b * np.exp(y[1]), -c + d * np.exp(y[0])],
}


def linear(theta, t):
    """The solution of dy/dt = θ2 - θ1 y, y(0) = 2."""
    level = theta[1] / theta[0]
    return level + (2 - level) * jnp.exp(-theta[0] * t)


def independent(name, theta):
    problem = MODELS[name].DYNAMICS
    solution = scipy.integrate.solve_ivp(
        RATES[name],
        (problem.times[0], problem.times[-1]),
        problem.start,
        "DOP853",
        t_eval=problem.times,
        args=tuple(theta),
        rtol=1e-10,
        atol=1e-10,
    )
    assert solution.success
    return solution.y.T


def draws(name, n):
    """Return the corners of the central prior mass 1 - 2e-4, then n draws."""
    prior = registry.TASKS.get(name).prior
    normal = prior.base_dist.base_dist
    z = scipy.stats.norm.ppf(1 - 1e-4)
    signs = np.array(list(itertools.product((-z, z), repeat=prior.event_shape[0])))
    corners = np.exp(np.asarray(normal.loc) + signs * np.asarray(normal.scale))
    return np.concatenate([corners, priors.rows(prior).sample(jax.random.key(5), n)])


def check_accuracy(name, n):
    thetas = draws(name, n)
    solved = map_rows(MODELS[name].DYNAMICS.solve, thetas)
    lowest = np.log(1e-10) if name == "lotka_volterra" else -np.inf  # the model clips there
    for theta, ys in zip(thetas, solved, strict=True):
        expected = independent(name, theta)
        error = np.abs(np.maximum(ys, lowest) - np.maximum(expected, lowest))
        assert error.max() < 1e-4, theta  # of a logarithm: relative


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_an_independent_solver(name):
    check_accuracy(name, 80)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_an_independent_solver_on_many_draws(name):
    check_accuracy(name, 1000)


@pytest.mark.slow
def test_solution_and_derivatives_of_a_closed_form():
    thetas = jnp.array([[0.5, 1.0], [3.0, -1.0], [400.0, 30.0]])  # the last is stiff
    times = jnp.array(LINEAR.times)
    expected = jax.vmap(lambda theta: linear(theta, times))(thetas)
    np.testing.assert_allclose(jax.vmap(LINEAR.solve)(thetas)[..., 0], expected, rtol=1e-5)
    solve = jax.jit(LINEAR.solve)
    alone = np.stack([solve(theta) for theta in thetas])[..., 0]
    np.testing.assert_allclose(alone, expected, rtol=1e-5)

    def last(theta):
        return LINEAR.solve(theta)[2, 0]

    def exact(theta):
        return linear(theta, 2.0)

    smooth = thetas[:2]
    for derivative in (jax.grad, jax.hessian):  # the second is forward over reverse
        found = jax.jit(jax.vmap(derivative(last)))(smooth)
        np.testing.assert_allclose(found, jax.vmap(derivative(exact))(smooth), rtol=1e-4, atol=1e-6)


def test_nested_batches_are_one_batch():
    thetas = jnp.array([[0.5, 1.0], [3.0, -1.0], [1.0, 1.0], [2.0, 0.1]])
    nested = jax.vmap(jax.vmap(LINEAR.solve))(thetas.reshape(2, 2, 2))
    np.testing.assert_allclose(nested.reshape(4, 3, 1), jax.vmap(LINEAR.solve)(thetas))


def test_a_row_does_not_depend_on_its_neighbours():
    thetas = draws("lotka_volterra", 40)
    solve = jax.jit(jax.vmap(lotka_volterra.DYNAMICS.solve))
    together = np.asarray(solve(thetas))
    for i in (0, 15, 30, 50):  # hard and easy rows, each among its own copies
        alone = np.asarray(solve(np.tile(thetas[i], (len(thetas), 1))))
        np.testing.assert_allclose(together[i], alone[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_jacobian_of_models_is_the_slope_of_an_independent_solver(name):
    thetas = draws(name, 3)[-3:]
    jacobians = map_rows(jax.jacfwd(MODELS[name].DYNAMICS.solve), thetas)
    for theta, jacobian in zip(thetas, jacobians, strict=True):
        for j in range(len(theta)):
            step = 1e-4 * theta[j] * np.eye(len(theta))[j]
            up, down = independent(name, theta + step), independent(name, theta - step)
            slope = (up - down) / (2e-4 * theta[j])
            scale = np.abs(slope).max()
            np.testing.assert_allclose(jacobian[..., j], slope, rtol=1e-3, atol=1e-4 * scale)


def test_what_explodes_is_nan_and_its_neighbours_are_right():
    thetas = jnp.array([[0.5], [1.5], [-1.0], [jnp.nan], [40.0]])
    ys = np.asarray(jax.vmap(EXPLODING.solve)(thetas))[..., 0]
    assert np.isnan(ys[[1, 3, 4]]).all()
    for i in (0, 2):  # y = 1 / (1 - θt)
        expected = 1 / (1 - float(thetas[i, 0]) * np.array(EXPLODING.times))
        np.testing.assert_allclose(ys[i], expected, rtol=1e-5)
