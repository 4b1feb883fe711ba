"""What operators ask of their arguments before they compute: one row an overload.

A row is called with all arguments in schema order and raises in PyTorch's words. It stands here,
not in the kernel, where NumPy would refuse the same arguments in words of its own or take them.
The dtypes that operators take are in `base/operand_dtypes.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorscript.base.dtypes import WIDE_UNSIGNED, bfloat16, bool_
from tensorscript.base.errors import DimensionError
from tensorscript.base.operand_dtypes import unimplemented

from .class_demands import CLASSES
from .convolution_demands import CONVOLUTIONS
from .creation_demands import MADE
from .demand import Demand, Ints, each, require, sizes_of
from .fill_demands import FILLED
from .index_demands import INDEXED
from .kernels.linalg import same_dtype
from .kernels.shapes import normal_dim
from .layer_demands import LAYERS
from .loss_demands import LOSSES
from .matrix_demands import MATRICES
from .norm_demands import NORMS
from .resample_demands import RESAMPLED
from .spectrum_demands import SPECTRA
from .storage import array, promoted
from .window_demands import WINDOWS
from .written_demands import WRITTEN

# -- products and matrices ------------------------------------------------------------------------


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


def _one_dimensional(x: Any, *_: Any) -> None:
    require(array(x).ndim == 1, "x must be a one-dimensional tensor.")


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


_ROUNDED = {"floor": "div_floor_cpu", "trunc": "div_trunc_cpu"}


def _rounded_division(self: Any, other: Any, rounding_mode: str | None = None) -> None:
    dtype = promoted(self, other)
    if rounding_mode in _ROUNDED and (dtype in WIDE_UNSIGNED or dtype is bool_):
        raise unimplemented(_ROUNDED[rounding_mode], dtype)


def _bincount(self: Any, *_: Any) -> None:
    if self.dtype is bfloat16:
        raise unimplemented("bincount_cpu", bfloat16)


def _reduced_mean(
    self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> None:
    if reduce == "mean" and self.dtype is bool_:
        raise unimplemented("scatter_gather_tensor_cpu_reduce_mean", bool_)


DEMANDS: dict[str, Demand] = {
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
    **each(_cartesian, "cartesian_prod"),
    **each(_chunk, "chunk", "unsafe_chunk"),
    **each(_diff, "diff"),
    **each(same_dtype, "_euclidean_dist"),
    **each(_same_kind, "_softmax_backward_data", "_log_softmax_backward_data"),
    **each(_along_something("mode", 0), "mode"),
    **each(_along_something("kthvalue", 1), "kthvalue"),
    **each(_rounded_division, "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode",
           "divide.Scalar_mode"),
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
    **WINDOWS,
    **LAYERS,
    **LOSSES,
    **MADE,
    **each(_one_dimensional, "vander"),
    **each(_narrow, "narrow.Tensor"),
}  # fmt: skip
