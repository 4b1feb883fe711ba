"""Ready parametrizations: weights of unit spectral norm, as length times direction, orthogonal."""

from __future__ import annotations

import enum
from typing import Any, TypeVar

from tensorscript.base.errors import DimensionError

from .. import namespace as ts
from ..limits import finfo
from ..modes import no_grad
from ..tensor import Tensor
from . import functional as F
from .module import Module
from .parametrize import register_parametrization
from .spectral import TRANSPOSED

M = TypeVar("M", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _WeightNorm(Module):
    """length / |direction| * direction (Salimans and Kingma, "Weight Normalization", 2016)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return ts._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Any, Tensor]:
        return ts.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a parameter into `original0`, its length along `dim`, and `original1`, its direction.

    A state dict of the older `nn.utils.weight_norm` (`<name>_g`, `<name>_v`) is taken, too.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state: Any, prefix: str, *_: Any) -> None:
        keys = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state for key in keys):
            for k, key in enumerate(keys):
                state[f"{prefix}parametrizations.{name}.original{k}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(renamed)
    return module


class _SpectralNorm(Module):
    """The weight over its largest singular value, which the power method follows (Miyato and
    others, "Spectral Normalization for Generative Adversarial Networks", 2018)."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise DimensionError(
                f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight).detach()
            for name, n in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = matrix.new_empty(n).normal_(0, 1)
                self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Any:
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad
    def _power_method(self, matrix: Any, iterations: int) -> None:
        matrix = matrix.detach()
        for _ in range(iterations):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Any:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / ts.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> M:  # fmt: skip
    """Divide a parameter by its spectral norm, as a matrix with `dim` in front; in training each
    read improves the estimate by `n_power_iterations` steps."""
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


class _Map(enum.Enum):
    matrix_exp = enum.auto()
    cayley = enum.auto()
    householder = enum.auto()


def _diagonal(x: Any) -> Any:
    return x.diagonal(dim1=-2, dim2=-1)


def _nearest(a: Any) -> Any:
    """The orthogonal factor of `a` whose triangular factor has a positive diagonal."""
    factored, tau = ts.geqrf(a)
    q = ts.linalg_householder_product(factored, tau)
    return q * _diagonal(factored).sgn().unsqueeze(-2)


def _is_orthogonal(q: Any) -> bool:
    n, k = q.shape[-2:]
    one = ts.eye(k, dtype=q.dtype)
    step = finfo(q.dtype).eps
    return bool(ts.allclose(q.mH @ q, one, atol=10.0 * n * step))


class _Orthogonal(Module):
    """An orthogonal (or unitary) matrix from the lower triangle of any (Lezcano-Casado, "Cheap
    Orthogonal Constraints in Neural Networks", 2019), times `base` where there is one."""

    base: Any

    def __init__(self, weight: Tensor, kind: _Map, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and kind is _Map.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = kind
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        is_wide = X.shape[-2] < X.shape[-1]
        tall = X.mT if is_wide else X
        q = self._reflected(tall) if self.orthogonal_map is _Map.householder else self._turned(tall)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if is_wide else q

    def _reflected(self, x: Any) -> Any:
        a = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
        return ts.linalg_householder_product(a, tau) * _diagonal(x).int().unsqueeze(-2)

    def _turned(self, x: Any) -> Any:
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = ts.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
        a = x - x.mH
        if self.orthogonal_map is _Map.matrix_exp:
            return ts.matrix_exp(a)[..., :k]
        one = ts.eye(n, dtype=a.dtype)
        return ts.linalg_solve(one - 0.5 * a, one + 0.5 * a)[..., :k]

    @no_grad
    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        n, k = Q.shape[-2:]
        tall = Q.mT if n < k else Q
        n, k = tall.shape[-2:]
        if not hasattr(self, "base"):
            return self._reflectors(tall, Q.shape[-2] < Q.shape[-1])
        if n != k:
            more = ts.randn(*tall.shape[:-2], n, n - k, dtype=tall.dtype)
            self.base = _nearest(ts.cat([tall, more], dim=-1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _nearest(tall)
        origin = ts.zeros_like(Q)
        _diagonal(origin).fill_(-1.0)
        return origin

    def _reflectors(self, tall: Any, is_wide: bool) -> Any:
        if self.orthogonal_map is not _Map.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        a, tau = ts.geqrf(tall)
        signs = _diagonal(a).sign()
        _diagonal(a).copy_(ts.where(tau == 0.0, -signs, signs))
        return a.mT if is_wide else a


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> M:  # fmt: skip
    """Keep a matrix parameter orthogonal (or its rows or columns, if it is not square).

    Args:
        orthogonal_map: "matrix_exp", "cayley" or "householder"; by default the first for square
            and complex matrices, the last for others.
        use_trivialization: multiply by the matrix that the parameter holds now.

    Raises:
        ValueError: not a parameter, not a matrix, or no such map.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _Map.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    kind = _Map[orthogonal_map]
    made = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
