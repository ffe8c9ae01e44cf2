"""Which flow an algorithm uses: settings that name a family and its size."""

from dataclasses import dataclass
from typing import Literal

from sbibench.core.settings import check_types
from sbibench.inference.coupling import SplineFlow
from sbibench.inference.maf import MaskedFlow


@dataclass(frozen=True)
class DensityEstimator:
    """Settings of a conditional density estimator.

    Attributes
    ----------
    family
        "nsf", a neural spline flow (Durkan et al. 2019), or "maf", a masked autoregressive flow
        (Papamakarios et al. 2017).
    transforms, hidden, blocks
        Number of transforms; width and number of the layers of each transform's network: residual
        blocks with ReLU for "nsf", tanh layers for "maf".
    bins, bound
        Of the splines of "nsf": their bins, and the interval [-bound, bound] on which they bend.
    """

    family: Literal["nsf", "maf"] = "nsf"
    transforms: int = 5
    hidden: int = 50
    blocks: int = 2
    bins: int = 10
    bound: float = 4.0

    def __post_init__(self) -> None:
        check_types(self)
        _ = self.architecture  # says at once what is impossible

    @property
    def architecture(self) -> SplineFlow | MaskedFlow:
        """The flow that these settings describe."""
        if self.family == "maf":
            return MaskedFlow(self.transforms, self.hidden, self.blocks)
        return SplineFlow(self.transforms, self.hidden, self.blocks, self.bins, self.bound)
