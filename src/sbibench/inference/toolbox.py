"""How the toolbox of the 2021 paper trains, for the `PAPER` settings of the neural algorithms.

The defaults of sbi at the time (Tejero-Cantero et al. 2020): no running means of the weights.
"""

from sbibench.inference.training import Training

TOOLBOX = Training(batch_size=50, learning_rate=5e-4, averaging=0.0, patience=20)
"""The other settings are the same here and there."""
