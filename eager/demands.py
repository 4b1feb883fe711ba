"""What operators ask of their arguments before they compute: one row an overload.

A row is called with all arguments in schema order and raises in PyTorch's words. It stands here,
not in the kernel, where NumPy would refuse the same arguments in words of its own or take them.
The dtypes that operators take are in `base/operand_dtypes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_
from tensorscript.base.errors import DimensionError, OperatorError

from .kernels.shapes import broadcast, normal_dim
from .kernels.window import spread
from .storage import array

Demand = Callable[..., None]
Ints = Sequence[int]


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise OperatorError(message)


def _sizes(x: Any) -> list[int]:
    return list(array(x).shape)


# -- products and matrices ------------------------------------------------------------------------
def _dot(self: Any, tensor: Any) -> None:
    _require(
        self.dtype is tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {self.dtype.word} and "
        f"{tensor.dtype.word}",
    )
    ranks = array(self).ndim, array(tensor).ndim
    _require(ranks == (1, 1), f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    n, m = array(self).size, array(tensor).size
    _require(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
        f"of elements, but got {n} and {m} elements respectively",
    )


def _cov(self: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> None:
    observations = _sizes(self)[-1] if _sizes(self) else 1
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        kind = "integral" if name == "fweights" else "floating point"
        _require(
            array(weights).ndim < 2,
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{array(weights).ndim} dimensions",
        )
        fits = weights.dtype.is_floating_point if name == "aweights" else weights.dtype.is_integral
        _require(
            fits,
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.word} dtype",
        )
        count = array(weights).size
        _require(
            count == observations,
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {count} != {observations}",
        )


def _diag(self: Any, diagonal: int = 0) -> None:
    n = array(self).ndim
    _require(n in (1, 2), f"diag(): Supports 1D or 2D tensors. Got {n}D")


def _diagonal(lead: int) -> Demand:
    """The two dimensions of a diagonal; `lead` more than the tensor has in `diag_embed`."""

    def check(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> None:
        ndim = array(self).ndim + lead
        _require(
            normal_dim(dim1, ndim) != normal_dim(dim2, ndim),
            f"diagonal dimensions cannot be identical {dim1}, {dim2}",
        )

    return check


def _at_least(ndim: int) -> Demand:
    return lambda self: _require(array(self).ndim >= ndim, f"Input must be >= {ndim}-d.")


def _rot90(self: Any, k: int = 1, dims: Ints = (0, 1)) -> None:
    n = array(self).ndim
    _require(len(dims) == 2, f"expected total rotation dims == 2, but got dims = {len(dims)}")
    _require(n >= 2, f"expected total dims >= 2, but got total dims = {n}")
    _require(
        dims[0] != dims[1] and abs(dims[0] - dims[1]) != n,
        f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
    )
    for dim in dims:
        normal_dim(dim, n)


def _transform(self: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> None:
    """An FFT needs a dimension to run along."""
    if array(self).ndim == 0 and dim is not None:
        first = dim if isinstance(dim, int) else next(iter(dim), None)
        if first is not None:
            raise DimensionError(f"Dimension specified as {first} but tensor has no dimensions")


def _roll(self: Any, shifts: Ints, dims: Ints = ()) -> None:
    if array(self).ndim == 0 and dims:
        raise DimensionError(f"Dimension specified as {dims[0]} but tensor has no dimensions")


def _movedim(self: Any, source: Ints, destination: Ints) -> None:
    _require(
        len(source) == len(destination),
        f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
        f"the same number of dims as destination ({list(destination)} dims)",
    )
    for name, dims in (("source", source), ("destination", destination)):
        found = [normal_dim(d, array(self).ndim) for d in dims]
        _require(len(set(found)) == len(found), f"movedim: repeated dim in `{name}` ({list(dims)})")


def _linalg_cross(self: Any, other: Any, dim: int = -1) -> None:
    normal_dim(dim, array(self).ndim)


def _bucketize(self: Any, boundaries: Any, *_: Any) -> None:
    n = array(boundaries).ndim
    _require(n == 1, f"boundaries tensor must be 1 dimension, but got dim({n})")


# -- joining --------------------------------------------------------------------------------------
def _some(name: str) -> Demand:
    return lambda tensors: _require(len(tensors) > 0, f"{name} expects a non-empty TensorList")


def _chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int) -> None:
    name = "_chunk_cat expects"
    _require(len(tensors) > 0, f"{name} a non-empty input tensor list")
    _require(num_chunks >= 1, f"{name} positive num_chunks")
    shapes = [_sizes(x) for x in tensors]
    _require(all(array(x).size for x in tensors), f"{name} non-empty tensor")
    mixed = len({len(s) for s in shapes}) > 1
    _require(not (mixed and dim < 0), f"{name} non-negative dim when input tensors have different "
             "ndims")  # fmt: skip
    at = dim if mixed else normal_dim(dim, len(shapes[0]))
    _require(all(at < len(s) for s in shapes), f"{name} dim < ndim for all input tensors")
    _require(
        all(s[:at] == shapes[0][:at] for s in shapes),
        f"{name} same sizes of 0,...,dim-1 dimensions for all tensors",
    )


# -- making ---------------------------------------------------------------------------------------
def _steps(start: Any, end: Any, steps: int, *_: Any) -> None:
    _require(steps >= 0, "number of steps must be non-negative")


def _eye(n: int, m: Any = None, *_: Any) -> None:
    _require(n >= 0, f"n must be greater or equal to 0, got {n}")
    if isinstance(m, int):
        _require(m >= 0, f"m must be greater or equal to 0, got {m}")


def _empty_permuted(size: Ints, physical_layout: Ints, *_: Any) -> None:
    n = len(size)
    _require(
        n == len(physical_layout),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {n} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for at, dim in enumerate(physical_layout):
        _require(
            0 <= dim < n,
            f"Dimension out of range (expected to be between 0 and {n - 1}, but got {dim} at index "
            f"{at}).  NB: negative dims not currently supported; file an issue if you want it.",
        )
    _require(len(set(physical_layout)) == n, "Duplicate dim not allowed")


def _multinomial(self: Any, num_samples: int, replacement: bool = False, *_: Any) -> None:
    weights = np.asarray(array(self))
    if weights.ndim in (1, 2):
        _require(weights.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")


# -- convolutions ---------------------------------------------------------------------------------
def _convolution(n: int) -> Demand:
    def check(
        self: Any, weight: Any, bias: Any = None, stride: Ints = (1,), padding: Any = (0,),
        dilation: Ints = (1,), groups: int = 1,
    ) -> None:  # fmt: skip
        sizes, given = _sizes(weight), _sizes(self)
        words = {3: "three", 4: "four", 5: "five"}
        if n == 1:
            _require(len(sizes) >= 3, "weight should have at least three dimensions")
        if len(sizes) != n + 2:
            raise OperatorError(
                f"Expected {len(sizes)}-dimensional input for {len(sizes)}-dimensional weight"
                f"{sizes}, but got {len(given)}-dimensional input of size {given} instead"
                if len(sizes) >= 3
                else f"weight should have at least {words[n + 2]} dimensions"
            )
        _require(groups > 0, "non-positive groups is not supported")
        _require(
            sizes[0] >= groups,
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {sizes} instead",
        )
        _require(
            sizes[0] % groups == 0,
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {sizes} instead",
        )
        _require(min(stride) > 0, "non-positive stride is not supported")
        if isinstance(padding, str):
            _require(
                padding != "same" or set(stride) == {1},
                "padding='same' is not supported for strided convolutions",
            )
        else:
            _require(min(padding) >= 0, "negative padding is not supported")

    return check


# -- pooling --------------------------------------------------------------------------------------
def _adaptive(name: str, n: int) -> Demand:
    def check(self: Any, output_size: Ints) -> None:
        if n == 1:
            message = f"{name}() argument 'output_size' should contain one int (got "
            _require(len(output_size) == 1, f"{message}{len(output_size)})")
        else:
            inner = "(): internal error: output_size.size()" if "max" in name else ": output_size"
            _require(len(output_size) in (1, n), f"{name}{inner} must be {n}")
        if "max" in name and min(output_size) < 0:
            lead = _sizes(self)[:-n]
            lead = [1, *lead] if n == 1 and len(lead) == 1 else lead
            extra = [1] if n == 1 else []
            raise OperatorError(
                f"Trying to create tensor with negative dimension {min(output_size)}: "
                f"{[*lead, *extra, *output_size]}"
            )

    return check


def _padding(kernel_size: Ints, padding: Ints, dilation: Ints = (1,)) -> None:
    for k, p in zip(spread(kernel_size, len(padding)), padding, strict=False):
        _require(p >= 0, f"pad must be non-negative, but got pad: {p}")
        _require(
            p <= k // 2,
            f"pad should be at most half of effective kernel size, but got pad={p}, "
            f"kernel_size={k} and dilation={dilation[0]}",
        )


def _max_pool1d(
    self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
    ceil_mode: bool = False,
) -> None:  # fmt: skip
    shape = _sizes(self)
    _require(
        len(shape) in (2, 3) and all(shape[-2:]),
        "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got:{shape}",
    )
    step = stride or kernel_size
    for name, (value,) in (
        ("kernel_size", kernel_size), ("stride", step), ("dilation", dilation),
    ):  # fmt: skip
        _require(value > 0, f"max_pool1d() {name} must be greater than zero, but got {value}")
    _padding(kernel_size, padding, dilation)
    (pad,), (kernel,) = padding, kernel_size
    outputs = (shape[-1] + 2 * pad - dilation[0] * (kernel - 1) - 1) // step[0] + 1
    _require(outputs > 0, f"max_pool1d() Invalid computed output size: {outputs}")


def _pool(n: int, several: str) -> Demand:
    """Two and three dimensions: the positive sizes, and none of the inner sizes 0."""

    def check(
        self: Any, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), *_: Any
    ) -> None:
        shape = _sizes(self)
        _padding(spread(kernel_size, n), spread(padding, n))
        _require(
            len(shape) in (n + 1, n + 2) and all(shape[len(shape) - n - 1 :]),
            several.format(sizes=shape),
        )
        _require(min(spread(kernel_size, n)) > 0, "kernel size should be greater than zero")
        _require(not stride or min(stride) > 0, "stride should not be zero")

    return check


_POOL_2D = (
    "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
    "got:{sizes}"
)
_POOL_3D = (
    "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch dimensions to have "
    "positive length, but input has a shape of {sizes}"
)


# -- losses and activations -----------------------------------------------------------------------
def _multi_margin(
    self: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> None:
    shape = _sizes(self)
    _require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    rows = shape[0] if len(shape) == 2 else 1
    given = _sizes(target)
    _require(
        len(given) < 2 and array(target).size == rows,
        "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
        f"samples (batch size). Expected target size [{rows}], but got {given}. Input has shape "
        f"{shape}.",
    )
    classes = shape[-1] if shape else 1
    if weight is not None:
        _require(
            _sizes(weight) == [classes],
            f"inconsistent weight size, expected {classes} but got {_sizes(weight)}",
        )
    _require(
        target.dtype.name == "int64", f"expected scalar type Long but found {target.dtype.word}"
    )


def _multilabel_margin(self: Any, target: Any, reduction: int = 1) -> None:
    shape, given = _sizes(self), _sizes(target)
    _require(
        len(shape) < 3 and all(shape[-1:]),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}",
    )
    _require(
        given == shape or (len(shape) < 2 and array(target).size == array(self).size),
        f"inconsistent target size: {given} for input of size: {shape}",
    )


def _softshrink(self: Any, lambd: float = 0.5) -> None:
    top = {"Float": 3.40282e38, "Double": 1.79769e308, "Half": 65504, "BFloat16": 3.38953e38}
    most = top.get(self.dtype.word, 0)
    _require(
        not isinstance(lambd, (int, float)) or lambd >= 0,
        f"lambda must be in range [0, {most:g}] for input dtype {self.dtype.word}, but found "
        f"{lambd:g}",
    )


def _poisson(self: Any, target: Any, *_: Any) -> None:
    broadcast(array(self).shape, array(target).shape)


def _narrow(self: Any, dim: int, start: Any, length: int) -> None:
    _require(
        array(start).ndim == 0 and start.dtype.is_integral and start.dtype is not bool_,
        "start must be an 0-dim integral Tensor.",
    )


def _each(check: Demand, *names: str) -> dict[str, Demand]:
    return {f"aten::{name}": check for name in names}


DEMANDS: dict[str, Demand] = {
    **_each(_dot, "dot", "vdot"),
    **_each(_cov, "cov"),
    **_each(_diag, "diag"),
    **_each(_diagonal(0), "diagonal", "diagonal_copy", "linalg_diagonal"),
    **_each(_diagonal(1), "diag_embed"),
    **_each(_at_least(1), "flipud"),
    **_each(_at_least(2), "fliplr"),
    **_each(_rot90, "rot90"),
    **_each(_roll, "roll"),
    **_each(_movedim, "movedim.intlist", "moveaxis.intlist"),
    **_each(_linalg_cross, "linalg_cross"),
    **_each(_bucketize, "bucketize.Tensor"),
    **_each(_transform, *(f"fft_{name}" for name in (
        "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2",
        "hfft2", "ihfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"))),
    **_each(_some("hstack"), "hstack"),
    **_each(_some("vstack"), "vstack"),
    **_each(_some("dstack"), "dstack"),
    **_each(_chunk_cat, "_chunk_cat"),
    **_each(_steps, "logspace"),
    **_each(_eye, "eye", "eye.m"),
    **_each(_empty_permuted, "empty_permuted"),
    **_each(_multinomial, "multinomial"),
    **{f"aten::conv{n}d{form}": _convolution(n) for n in (1, 2, 3) for form in ("", ".padding")},
    **{f"aten::{name}": _adaptive(name, n) for n in (1, 2, 3)
       for name in (f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d")},
    **_each(_max_pool1d, "max_pool1d", "max_pool1d_with_indices"),
    **_each(_pool(2, _POOL_2D), "max_pool2d", "max_pool2d_with_indices"),
    **_each(_pool(3, _POOL_3D), "max_pool3d", "max_pool3d_with_indices"),
    **_each(_pool(3, "non-empty 4D or 5D (batch mode) tensor expected for input"), "avg_pool3d"),
    **_each(_multi_margin, "multi_margin_loss"),
    **_each(_multilabel_margin, "multilabel_margin_loss"),
    **_each(_softshrink, "softshrink"),
    **_each(_poisson, "poisson_nll_loss"),
    **_each(_narrow, "narrow.Tensor"),
}  # fmt: skip
