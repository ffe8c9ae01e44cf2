"""Double precision where truth is made, single precision for networks.

Importing this module switches JAX to 64-bit types for the process: simulators, likelihoods,
references and certificates compute in float64. Networks stay fast because everything they touch
is float32 explicitly. (JAX's local switch is no way out: a NumPy constant that was traced in one
mode fails to compile in the other, and priors and simulators are full of them.)
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)  # noqa: FBT003 - the name is beside it

SINGLE = jnp.float32
