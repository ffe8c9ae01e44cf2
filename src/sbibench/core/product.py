"""Priors that numpyro has no class for: parameters of different kinds, and moved distributions."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.distributions import Distribution, TransformedDistribution, constraints
from numpyro.distributions.transforms import AffineTransform, Transform, biject_to

import sbibench.core.precision  # noqa: F401 - float64 from the first array on


class Each(constraints.Constraint):  # type: ignore[misc]  # numpyro is untyped
    """A product of constraints on single numbers, one for each parameter."""

    event_dim = 1

    def __init__(self, parts: Sequence[constraints.Constraint]) -> None:
        self.parts = tuple(parts)

    def __repr__(self) -> str:
        return f"Each({self.parts})"

    def __call__(self, x: Any) -> Any:
        """Return whether θ [..., d] lies inside."""
        sides = [part(x[..., i]) for i, part in enumerate(self.parts)]
        return jnp.stack([jnp.asarray(side) for side in sides], -1).all(-1)

    def feasible_like(self, prototype: Any) -> Any:
        """Return a point inside, of the shape of `prototype` [..., d]."""
        inside = [part.feasible_like(prototype[..., i]) for i, part in enumerate(self.parts)]
        return jnp.stack(inside, -1)

    def tree_flatten(self) -> Any:
        """Return the parts, for JAX."""
        return (self.parts,), (("parts",), {})

    def eq(self, other: object, static: bool = False) -> Any:  # noqa: FBT001, FBT002 - numpyro's
        """Return whether another one has the same parts."""
        if not isinstance(other, Each) or len(other.parts) != len(self.parts):
            return False
        pairs = zip(self.parts, other.parts, strict=True)
        return all(a.eq(b, static=static) for a, b in pairs)


class EachTo(Transform):  # type: ignore[misc]  # numpyro is untyped
    """A bijection for each parameter, from R to its side of the product."""

    domain = constraints.real_vector

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = tuple(parts)

    @property
    def codomain(self) -> constraints.Constraint:
        """The product of what the parts map to."""
        return Each([part.codomain for part in self.parts])

    def __call__(self, x: Any) -> Any:
        """Map u [..., d] into the product."""
        return jnp.stack([part(x[..., i]) for i, part in enumerate(self.parts)], -1)

    def _inverse(self, y: Any) -> Any:
        return jnp.stack([part.inv(y[..., i]) for i, part in enumerate(self.parts)], -1)

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:  # noqa: ARG002 - numpyro's
        """Return log |dθ/du| [...]."""
        each = [
            part.log_abs_det_jacobian(x[..., i], y[..., i]) for i, part in enumerate(self.parts)
        ]
        return jnp.stack(each, -1).sum(-1)

    def tree_flatten(self) -> Any:
        """Return the parts, for JAX."""
        return (self.parts,), (("parts",), {})


@biject_to.register(Each)  # type: ignore[untyped-decorator]  # the same
def _(constraint: Each) -> EachTo:
    return EachTo([biject_to(part) for part in constraint.parts])


class Product(Distribution):  # type: ignore[misc]  # numpyro is untyped
    """Independent parameters θ [d], each with a distribution of its own.

    Parameters
    ----------
    parts
        Distributions of one number each.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - numpyro's
    pytree_data_fields = ("parts",)

    def __init__(self, parts: Sequence[Distribution], *, validate_args: bool | None = None) -> None:
        self.parts = tuple(parts)
        super().__init__((), (len(self.parts),), validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """All of R^d, or the product of the supports."""
        supports = [part.support for part in self.parts]
        if all(support == constraints.real for support in supports):
            return constraints.real_vector
        return Each(supports)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> Any:
        """Draw θ [*sample_shape, d]."""
        keys = jax.random.split(key, len(self.parts))
        drawn = [part.sample(k, sample_shape) for part, k in zip(self.parts, keys, strict=True)]
        return jnp.stack(drawn, -1)

    def log_prob(self, value: Any) -> Any:
        """Return the log densities [...] of θ [..., d]."""
        each = [part.log_prob(value[..., i]) for i, part in enumerate(self.parts)]
        return jnp.stack(each, -1).sum(-1)


class Moved(TransformedDistribution):  # type: ignore[misc]  # numpyro is untyped
    """The law of loc + scale y, with y from `base`."""

    def __init__(self, base: Distribution, loc: Any = 0.0, scale: Any = 1.0) -> None:
        self.base, self.loc, self.scale = base, loc, scale
        super().__init__(base, AffineTransform(loc, scale, domain=base.support))
