"""Milliseconds per training step of the flow that NPE uses, batch 200, for d = p = 2 and 10.

    python benchmarks/training.py [--flowjax]

With --flowjax the same coupling layers use flowjax's scalar spline, vmapped, for comparison.
"""

import sys
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import RationalQuadraticSpline
from flowjax.utils import get_ravelled_pytree_constructor

from sbibench.core.compilation import keep_compiled_programs
from sbibench.inference import flows
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.flows import Flow
from sbibench.inference.training import CHUNK, Training, _chunks, _programs

REPEATS = 15


def flowjax_spline(raw, x, bound):
    scalar = RationalQuadraticSpline(knots=(raw.shape[0] + 1) // 3 - 1, interval=int(bound))
    scalar = jax.tree.map(lambda a: a.astype(jnp.float32) if eqx.is_inexact_array(a) else a, scalar)
    make, _ = get_ravelled_pytree_constructor(scalar, filter_spec=eqx.is_inexact_array)
    padded = jnp.pad(raw, ((0, 2), (0, 0), (0, 0)))  # flowjax has slopes at both ends, too

    def one(r, v):
        return make(r).transform_and_log_det(v)

    return jax.vmap(jax.vmap(one, (1, 0)), (2, 1), (1, 1))(padded, x)


def milliseconds(d: int) -> tuple[float, float]:
    """Return the median time of a step and the seconds to compile."""
    rng = np.random.default_rng(0)
    thetas = rng.normal(size=(10_000, d)).astype(np.float32)
    xs = (thetas + rng.normal(size=thetas.shape)).astype(np.float32)
    flow = Flow(SplineFlow(), d, d)
    params = flow.init(jax.random.key(0), thetas, xs)
    init, run, *_ = _programs(flow.loss, Training())
    state = init(params[0])
    steps, chunk, _ = next(_chunks(np.arange(10_000), 200, (thetas, xs)))
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(run(params, state, jax.random.key(0), steps, chunk))
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:])) / CHUNK * 1e3, times[0]


if __name__ == "__main__":
    keep_compiled_programs()
    if "--flowjax" in sys.argv:
        flows.spline = flowjax_spline
    for dim in (2, 10):
        step, first = milliseconds(dim)
        print(f"d = {dim:2d}: {step:5.2f} ms a step; first chunk {first:.1f} s")
