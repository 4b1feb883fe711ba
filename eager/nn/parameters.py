"""Parameters as one vector, and weights as length times direction (`nn.utils`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from .. import namespace as ts
from ..tensor import Tensor
from .lazy import require_sizes
from .module import Module
from .parameter import Parameter


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, in order."""
    found: Tensor = ts.cat([p.view(-1) for p in parameters])
    return found


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Replace the data of parameters by the parts of a vector.

    Raises:
        TypeError: not a tensor.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {ts.typename(vec)}")
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].reshape(p.shape)
        start += p.numel()


M = TypeVar("M", bound=Module)


class WeightNorm:
    """A pre-hook that computes a weight from its length `name_g` and direction `name_v`.

    Tim Salimans and Diederik Kingma, "Weight Normalization", 2016.
    """

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Tensor:
        length, direction = (getattr(module, f"{self.name}_{part}") for part in "gv")
        found: Tensor = ts._weight_norm(direction, length, self.dim)
        return found

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a parameter into length and direction, joined again before every `forward`.

    Raises:
        RuntimeError: it is split already.
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = getattr(module, name)
    require_sizes(weight, "WeightNorm", "weight normalization")
    del module._parameters[name]
    length = ts.norm_except_dim(weight, 2, hook.dim)
    module.register_parameter(f"{name}_g", Parameter(length))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Join a split parameter for good.

    Raises:
        ValueError: it is not split.
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module)
            delattr(module, name)
            del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
            setattr(module, name, Parameter(weight))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
