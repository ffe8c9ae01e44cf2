"""Initial value problems for many parameters at once: fast where they are easy, right everywhere.

One adaptive solver for a whole batch waits for its slowest row. So every row is first integrated
with fixed steps at two resolutions, which costs little because a batch is one array; the
difference bounds the error. The rows where it is too large, sorted by difficulty, are solved again
in small groups by an adaptive diffrax solver. What a row becomes depends on that row alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float

import sbibench.core.precision  # noqa: F401 - float64 from the first computation on

Field = Callable[[Any, Any], Any]
"""(y [k], θ [d]) -> dy/dt [k]."""

TOLERANCE = 5e-6
"""Rows whose estimated error exceeds this times 1 + |y| go to the adaptive solver."""

STRICT = 1e-7
"""Tolerance per step of the adaptive solver, absolute and relative."""

GROUP = 64
"""Rows that the adaptive solver takes at a time: few pay for each step, many wait for one."""

MAX_STEPS = 2048
"""Steps after which the adaptive solver gives up: the solution is NaN."""


@dataclass(frozen=True)
class InitialValueProblem:
    """dy/dt = field(y, θ) from y = start at times[0], wanted at all times.

    Write the field for one θ. A state that is positive and spans orders of magnitude is best
    given by its logarithm: errors are measured against 1 + |y|.

    Attributes
    ----------
    field
        (y [k], θ [d]) -> dy/dt [k], pure JAX.
    start
        The k initial values.
    times
        The m increasing times at which the solution is wanted, the first being that of `start`.
    steps
        Fixed steps between two times in the finer of the two passes, an even number.
    """

    field: Field
    start: tuple[float, ...]
    times: tuple[float, ...]
    steps: int = 64

    def solve(self, theta: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Return y at all times [m, k]; NaN where there is no finite solution.

        Fast under `jax.vmap`, however nested, and differentiable in θ, forward, reverse and again.
        """
        return _solve(self, theta)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solve(problem: InitialValueProblem, theta: Array) -> Array:
    solution: Array = _many(problem)(theta[None])[0]
    return solution


@_solve.defjvp
def _solve_jvp(
    problem: InitialValueProblem, primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    (theta,), (direction,) = primals, tangents
    k, d = len(problem.start), len(theta)
    both = _solve(_sensitivity(problem, d), theta)
    # No solution has no slope: 0, so that a likelihood of -inf there has a finite gradient.
    slopes = jnp.where(jnp.isfinite(both), both, 0.0)[:, k:].reshape(-1, d, k)
    return both[:, :k], jnp.einsum("mdk,d->mk", slopes, direction)


@lru_cache(maxsize=256)
def _sensitivity(problem: InitialValueProblem, d: int) -> InitialValueProblem:
    """Return the problem whose state is y followed by ∂y/∂θ_1, ..., ∂y/∂θ_d."""
    k = len(problem.start)

    def field(state: Array, theta: Array) -> Array:
        y, slopes = state[:k], state[k:].reshape(d, k)

        def along(slope: Array, unit: Array) -> Array:
            rate: Array = jax.jvp(problem.field, (y, theta), (slope, unit))[1]
            return rate

        rates = jax.vmap(along)(slopes, jnp.eye(d, dtype=theta.dtype))
        return jnp.concatenate([problem.field(y, theta), rates.ravel()])

    start = problem.start + (0.0,) * (d * k)  # the initial values do not depend on θ
    return InitialValueProblem(field, start, problem.times, problem.steps)


@lru_cache(maxsize=256)
def _many(problem: InitialValueProblem) -> Callable[[Array], Array]:
    """Return θ [n, d] -> y [n, m, k], under which every vmap becomes one longer batch."""

    @custom_vmap
    def many(thetas: Array) -> Array:
        return _solve_rows(problem, thetas)

    @many.def_vmap
    def batched(size: int, in_batched: list[bool], thetas: Array) -> tuple[Array, bool]:
        if not in_batched[0]:
            return many(thetas), False
        ys = many(thetas.reshape(-1, thetas.shape[-1]))
        return ys.reshape(size, -1, *ys.shape[1:]), True

    return many


def _solve_rows(problem: InitialValueProblem, thetas: Float[Array, "n d"]) -> Float[Array, "n m k"]:
    coarse = _fixed_steps(problem, thetas, problem.steps // 2)
    fine = _fixed_steps(problem, thetas, problem.steps)
    # Richardson: the error of a method of order 4 falls to a sixteenth when its step is halved.
    difference = (fine - coarse) / 15
    ys = fine + difference
    error = jnp.max(jnp.abs(difference) / (1 + jnp.abs(fine)), axis=(1, 2))
    return _mend(problem, thetas, ys, jnp.where(jnp.isfinite(error), error, jnp.inf))


def _fixed_steps(
    problem: InitialValueProblem, thetas: Float[Array, "n d"], steps: int
) -> Float[Array, "n m k"]:
    """Integrate all rows by the classical Runge-Kutta method, this many steps an interval.

    It is written out because one step of the batch is then one small kernel: the same accuracy
    from diffrax with constant steps takes twice as long.
    """
    last = thetas.T  # rows along the last axis, so that a component is one contiguous vector
    rate = jax.vmap(problem.field, in_axes=-1, out_axes=-1)

    def step(y: Array, h: Array) -> Array:
        k1 = rate(y, last)
        k2 = rate(y + h / 2 * k1, last)
        k3 = rate(y + h / 2 * k2, last)
        k4 = rate(y + h * k3, last)
        after: Array = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return after

    def interval(y: Array, length: Array) -> tuple[Array, Array]:
        y = jax.lax.fori_loop(0, steps, lambda _, y: step(y, length / steps), y)
        return y, y

    start = jnp.tile(jnp.array(problem.start)[:, None], (1, len(thetas)))
    ys = jax.lax.scan(interval, start, jnp.diff(jnp.array(problem.times)))[1]
    return jnp.moveaxis(jnp.concatenate([start[None], ys]), -1, 0)


def _mend(
    problem: InitialValueProblem,
    thetas: Float[Array, "n d"],
    ys: Float[Array, "n m k"],
    error: Float[Array, " n"],
) -> Float[Array, "n m k"]:
    """Replace the rows whose error is too large, the worst first, a group at a time."""
    bad = error > TOLERANCE
    worst_first = jnp.argsort(-error)
    group = min(GROUP, len(thetas))

    def some_left(state: tuple[Array, Array]) -> Array:
        return state[0] < bad.sum()

    def mend_group(state: tuple[Array, Array]) -> tuple[Array, Array]:
        done, ys = state
        rows = jax.lax.dynamic_slice(worst_first, (done,), (group,))
        better = jax.vmap(partial(_adaptive, problem))(thetas[rows])
        return done + group, ys.at[rows].set(jnp.where(bad[rows, None, None], better, ys[rows]))

    return jax.lax.while_loop(some_left, mend_group, (jnp.array(0), ys))[1]


def _adaptive(problem: InitialValueProblem, theta: Float[Array, " d"]) -> Float[Array, "m k"]:
    times = np.array(problem.times)
    span = times[-1] - times[0]
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda _, y, theta: problem.field(y, theta)),
        diffrax.Dopri8(),
        times[0],
        times[-1],
        None,
        jnp.array(problem.start),
        theta,
        saveat=diffrax.SaveAt(ts=jnp.array(times)),
        stepsize_controller=diffrax.PIDController(
            rtol=STRICT, atol=STRICT, dtmin=1e-12 * span, force_dtmin=False
        ),
        adjoint=diffrax.ForwardMode(),
        max_steps=MAX_STEPS,
        throw=False,
    )
    solved = solution.result == diffrax.RESULTS.successful
    return jnp.where(solved & jnp.isfinite(solution.ys).all(), solution.ys, jnp.nan)
