"""A function in NumPy as an algorithm: `MY = from_function(my_function)`."""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
from jax import random
from jaxtyping import PRNGKeyArray

from sbibench.core.errors import UsageError
from sbibench.core.fingerprint import fingerprint
from sbibench.core.keys import numpy_rng
from sbibench.core.problem import Problem
from sbibench.inference.fixed import FixedPosterior, fixed
from sbibench.inference.numpy_view import NumpyPrior, NumpySimulator

TAKES = ("prior", "simulator", "x_obs", "budget", "seed")
"""What the function is called with."""

_PLAIN = (bool, int, float, str, type(None))


def from_function(function: Callable[..., Any], *, version: str | None = None) -> type[Any]:
    """Return the algorithm that a function `(prior, simulator, x_obs, budget, seed) -> samples` is.

    It is a frozen dataclass, as every algorithm, so `my_module:MY` can be run, put into suites and
    checked when the module says `MY = sb.from_function(my_function)`; as a decorator it does the
    same under the function's own name. Arguments beyond the five whose defaults are numbers,
    strings, booleans, None or tuples of these are its settings. `functools.partial` binds others.

    The function sees

    - `prior`: `sample(n, rng) -> [n, d]` (a seed or a generator), `log_prob(thetas) -> [n]`,
      `inside(thetas) -> [n]`, `d`, and the numpyro object as `distribution`;
    - `simulator(thetas [n, d]) -> xs [n, p]`, counted, refusing more than the budget; many rows in
      one call cost far less than many calls; `simulator.left` is how many are left;
    - `x_obs` [p], `budget`, and `seed`, from which all its own randomness must come.

    It returns samples [m, d], or a pair of these and a mapping of facts for the record. Samples
    outside the prior's support are left out and counted; see `FixedPosterior` for how many are
    drawn of them.

    Parameters
    ----------
    function
        What is to be run.
    version
        Runs of different versions are different runs. By default the attribute `version` of the
        function, if it has one, or else the fingerprint of its code and of what it uses of its
        module: then an edit makes other runs, and what another package changes doesn't.

    Raises
    ------
    UsageError
        If the function can't be called with the five arguments.
    """
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    parameters = _parameters(function, name)
    by_name = set(TAKES) <= set(parameters)

    def fit(self: Any, key: PRNGKeyArray, problem: Problem) -> FixedPosterior:
        """Call the function and check what it returns."""
        seed_key, simulator_key = random.split(key)
        given = (
            NumpyPrior(problem.prior),
            NumpySimulator(problem, simulator_key),
            problem.x_obs.astype(np.float64),
            problem.simulator.left,
            int(numpy_rng(seed_key).integers(2**31)),
        )
        chosen = {field: getattr(self, field) for field in settings}
        if by_name:
            returned = function(**dict(zip(TAKES, given, strict=True)), **chosen)
        else:
            returned = function(*given, **chosen)
        facts: Mapping[str, Any] = {}
        if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Mapping):
            returned, facts = returned
        return fixed(problem, returned, facts, f"{name}()")

    settings = _settings(inner, list(parameters.values()), by_name=by_name)
    fields = [(n, kind, dataclasses.field(default=value)) for n, (kind, value) in settings.items()]
    version = version or getattr(function, "version", None) or getattr(inner, "version", None)
    if "version" not in settings:
        # When an instance is made: what the function uses may come later in its module.
        made_of = dataclasses.field(default_factory=lambda: str(version or fingerprint(function)))
        fields.append(("version", str, made_of))
    made = dataclasses.make_dataclass(
        name if name.isidentifier() else "Function",
        fields,
        namespace={"fit": fit, "amortized": False, "__doc__": inspect.getdoc(inner) or name},
        frozen=True,
    )
    made.__module__ = getattr(inner, "__module__", __name__)
    return made


def _parameters(function: Callable[..., Any], name: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function that can be called with the five arguments."""
    if not callable(function):
        raise UsageError(f"from_function takes a function, not {type(function).__name__}")
    signature = inspect.signature(function)
    try:
        signature.bind(*TAKES)
    except TypeError as error:
        try:
            signature.bind(**dict.fromkeys(TAKES))
        except TypeError:
            raise UsageError(
                f"{name}{signature} can't be called with ({', '.join(TAKES)}): {error}; give what "
                "else it takes a default, or bind it by functools.partial"
            ) from error
    return signature.parameters


def _settings(
    inner: Any, parameters: list[inspect.Parameter], *, by_name: bool
) -> dict[str, tuple[Any, Any]]:
    """Return type and default of each argument that is a setting."""
    try:
        hints = typing.get_type_hints(inner)
    except (NameError, TypeError):  # an annotation that means nothing at run time
        hints = {}
    found: dict[str, tuple[Any, Any]] = {}
    bound = set(TAKES) if by_name else {p.name for p in parameters[: len(TAKES)]}
    for parameter in parameters:
        named = parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}
        default = parameter.default
        if not named or parameter.name in bound or not _plain(default):
            continue
        kind = hints.get(parameter.name, type(default))
        try:
            msgspec.convert(default, kind)
        except (msgspec.ValidationError, TypeError):  # of no use for values in a file
            kind = type(default)
        found[parameter.name] = (kind, default)
    return found


def _plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_plain(item) for item in value)
    return isinstance(value, _PLAIN)
