"""How long the site of a whole benchmark takes, how large it is, and how soon its pages work.

python benchmarks/report.py [FOLDER]

2400 runs, all ten tasks, eight algorithms, three budgets, ten observations, with 10 000 samples
each: the records are made up, the samples are those of the references with noise. With Chromium and
Playwright pages are opened from disk, each in a browser that has not seen it.
"""

import os
import shutil
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import sbibench as sb
from sbibench.cli.report import report
from sbibench.core import registry
from sbibench.core.run import RunRecord, RunSpec
from sbibench.runner.suite import spec
from sbibench.store.results import Results

LABELS = {
    "rej_abc": "REJ-ABC", "smc_abc": "SMC-ABC", "nle": "NLE", "snle": "SNLE", "npe": "NPE",
    "snpe_c": "SNPE", "nre": "NRE", "snre": "SNRE",
}  # fmt: skip


def fill(store: Results) -> None:
    """Write the runs; the samples of one observation are one file with many names."""
    rng = np.random.default_rng(0)
    (store.path / "samples").mkdir(parents=True)
    store.prepare()
    for task in registry.TASKS.names():
        for observation in range(1, 11):
            samples = sb.get_task(task).reference_samples(observation)
            noisy = samples + 0.2 * samples.std(0) * rng.normal(size=samples.shape)
            shared = store.path / f"{task}-{observation}.npz"
            np.savez_compressed(shared, samples=noisy.astype(np.float32))
            for algorithm, label in LABELS.items():
                for budget in (1000, 10_000, 100_000):
                    made = spec(task, algorithm, {}, budget, observation, 0, label=label)
                    assert isinstance(made, RunSpec)
                    os.link(shared, store.path / "samples" / f"{made.id}.npz")
                    value = float(rng.uniform(0.5, 1))
                    stages = {"fit": 10.0, "simulate": 1.0, "sample": 2.0, "metrics": 5.0}
                    record = RunRecord(
                        spec=made, status="done", reason="all samples drawn", calls=budget,
                        seconds=stages, metrics={"c2st": value, "mmd": value, "meddist": 4 * value},
                        errors={"c2st": 0.004}, info={"epochs": 100, "stopped": "converged"},
                        versions=dict.fromkeys("abcdefghijk", "1.2.3"),
                    )  # fmt: skip
                    store.update(record)


def opened(site: Path) -> None:
    """Print how long the first page and a task's take until a choice in them has its effect."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None or find_spec("playwright") is None:
        print("pages are not opened: that needs chromium and playwright")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everybody has it

    pages = (
        ("index.html", ["section:visible td a"], "section[data-metric=mmd]:visible"),
        ("tasks/slcp.html", ["[data-pairs] svg", ".chart svg"], ".chart svg >> text=mmd >> nth=0"),
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path, drawn, switched in pages:
            for width in (1280, 390):
                tab = browser.new_context(viewport={"width": width, "height": 900}).new_page()
                start = time.perf_counter()
                tab.goto((site / path).as_uri(), wait_until="commit")
                for selector in drawn:
                    tab.wait_for_selector(selector)
                first = time.perf_counter() - start
                tab.select_option("[data-choice=metric]", "mmd")
                tab.wait_for_selector(switched)
                second = time.perf_counter() - start
                print(f"{path}, {width} px: drawn after {first:.2f} s, other metric {second:.2f} s")
                tab.context.close()
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Results(Path(folder) / "results")
        fill(store)
        site = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "site"
        for name in ("first", "again"):
            start = time.perf_counter()
            report(store.path, directory=site)
            elapsed = time.perf_counter() - start
            size = sum(p.stat().st_size for p in site.rglob("*") if p.is_file())
            largest = max(p.stat().st_size for p in site.rglob("*") if p.is_file())
            print(
                f"{name}: {elapsed:.0f} s, {size / 1e6:.1f} MB, largest file {largest / 1e6:.1f} MB"
            )
        opened(site)


if __name__ == "__main__":
    main()
