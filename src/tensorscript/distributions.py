"""`torch.distributions`: densities and draws of the everyday distributions."""

from tensorscript.eager.distributions import constraints
from tensorscript.eager.distributions.composed import Independent, MixtureSameFamily
from tensorscript.eager.distributions.continuous import (
    Exponential,
    Laplace,
    MultivariateNormal,
    Normal,
    Uniform,
)
from tensorscript.eager.distributions.discrete import (
    Bernoulli,
    Categorical,
    OneHotCategorical,
    Poisson,
)
from tensorscript.eager.distributions.distribution import Distribution
from tensorscript.eager.distributions.divergence import kl_divergence
from tensorscript.eager.distributions.positive import Beta, Dirichlet, Gamma

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "Independent",
    "Laplace",
    "MixtureSameFamily",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Poisson",
    "Uniform",
    "constraints",
    "kl_divergence",
]
