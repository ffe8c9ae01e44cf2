"""The page of a task: the model, its prior, its certificates, its results."""

import re
from typing import Any

import numpy as np
from docstrings import cell, lead, of_module, plain, table
from figures_beside import beside
from numpyro.distributions import Independent, MultivariateNormal

from sbibench.core import references
from sbibench.core.registry import Kind
from sbibench.reference.library import row as row_of


def task_page(kind: Kind, name: str) -> str:
    """Return the page of the task of this name."""
    task = kind.get(name)
    text = of_module(f"{kind.folder}.{name}") or kind.describe(name)
    page = lead(text, task.label)
    for model in dict.fromkeys(re.findall(r"`(sbibench\.core\.models\.\w+)`", text)):
        page += f"The model, `{model}`:\n\n{plain(of_module(model))}\n\n"
    page += f'```python\nimport sbibench as sb\n\ntask = sb.get_task("{name}")\n```\n\n'
    return page + _facts(task) + _prior(task) + _certificates(task) + beside("task", name)


def _facts(task: Any) -> str:
    if task.reference is not None:
        truth = "drawn by a sampler of its own, exactly"
    elif task.posterior_of:
        truth = f"that of [{task.posterior_of}]({task.posterior_of}.md)"
    elif task.log_likelihood is not None:
        truth = "drawn by [rejection with a flow](../design.md#references)"
    else:
        truth = "not known"
    rows = [
        ["name", f"`{task.name}`"],
        ["parameters", f"{task.d}: {_few(task.parameter_names)}"],
        ["data", f"{task.p}: {_few(task.data_names)}"],
        ["likelihood", "tractable" if task.log_likelihood is not None else "intractable"],
        ["true posterior", truth],
        ["canonical observations", len(task.observations)],
        ["source", cell(task.citation)],
    ]
    return table(["", ""], rows)


def _few(names: tuple[str, ...]) -> str:
    shown = names if len(names) <= 12 else (*names[:3], "…", names[-1])
    return ", ".join(name if name == "…" else f"`{name}`" for name in shown)


def _prior(task: Any) -> str:
    prior = task.prior
    while isinstance(prior, Independent):
        prior = prior.base_dist
    called = type(prior).__name__
    # Not by core.described, which draws from the prior to make sure: that compiles a program.
    arguments = {
        name: np.asarray(vars(prior)[name]) for name in prior.arg_constraints if name in vars(prior)
    }
    if isinstance(prior, MultivariateNormal):
        factor = np.asarray(prior.scale_tril)
        arguments = {"mean": np.asarray(prior.loc), "deviation": np.sqrt((factor**2).sum(1))}
        called += ", marginally"
    columns = {
        name: np.broadcast_to(value, (task.d,))
        for name, value in arguments.items()
        if value.shape in {(), (1,), (task.d,)}
    }
    if not columns:
        return f"## The prior\n\n`{called}`\n\n"
    rows = [
        [f"`{parameter}`", *(f"{v[i]:.4g}" for v in columns.values())]
        for i, parameter in enumerate(task.parameter_names)
    ]
    return f"## The prior\n\n{called}:\n\n" + table(["parameter", *columns], rows)


def _certificates(task: Any) -> str:
    found = [
        references.certificate(references.SHIPPED, task.name, i + 1)
        for i in range(len(task.observations))
    ]
    rows = []
    for record in found:
        if record is not None:
            row = row_of(record)
            rows.append(
                [
                    row["observation"],
                    cell(row["method"]),
                    _number(row["acceptance_rate"], ".3f"),
                    row["second_method"],
                    _number(row["r_hat"], ".3f"),
                    _number(row["effective_samples"], ".0f"),
                    _number(row["c2st"], ".4f"),
                    _number(row["calibration_p_value"], ".2g"),
                    "yes" if row["passed"] else "no: " + ", ".join(row["failed"]),
                ]
            )
    if not rows:
        return ""
    head = ["observation", "method", "acceptance", "second method", "R-hat", "effective samples"]
    head += ["C2ST", "calibration p", "passed"]
    filled = [i for i in range(len(head)) if any(row[i] != "" for row in rows)]
    head, rows = [head[i] for i in filled], [[row[i] for i in filled] for row in rows]
    wanted = {check.name: check.wanted for record in found if record for check in record.checks}
    checks = [[cell(check), cell(want)] for check, want in wanted.items()]
    return (
        "## The certificates of its references\n\n"
        "10 000 samples for each observation come with the package. Each set was compared with an "
        "independent second method (C2ST: of boosted trees) and its sampler calibrated; "
        "[how, and with which bounds](../design.md#references).\n\n"
        + table(head, rows)
        + "What was tested, and what was wanted:\n\n"
        + table(["check", "wanted"], checks)
    )


def _number(value: Any, pattern: str) -> str:
    return "" if value is None else format(value, pattern)
