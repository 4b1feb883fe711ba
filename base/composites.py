"""Operators that are a few calls of others: one row for every interpretation.

A row takes `call(name, *arguments)`, which runs another operator (the values in the order of its
schema, what is left out has its default), and the operator's own arguments. The eager kernel and
the native decomposition are both made of it, so it uses nothing but operators.

Most of these are steps of PyTorch's own kernels, which graphs of its exporters name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Call = Callable[..., Any]
_TO_REFLECT = ("reflect", "replicate", "circular", "constant")
"""The words for `_pad_enum`'s modes."""
_SCALED = ("backward", "ortho", "forward")
"""Norms of a transform that leaves its sums as they are, divides by the root, by the count."""
_UNSCALED_BACK = ("forward", "ortho", "backward")
"""The same of inverse transforms."""


def renamed(name: str) -> Callable[..., Any]:
    """The row of an operator that is another one with the same arguments."""
    return lambda call, *arguments: call(name, *arguments)


def _add_relu(name: str) -> Callable[..., Any]:
    return lambda call, x, other, alpha=1: call("aten::relu", call(name, x, other, alpha))


def _addmm_activation(
    call: Call, x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Any:
    made = call("aten::addmm", x, a, b, beta, alpha)
    return call("aten::gelu" if use_gelu else "aten::relu", made)


def _eigh(call: Call, x: Any, half: str = "L", compute_v: bool = True) -> tuple[Any, Any]:
    """Eigenvalues, and vectors or a tensor without elements."""
    if compute_v:
        values, vectors = call("aten::linalg_eigh", x, half)
        return values, vectors
    return call("aten::linalg_eigvalsh", x, half), call("aten::new_empty", x, [0])


def _svd(
    call: Call, x: Any, full: bool = False, compute_uv: bool = True, driver: Any = None
) -> tuple[Any, ...]:
    """Factors, or singular values between tensors without elements."""
    if compute_uv:
        u, s, vh = call("aten::linalg_svd", x, full)
        return u, s, vh
    nothing = call("aten::new_empty", x, [0])
    return nothing, call("aten::linalg_svdvals", x), nothing


def _fft_c2c(call: Call, x: Any, dims: Sequence[int], scaling: int, forward: bool) -> Any:
    """A complex transform over `dims`; `scaling` is 0 for none, 1 for by root, 2 for by count."""
    if forward:
        return call("aten::fft_fftn", x, None, dims, _SCALED[scaling])
    return call("aten::fft_ifftn", x, None, dims, _UNSCALED_BACK[scaling])


def _fft_r2c(call: Call, x: Any, dims: Sequence[int], scaling: int, onesided: bool) -> Any:
    name = "aten::fft_rfftn" if onesided else "aten::fft_fftn"
    return call(name, x, None, dims, _SCALED[scaling])


def _fft_c2r(call: Call, x: Any, dims: Sequence[int], scaling: int, size: Any) -> Any:
    """The inverse of `_fft_r2c`; the last of `dims` gets `size` elements."""
    scaled = _UNSCALED_BACK[scaling]
    if len(dims) > 1:
        x = call("aten::fft_ifftn", x, None, dims[:-1], scaled)
    return call("aten::fft_irfft", x, size, dims[-1], scaled)


def _flatten(call: Call, tensors: Sequence[Any]) -> Any:
    return call("aten::cat", [call("aten::reshape", t, [-1]) for t in tensors], 0)


def _slow_convolution(name: str) -> Callable[..., Any]:
    """Convolutions that are told the size of their window, which the weight has, too."""

    def row(
        call: Call, x: Any, weight: Any, window: Any, bias: Any = None, stride: Any = (1,),
        padding: Any = (0,), dilation: Any = (1,),
    ) -> Any:  # fmt: skip
        return call(name, x, weight, bias, list(stride), list(padding), list(dilation), 1)

    return row


def _slow_transposed(name: str) -> Callable[..., Any]:
    def row(
        call: Call, x: Any, weight: Any, window: Any, bias: Any = None, stride: Any = (1,),
        padding: Any = (0,), output_padding: Any = (0,), dilation: Any = (1,),
    ) -> Any:  # fmt: skip
        sizes = (list(stride), list(padding), list(output_padding), 1, list(dilation))
        return call(name, x, weight, bias, *sizes)

    return row


def _powsum(
    call: Call, x: Any, order: Any = 2, dims: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The sum of |x| ** order."""
    powers = call("aten::pow.Tensor_Scalar", call("aten::abs", x), order)
    return call("aten::sum.dim_IntList", powers, dims, keepdim, dtype)


def _masked_softmax(
    call: Call, x: Any, mask: Any, dim: int | None = None, mask_type: int | None = None
) -> Any:
    """Without what the mask names: of type 1, the keys (B, L) of each batch."""
    if mask_type == _KEYS:
        mask = call("aten::unsqueeze", call("aten::unsqueeze", mask, 1), 1)
    kept = call("aten::masked_fill.Scalar", x, mask, -math.inf)
    return call("aten::softmax.int", kept, -1 if dim is None else dim, None)


_KEYS = 1


def _prelu(call: Call, x: Any, weight: Any) -> Any:
    """Of a weight that has the dimensions of `x` already."""
    scaled = call("aten::mul.Tensor", x, weight)
    return call("aten::where.self", call("aten::gt.Scalar", x, 0), x, scaled)


def _trilinear(
    call: Call, a: Any, b: Any, c: Any, new_a: Any, new_b: Any, new_c: Any, summed: Any, *_: Any
) -> Any:
    """The product of three tensors after each got dimensions of one element, summed over some."""
    wide = []
    for t, dims in ((a, new_a), (b, new_b), (c, new_c)):
        for d in sorted(dims):
            t = call("aten::unsqueeze", t, d)
        wide.append(t)
    product = call("aten::mul.Tensor", call("aten::mul.Tensor", wide[0], wide[1]), wide[2])
    return call("aten::sum.dim_IntList", product, summed, False) if summed else product


def _unique_of_dim(
    call: Call, x: Any, dim: int, inverse: bool = False, counts: bool = False
) -> Any:
    """Places and counts are given unasked, as PyTorch's kernel does."""
    return call("aten::unique_consecutive", x, True, True, dim)


def _unflatten(call: Call, flat: Any, tensors: Sequence[Any]) -> list[Any]:
    counts = [call("aten::numel", t) for t in tensors]
    parts = call("aten::split_with_sizes", flat, counts, 0)
    return [call("aten::view_as", p, t) for p, t in zip(parts, tensors, strict=True)]


def _weight_norm(call: Call, v: Any, g: Any, dim: int = 0) -> tuple[Any, Any]:
    """The weight, and the norms of `v` along all but one dimension."""
    norm = call("aten::norm_except_dim", v, 2, dim)
    return call("aten::mul.Tensor", v, call("aten::div.Tensor", g, norm)), norm


COMPOSITES: dict[str, Callable[..., Any]] = {
    "aten::_adaptive_avg_pool2d": renamed("aten::adaptive_avg_pool2d"),
    "aten::_adaptive_avg_pool3d": renamed("aten::adaptive_avg_pool3d"),
    "aten::_add_relu.Scalar": _add_relu("aten::add.Scalar"),
    "aten::_add_relu.Tensor": _add_relu("aten::add.Tensor"),
    "aten::_addmm_activation": _addmm_activation,
    "aten::_cholesky_solve_helper": renamed("aten::cholesky_solve"),
    "aten::_euclidean_dist": lambda call, x, y: call("aten::cdist", x, y, 2.0),
    "aten::_fft_c2c": _fft_c2c,
    "aten::_fft_c2r": _fft_c2r,
    "aten::_fft_r2c": _fft_r2c,
    "aten::_grid_sampler_2d_cpu_fallback": renamed("aten::grid_sampler_2d"),
    "aten::_linalg_eigh": _eigh,
    "aten::_linalg_svd": _svd,
    "aten::_logcumsumexp": renamed("aten::logcumsumexp"),
    "aten::_masked_softmax": _masked_softmax,
    "aten::_pad_circular": lambda call, x, pad: call("aten::pad", x, pad, "circular"),
    "aten::_pad_enum": lambda call, x, pad, mode, value=None: call(
        "aten::pad", x, pad, _TO_REFLECT[mode], value
    ),
    "aten::_pdist_forward": renamed("aten::pdist"),
    "aten::_prelu_kernel": _prelu,
    "aten::_reshape_copy": lambda call, x, sizes: call(
        "aten::clone", call("aten::reshape", x, sizes)
    ),
    "aten::_slow_conv2d_forward": _slow_convolution("aten::conv2d"),
    "aten::_stack": renamed("aten::stack"),
    "aten::_trilinear": _trilinear,
    "aten::_unsafe_index.Tensor": renamed("aten::index.Tensor"),
    "aten::_unsafe_index_put": renamed("aten::index_put"),
    "aten::_weight_norm_interface": _weight_norm,
    "aten::flatten_dense_tensors": _flatten,
    "aten::lift": lambda call, x: call("aten::clone", x),
    "aten::linalg__powsum": _powsum,
    "aten::slow_conv3d": _slow_convolution("aten::conv3d"),
    "aten::slow_conv3d_forward": _slow_convolution("aten::conv3d"),
    "aten::slow_conv_dilated2d": _slow_convolution("aten::conv2d"),
    "aten::slow_conv_dilated3d": _slow_convolution("aten::conv3d"),
    "aten::slow_conv_transpose2d": _slow_transposed("aten::conv_transpose2d.input"),
    "aten::slow_conv_transpose3d": _slow_transposed("aten::conv_transpose3d.input"),
    "aten::sym_numel": renamed("aten::numel"),
    "aten::sym_stride": renamed("aten::stride"),
    "aten::sym_stride.int": renamed("aten::stride.int"),
    "aten::thnn_conv2d": _slow_convolution("aten::conv2d"),
    "aten::unflatten_dense_tensors": _unflatten,
    "aten::unique_dim_consecutive": _unique_of_dim,
}
