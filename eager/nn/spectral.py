"""Weights divided by their largest singular value, by a pre-hook (`nn.utils.spectral_norm`)."""

from __future__ import annotations

from typing import Any, TypeVar

from ..modes import no_grad
from ..tensor import Tensor
from . import functional as F
from .layers.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .lazy import require_sizes
from .module import Module
from .parameter import Parameter

M = TypeVar("M", bound=Module)
TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
"""Layers whose output channels are the second dimension of the weight."""


class SpectralNorm:
    """Computes `name` from `name_orig` before every `forward`; in training the vectors `name_u` and
    `name_v` follow the leading singular vectors by the power method.

    Takeru Miyato and others, "Spectral Normalization for Generative Adversarial Networks", 2018.
    """

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Any:
        weight_mat: Any = weight
        if self.dim != 0:
            others = [d for d in range(weight_mat.dim()) if d != self.dim]
            weight_mat = weight_mat.permute(self.dim, *others)
        height = weight_mat.size(0)
        return weight_mat.reshape(height, -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        weight_mat = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            self._iterate(weight_mat, u, v)
            u, v = u.clone(), v.clone()
        sigma = u.dot(weight_mat.mv(v))
        return weight / sigma

    @no_grad
    def _iterate(self, matrix: Any, u: Tensor, v: Tensor) -> None:
        matrix = matrix.detach()
        for _ in range(self.n_power_iterations):
            v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
            u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def versioned(self, module: Module, state: Any, prefix: str, metadata: Any) -> None:
        """A state dict's hook: PyTorch asks for the version where it loads one."""
        metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version


def _hook_of(module: Module, name: str) -> tuple[int, SpectralNorm] | None:
    hooks = module._forward_pre_hooks.items()
    return next(((k, h) for k, h in hooks if isinstance(h, SpectralNorm) and h.name == name), None)


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> M:  # fmt: skip
    """Divide a parameter by its spectral norm before every `forward`, as a matrix with `dim` in
    front (0, of transposed convolutions 1).

    Raises:
        RuntimeError: it is divided already.
        ValueError: the parameter is None.
    """
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    if _hook_of(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    require_sizes(weight, "SpectralNorm", "spectral normalization")
    drawn = [
        F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps)
        for n in hook.reshape_weight_to_matrix(weight.detach()).shape
    ]
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    for part, vector in zip("uv", drawn, strict=True):
        module.register_buffer(f"{name}_{part}", vector)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook.versioned)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the divided weight the parameter for good.

    Raises:
        ValueError: it is not divided.
    """
    if (found := _hook_of(module, name)) is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    number, hook = found
    weight = hook.compute_weight(module, False).detach()
    for part in ("", "_u", "_v", "_orig"):
        delattr(module, name + part)
    module.register_parameter(name, Parameter(weight))
    del module._forward_pre_hooks[number]
    for key, held in list(module._state_dict_hooks.items()):
        if getattr(held, "__self__", None) is hook:
            del module._state_dict_hooks[key]
    return module
