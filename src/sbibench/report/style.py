"""How all charts look."""

# Okabe & Ito 2008: safe for colour-blind readers; grey is the truth, or what is to be expected.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
TRUTH = "#555555"
BAND = "#D9D9D9"
