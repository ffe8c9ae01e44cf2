"""Makes the pictures of charts.

`python docs/figures.py` takes minutes; `python docs/figures.py runs` makes those of runs alone.
"""

import sys
from pathlib import Path

import jax

import sbibench as sb
from sbibench.core.compilation import keep_compiled_programs

HERE = Path(__file__).parent

runs = sb.read_results(HERE.parent / "results" / "paper2021")
sb.plot.heatmap(runs).save(HERE / "heatmap.png", ppi=110)
sb.plot.metric(runs, "two_moons").save(HERE / "metric.png", ppi=110)
sb.plot.cost(runs).save(HERE / "cost.png", ppi=110)
if sys.argv[1:] == ["runs"]:
    sys.exit()

keep_compiled_programs()
key = jax.random.key(0)
task = sb.get_task("two_moons")
samples = {
    label: sb.get_algorithm(name).fit(key, task.problem(1, 10_000)).sample(key, 10_000)
    for label, name in (("REJ-ABC", "rej_abc"), ("NPE", "npe"))
}
scores = {k: sb.metrics.c2st(key, v, task.reference_samples(1)) for k, v in samples.items()}
named = {f"{k} (C2ST {scores[k]:.2f})": v for k, v in samples.items()}
chart = sb.plot.posterior(task, 1, named)
chart.save(HERE / "two_moons.png", ppi=130)

fit_key, pair_key, check_key = jax.random.split(jax.random.key(1), 3)
posterior = sb.get_algorithm("npe").fit(fit_key, task.problem(1, 1000))
pairs = sb.draw_pairs(pair_key, posterior, task, 1000)
findings = sb.diagnose(check_key, pairs)
title = "Calibration of NPE after 1000 simulations of two moons, 1000 pairs"
chart = sb.plot.calibration(findings, pairs.names, title)
chart.save(HERE / "calibration.png", ppi=80)
