"""What adapters of one outside toolbox share: conversions, randomness, budget, deadline."""
