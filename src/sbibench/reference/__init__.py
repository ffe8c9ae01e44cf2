"""Ways to obtain the true posterior."""
