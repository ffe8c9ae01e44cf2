"""Tables and figures from results; imports no jax."""
