"""Frozen distributions of scipy.stats as numpyro distributions, which priors are.

One multivariate distribution, one of a single number (d = 1) or of an array (independent
parameters), or a list of those of a single number, one for each parameter.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import Distribution

from sbibench.core.errors import UsageError
from sbibench.core.product import Moved, Product

Values = Mapping[str, Any]
"""The parameters of a scipy distribution by their names there, loc and scale among them."""


def _moved(base: Distribution, v: Values, *, scaled: bool = True) -> Distribution:
    """Return the law of loc + scale y; of y as it is where that is the same."""
    scale = v["scale"] if scaled else np.ones_like(v["loc"])
    if np.all(v["loc"] == 0) and np.all(scale == 1):
        return base
    return Moved(base, v["loc"], scale)


def _truncnorm(v: Values) -> Distribution:
    low, high = (v["loc"] + v["scale"] * v[side] for side in "ab")
    return dist.TruncatedNormal(
        v["loc"],
        v["scale"],
        low=None if np.all(low == -np.inf) else low,
        high=None if np.all(high == np.inf) else high,
    )


ONE: dict[str, Callable[[Values], Distribution]] = {
    "beta": lambda v: _moved(dist.Beta(v["a"], v["b"]), v),
    "cauchy": lambda v: dist.Cauchy(v["loc"], v["scale"]),
    "chi2": lambda v: _moved(dist.Gamma(v["df"] / 2, 0.5 / v["scale"]), v, scaled=False),
    "expon": lambda v: _moved(dist.Exponential(1 / v["scale"]), v, scaled=False),
    "gamma": lambda v: _moved(dist.Gamma(v["a"], 1 / v["scale"]), v, scaled=False),
    "gumbel_r": lambda v: dist.Gumbel(v["loc"], v["scale"]),
    "halfcauchy": lambda v: _moved(dist.HalfCauchy(v["scale"]), v, scaled=False),
    "halfnorm": lambda v: _moved(dist.HalfNormal(v["scale"]), v, scaled=False),
    "invgamma": lambda v: _moved(dist.InverseGamma(v["a"], v["scale"]), v, scaled=False),
    "laplace": lambda v: dist.Laplace(v["loc"], v["scale"]),
    "logistic": lambda v: dist.Logistic(v["loc"], v["scale"]),
    "lognorm": lambda v: _moved(dist.LogNormal(np.log(v["scale"]), v["s"]), v, scaled=False),
    "loguniform": lambda v: _moved(dist.LogUniform(v["a"], v["b"]), v),
    "norm": lambda v: dist.Normal(v["loc"], v["scale"]),
    "reciprocal": lambda v: _moved(dist.LogUniform(v["a"], v["b"]), v),
    "t": lambda v: dist.StudentT(v["df"], v["loc"], v["scale"]),
    "truncnorm": _truncnorm,
    "uniform": lambda v: dist.Uniform(v["loc"], v["loc"] + v["scale"]),
    "weibull_min": lambda v: _moved(dist.Weibull(v["scale"], v["c"]), v, scaled=False),
}
"""By the name of the distribution in scipy.stats."""

MANY: dict[str, Callable[[Any], Distribution]] = {
    "multivariate_normal": lambda f: dist.MultivariateNormal(
        np.atleast_1d(f.mean), covariance_matrix=np.atleast_2d(f.cov)
    ),
    "multivariate_t": lambda f: dist.MultivariateStudentT(
        float(f.df), np.atleast_1d(f.loc), scale_tril=np.linalg.cholesky(np.atleast_2d(f.shape))
    ),
}
"""The multivariate ones."""


def as_prior(prior: Any) -> Any:
    """Return a prior of scipy.stats as one of numpyro; anything else as it is.

    Raises
    ------
    UsageError
        If it is of scipy.stats and not known here, or no law of one vector of numbers.
    """
    if isinstance(prior, list | tuple):
        return _listed(prior)
    if _frozen(prior) or _multivariate(prior):
        one = _converted(prior)
        if one.batch_shape == () and one.event_shape == ():
            return _stacked([one])
        return one if one.event_shape else one.to_event(len(one.batch_shape))
    if callable(getattr(prior, "logpdf", None)):
        raise UsageError(
            f"a prior of scipy.stats is frozen, as norm(0, 1) with its numbers; this is {prior!r}"
        )
    return prior


def _frozen(prior: Any) -> bool:
    return hasattr(prior, "dist") and hasattr(prior, "kwds")


def _multivariate(prior: Any) -> bool:
    return type(prior).__module__.startswith("scipy.stats") and type(prior).__name__.endswith(
        "_frozen"
    )


def _listed(priors: Sequence[Any]) -> Distribution:
    """Return independent parameters, one for each distribution of the list."""
    parts = [p if isinstance(p, Distribution) else _converted(p) for p in priors]
    for given, part in zip(priors, parts, strict=True):
        if part.batch_shape != () or part.event_shape != ():
            raise UsageError(
                f"a list of priors has one of a single number for each parameter, not {given!r}"
            )
    if not parts:
        raise UsageError("a list of priors has one for each parameter, this one is empty")
    return _stacked(parts)


def _stacked(parts: Sequence[Distribution]) -> Distribution:
    """Return one distribution of a vector; of the class of its parts where they agree."""
    cls = type(parts[0])
    names = {dist.Uniform: ("low", "high"), dist.Normal: ("loc", "scale")}.get(cls)
    if names and all(type(part) is cls for part in parts):
        columns = ([float(getattr(part, name)) for part in parts] for name in names)
        return cls(*(np.array(column) for column in columns)).to_event(1)
    return Product(parts)


def _converted(frozen: Any) -> Distribution:
    """Return the numpyro distribution of a frozen one, of a number or an array."""
    if _multivariate(frozen) and not _frozen(frozen):
        name = type(frozen).__name__.removesuffix("_frozen")
        if name not in MANY:
            raise _unknown(name)
        return MANY[name](frozen)
    if not _frozen(frozen):
        raise UsageError(
            "a prior is made of distributions of numpyro, or of frozen ones of scipy.stats, as "
            f"norm(0, 1) with its numbers: {frozen!r}"
        )
    law = frozen.dist
    if law.name not in ONE:
        raise _unknown(law.name)
    names = [*(law.shapes.replace(",", " ").split() if law.shapes else []), "loc", "scale"]
    given = {"loc": 0.0, "scale": 1.0} | dict(zip(names, frozen.args, strict=False)) | frozen.kwds
    values = {name: np.asarray(value, np.float64) for name, value in given.items()}
    with np.errstate(invalid="ignore"):
        if not np.isfinite(frozen.ppf([[0.25], [0.75]]).astype(float)).all():
            numbers = ", ".join(f"{name} = {value}" for name, value in given.items())
            raise UsageError(f"there is no distribution {law.name} with {numbers}")
    arrays = np.broadcast_arrays(*values.values())
    return ONE[law.name](dict(zip(values, arrays, strict=True)))


def _unknown(name: str) -> UsageError:
    return UsageError(
        f"the prior {name} of scipy.stats is not known here (known: {', '.join([*ONE, *MANY])}); "
        "take a distribution of numpyro.distributions"
    )
