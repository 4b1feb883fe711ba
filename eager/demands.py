"""What operators ask of their arguments before they compute: one row an overload.

A row is called with all arguments in schema order and raises in PyTorch's words. It stands here,
not in the kernel, where NumPy would refuse the same arguments in words of its own or take them.
The dtypes that operators take are in `base/operand_dtypes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import WIDE_UNSIGNED, DType, bfloat16, bool_
from tensorscript.base.errors import DimensionError
from tensorscript.base.operand_dtypes import unimplemented

from .class_demands import CLASSES
from .convolution_demands import CONVOLUTIONS
from .demand import Demand, Ints, each, require, sizes_of
from .fill_demands import FILLED
from .index_demands import INDEXED
from .kernels.linalg import same_dtype
from .kernels.shapes import broadcast, normal_dim
from .layer_demands import LAYERS
from .matrix_demands import MATRICES
from .norm_demands import NORMS
from .resample_demands import RESAMPLED
from .spectrum_demands import SPECTRA
from .storage import array, promoted
from .window_demands import WINDOWS
from .written_demands import WRITTEN


# -- products and matrices ------------------------------------------------------------------------
def _dot(self: Any, tensor: Any) -> None:
    require(
        self.dtype is tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {self.dtype.word} and "
        f"{tensor.dtype.word}",
    )
    ranks = array(self).ndim, array(tensor).ndim
    require(ranks == (1, 1), f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    n, m = array(self).size, array(tensor).size
    require(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
        f"of elements, but got {n} and {m} elements respectively",
    )


def _cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> None:
    observations = sizes_of(self)[-1] if sizes_of(self) else 1
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        kind = "integral" if name == "fweights" else "floating point"
        require(
            array(weights).ndim < 2,
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{array(weights).ndim} dimensions",
        )
        fits = weights.dtype.is_floating_point if name == "aweights" else weights.dtype.is_integral
        require(
            fits,
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.word} dtype",
        )
        count = array(weights).size
        require(
            count == observations,
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {count} != {observations}",
        )


def _diag(self: Any, diagonal: int = 0) -> None:
    n = array(self).ndim
    require(n in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {n}D")


def _diagonal(lead: int) -> Demand:
    """The two dimensions of a diagonal; `lead` more than the tensor has in `diag_embed`."""

    def check(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> None:
        ndim = array(self).ndim + lead
        require(
            normal_dim(dim1, ndim) != normal_dim(dim2, ndim),
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
        )

    return check


def _at_least(ndim: int) -> Demand:
    return lambda self: require(array(self).ndim >= ndim, f"Input must be >= {ndim}-d.")


def _rot90(self: Any, k: int = 1, dims: Ints = (0, 1)) -> None:
    n = array(self).ndim
    require(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    require(n >= 2, f"expected total dims >= 2, but got total dims = {n}")
    require(
        dims[0] != dims[1] and abs(dims[0] - dims[1]) != n,
        f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
    )
    for dim in dims:
        normal_dim(dim, n)


def _movedim(self: Any, source: Ints, destination: Ints) -> None:
    require(
        len(source) == len(destination),
        f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
        f"the same number of dims as destination ({list(destination)} dims)",
    )
    for name, dims in (("source", source), ("destination", destination)):
        found = [normal_dim(d, array(self).ndim) for d in dims]
        require(len(set(found)) == len(found), f"movedim: repeated dim in `{name}` ({list(dims)})")


def _linalg_cross(self: Any, other: Any, dim: int = -1) -> None:
    normal_dim(dim, array(self).ndim)


def _bucketize(self: Any, boundaries: Any, *_: Any) -> None:
    n = array(boundaries).ndim
    require(n == 1, f"boundaries tensor must be 1 dimension, but got dim({n})")


# -- joining --------------------------------------------------------------------------------------
def _some(name: str) -> Demand:
    return lambda tensors: require(len(tensors) > 0, f"{name} expects a non-empty TensorList")


def _chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> None:
    name = "_chunk_cat expects"
    require(len(tensors) > 0, f"{name} a non-empty input tensor list")
    require(num_chunks >= 1, f"{name} positive num_chunks")
    shapes = [sizes_of(x) for x in tensors]
    require(all(array(x).size for x in tensors), f"{name} non-empty tensor")
    mixed = len({len(s) for s in shapes}) > 1
    require(not (mixed and dim < 0), f"{name} non-negative dim when input tensors have different "
             "ndims")  # fmt: skip
    at = dim if mixed else normal_dim(dim, len(shapes[0]))
    require(all(at < len(s) for s in shapes), f"{name} dim < ndim for all input tensors")
    require(
        all(s[:at] == shapes[0][:at] for s in shapes),
        f"{name} same sizes of 0,...,dim-1 dimensions for all tensors",
    )


# -- making ---------------------------------------------------------------------------------------
def _steps(start: Any, end: Any, steps: int, *_: Any) -> None:
    require(steps >= 0, "number of steps must be non-negative")


def _eye(n: int, m: Any = None, *_: Any) -> None:
    require(n >= 0, f"n must be greater or equal to 0, got {n}")
    if isinstance(m, int):
        require(m >= 0, f"m must be greater or equal to 0, got {m}")


def _empty_permuted(size: Ints, physical_layout: Ints, *_: Any) -> None:
    n = len(size)
    require(
        n == len(physical_layout),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {n} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for at, dim in enumerate(physical_layout):
        require(
            0 <= dim < n,
            f"Dimension out of range (expected to be between 0 and {n - 1}, but got {dim} at index "
            f"{at}).  NB: negative dims not currently supported; file an issue if you want it.",
        )
    require(len(set(physical_layout)) == n, "Duplicate dim not allowed")


def _multinomial(self: Any, num_samples: int, replacement: bool = False, *_: Any) -> None:
    weights = np.asarray(array(self))
    if weights.ndim in (1, 2):
        require(weights.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")


# -- losses and activations -----------------------------------------------------------------------
def _multi_margin(
    self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> None:
    shape = sizes_of(self)
    require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    rows = shape[0] if len(shape) == 2 else 1
    given = sizes_of(target)
    require(
        len(given) < 2 and array(target).size == rows,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
        f"samples (batch size). Expected target size [{rows}], but got {given}. Input has shape "
        f"{shape}.",
    )
    classes = shape[-1] if shape else 1
    if weight is not None:
        require(
            sizes_of(weight) == [classes],
            f"inconsistent weight size, expected {classes} but got {sizes_of(weight)}",
        )
    require(
        target.dtype.name == "int64", f"expected scalar type Long but found {target.dtype.word}"
    )


def _multilabel_margin(self: Any, target: Any, reduction: int = 1) -> None:
    shape, given = sizes_of(self), sizes_of(target)
    require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    require(
        given == shape or (len(shape) < 2 and array(target).size == array(self).size),
        f"inconsistent target size: {given} for input of size: {shape}",
    )
    require(
        target.dtype.name == "int64", f"expected scalar type Long but found {target.dtype.word}"
    )
    labels, classes = array(target), shape[-1] if shape else 1
    fits = not labels.size or (labels.min() >= -1 and labels.max() < classes)
    require(bool(fits), "argument #2 'target' is out of range")


def _kl_div(self: Any, target: Any, *_: Any) -> None:
    floats = all(x.dtype.is_floating_point for x in (self, target))
    require(floats, "kl_div: Integral inputs not supported.")


def _soft_margin(self: Any, target: Any, *_: Any) -> None:
    """It is computed in place of a copy of the scores."""
    sizes, shape = sizes_of(self), list(broadcast(sizes_of(self), sizes_of(target)))
    require(sizes == shape, f"output with shape {sizes} doesn't match the broadcast shape {shape}")


def _smooth_l1(self: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> None:
    require(beta >= 0, "smooth_l1_loss does not support negative values for beta.")


def _celu(self: Any, alpha: float = 1.0) -> None:
    require(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")


def _one_dimensional(x: Any, *_: Any) -> None:
    require(array(x).ndim == 1, "x must be a one-dimensional tensor.")


def _softshrink(self: Any, lambd: float = 0.5) -> None:
    top = {"Float": 3.40282e38, "Double": 1.79769e308, "Half": 65504, "BFloat16": 3.38953e38}
    most = top.get(self.dtype.word, 0)
    require(
        not isinstance(lambd, (int, float)) or lambd >= 0,
        f"lambda must be in range [0, {most:g}] for input dtype {self.dtype.word}, but found "
        f"{lambd:g}",
    )


def _poisson(self: Any, target: Any, *_: Any) -> None:
    broadcast(array(target).shape, array(self).shape)


def _narrow(self: Any, dim: int, start: Any, length: int) -> None:
    require(
        array(start).ndim == 0 and start.dtype.is_integral and start.dtype is not bool_,
        "start must be an 0-dim integral Tensor.",
    )


def _tensor_split(self: Any, *_: Any) -> None:
    require(
        array(self).ndim > 0,
        "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
    )


def _combinations(self: Any, r: int = 2, with_replacement: bool = False) -> None:
    require(array(self).ndim == 1, f"Expect a 1D vector, but got shape {sizes_of(self)}")
    require(r >= 0, f"Expect a non-negative number, but got {r}")


def _cartesian(tensors: Sequence[Any]) -> None:
    for x in tensors:
        require(array(x).ndim == 1, f"Expect a 1D vector, but got shape {sizes_of(x)}")


def _chunk(self: Any, chunks: int, dim: int = 0) -> None:
    require(array(self).ndim > 0, "chunk expects at least a 1-dimensional tensor")
    require(chunks > 0, f"chunk expects `chunks` to be greater than 0, got: {chunks}")


def _diff(self: Any, n: int = 1, *_: Any) -> None:
    require(n >= 0, f"order must be non-negative but got {n}")


def _triangle(row: int, col: int, *_: Any) -> None:
    for name, n in (("row", row), ("col", col)):
        require(n >= 0, f"{name} must be non-negative, got{n}")


def _strided(self: Any, size: Ints, stride: Ints, storage_offset: int | None = None) -> None:
    require(
        min(stride, default=0) >= 0,
        "as_strided: Negative strides are not supported at the moment, got strides: "
        f"{list(stride)}",
    )
    offset = storage_offset or 0
    require(offset >= 0, f"Tensor: invalid storage offset {offset}")


def _same_kind(grad_output: Any, output: Any, *_: Any) -> None:
    require(
        sizes_of(grad_output) == sizes_of(output),
        "Expected tensor for argument #1 'grad' to have same size as tensor for argument #2 "
        f"'output'; but {sizes_of(grad_output)} does not equal {sizes_of(output)}",
    )
    require(
        grad_output.dtype is output.dtype,
        f"expected scalar type {grad_output.dtype.word} but found {output.dtype.word}",
    )


def _along_something(name: str, dim_at: int) -> Demand:
    """An element of every row along a dimension that is not empty."""

    def check(self: Any, *rest: Any) -> None:
        a = array(self)
        axis = normal_dim(rest[dim_at], a.ndim)
        if a.ndim and not a.shape[axis]:
            raise DimensionError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")

    return check


def _floating_window(name: str) -> Demand:
    def check(length: int, *bound: Any) -> None:
        require(
            length >= 0,
            f"{name} requires non-negative window_length, got window_length={length}",
        )
        for v in bound:
            fits = not isinstance(v, DType) or v.is_floating_point or v.is_complex
            require(fits, f"{name} expects floating point dtypes, got: {v}")

    return check


_ROUNDED = {"floor": "div_floor_cpu", "trunc": "div_trunc_cpu"}


def _rounded_division(self: Any, other: Any, rounding_mode: str | None = None) -> None:
    dtype = promoted(self, other)
    if rounding_mode in _ROUNDED and (dtype in WIDE_UNSIGNED or dtype is bool_):
        raise unimplemented(_ROUNDED[rounding_mode], dtype)


def _addmv(self: Any, mat: Any, vec: Any, *_: Any) -> None:
    ranks = array(mat).ndim, array(vec).ndim, array(self).ndim
    require(
        ranks[:2] == (2, 1) and ranks[2] <= 1,
        "vector + matrix @ vector expected, got {2}, {0}, {1}".format(*ranks),
    )


def _mv(self: Any, vec: Any) -> None:
    ranks = array(self).ndim, array(vec).ndim
    require(ranks == (2, 1), f"vector + matrix @ vector expected, got 1, {ranks[0]}, {ranks[1]}")


def _normal(deviation: int) -> Demand:
    def check(*bound: Any) -> None:
        require(
            not bound[deviation].dtype.is_complex,
            "normal expects standard deviation to be non-complex",
        )

    return check


def _bincount(self: Any, *_: Any) -> None:
    if self.dtype is bfloat16:
        raise unimplemented("bincount_cpu", bfloat16)


def _reduced_mean(
    self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> None:
    if reduce == "mean" and self.dtype is bool_:
        raise unimplemented("scatter_gather_tensor_cpu_reduce_mean", bool_)


DEMANDS: dict[str, Demand] = {
    **each(_addmv, "addmv", "addmv_"),
    **each(_mv, "mv"),
    **each(_normal(1), "normal.Tensor_Tensor", "normal.float_Tensor"),
    **each(_bincount, "bincount"),
    **each(_reduced_mean, "scatter_reduce.two", "scatter_reduce_.two"),
    **WRITTEN,
    **FILLED,
    **CLASSES,
    **CONVOLUTIONS,
    **INDEXED,
    **MATRICES,
    **NORMS,
    **RESAMPLED,
    **SPECTRA,
    **each(_tensor_split, "tensor_split.sections", "tensor_split.indices"),
    **each(_combinations, "combinations"),
    **each(_strided, "as_strided", "as_strided_", "as_strided_copy"),
    **each(lambda self, src, *view: _strided(self, *view), "as_strided_scatter"),
    **each(_kl_div, "kl_div"),
    **each(_celu, "celu", "celu_"),
    **each(_soft_margin, "soft_margin_loss"),
    **each(_smooth_l1, "smooth_l1_loss"),
    **each(_cartesian, "cartesian_prod"),
    **each(_chunk, "chunk", "unsafe_chunk"),
    **each(_diff, "diff"),
    **each(_triangle, "tril_indices", "triu_indices"),
    **each(same_dtype, "_euclidean_dist"),
    **each(_same_kind, "_softmax_backward_data", "_log_softmax_backward_data"),
    **each(_along_something("mode", 0), "mode"),
    **each(_along_something("kthvalue", 1), "kthvalue"),
    **{
        f"aten::{name}_window{overload}": _floating_window(f"{name}_window")
        for name, own in {"hann": [], "blackman": [], "bartlett": [], "kaiser": [".beta"],
                          "hamming": [".periodic_alpha", ".periodic_alpha_beta"]}.items()
        for overload in ("", ".periodic", *own)
    },
    **each(_rounded_division, "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode",
           "divide.Scalar_mode"),
    **each(_dot, "dot", "vdot"),
    **each(_cov, "cov"),
    **each(_diag, "diag"),
    **each(_diagonal(0), "diagonal", "diagonal_copy", "linalg_diagonal"),
    **each(_diagonal(1), "diag_embed"),
    **each(_at_least(1), "flipud"),
    **each(_at_least(2), "fliplr"),
    **each(_rot90, "rot90"),
    **each(_movedim, "movedim.intlist", "moveaxis.intlist"),
    **each(_linalg_cross, "linalg_cross"),
    **each(_bucketize, "bucketize.Tensor"),
    **each(_some("hstack"), "hstack"),
    **each(_some("vstack"), "vstack"),
    **each(_some("dstack"), "dstack"),
    **each(_chunk_cat, "_chunk_cat"),
    **each(_steps, "logspace"),
    **each(_eye, "eye", "eye.m"),
    **each(_empty_permuted, "empty_permuted"),
    **each(_multinomial, "multinomial"),
    **WINDOWS,
    **LAYERS,
    **each(_multi_margin, "multi_margin_loss"),
    **each(_multilabel_margin, "multilabel_margin_loss", "multilabel_margin_loss_forward"),
    **each(_one_dimensional, "vander"),
    **each(_softshrink, "softshrink"),
    **each(_poisson, "poisson_nll_loss"),
    **each(_narrow, "narrow.Tensor"),
}  # fmt: skip
