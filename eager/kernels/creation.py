"""New tensors: constants, ranges, copies, fills."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorscript.base.dtypes import DType, bool_, complex_dtype, float64, int64, scalar_dtype
from tensorscript.base.errors import OperatorError, ValueRangeError

from ..mapped_files import mapped
from ..modes import MODES
from ..storage import Array, array, compute_dtype, make, to_storage, value, wrap
from .shapes import broadcast, check_sizes

Kernel = Callable[..., Any]


def shape_of(size: Sequence[int], dtype: DType) -> tuple[int, ...]:
    """Sizes of a new tensor.

    Raises:
        OperatorError: one is negative, or its bytes cannot be counted in 64 bits.
    """
    check_sizes(size)
    if math.prod(size) * dtype.itemsize >= 1 << 63:
        raise OperatorError(f"Storage size calculation overflowed with sizes={list(size)}")
    return tuple(size)


def filled(size: Sequence[int], number: Any, dtype: DType) -> Any:
    cell = to_storage(np.asarray(number), dtype)
    return make(np.full(shape_of(size, dtype), cell, dtype.numpy), dtype)


def constant(number: int) -> Kernel:
    """zeros, ones, empty: the default dtype unless one is given."""
    return lambda size, dtype=None, *_: filled(size, number, dtype or MODES.default_dtype)


def constant_like(number: int) -> Kernel:
    return lambda self, dtype=None, *_: filled(array(self).shape, number, dtype or self.dtype)


def new_constant(number: int) -> Kernel:
    return lambda self, size, dtype=None, *_: filled(size, number, dtype or self.dtype)


def full(size: Sequence[int], number: Any, dtype: DType | None = None, *_: Any) -> Any:
    return filled(size, number, dtype or scalar_dtype(number, MODES.default_dtype))


def full_like(self: Any, number: Any, dtype: DType | None = None, *_: Any) -> Any:
    return filled(array(self).shape, number, dtype or self.dtype)


def new_full(self: Any, size: Sequence[int], number: Any, dtype: Any = None, *_: Any) -> Any:
    return filled(size, number, dtype or self.dtype)


def arange(start: Any, end: Any, step: Any = 1, dtype: DType | None = None) -> Any:
    """start, start+step, ... below end; integers unless a bound is floating."""
    integral = all(isinstance(v, int) for v in (start, end, step))
    out = dtype or (int64 if integral else MODES.default_dtype)
    if step == 0:
        raise OperatorError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise OperatorError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise OperatorError("upper bound and lower bound inconsistent with step sign")
    if integral:
        return wrap(np.arange(start, end, step, dtype=np.int64), out)
    count = int(np.ceil((end - start) / step))
    if out.is_integral:
        return _whole_range(start, end, step, count, out)
    return wrap(start + step * np.arange(count, dtype=np.float64), out)


def _whole_range(start: Any, end: Any, step: Any, count: int, dtype: DType) -> Any:
    """Bounds that are no integers lose their fraction; int64 counts after that, others before."""
    low, high, by = int(start), int(end), int(step)
    if dtype is int64:
        if by == 0:
            raise ValueRangeError("step must be nonzero")
        count = max(0, -((low - high) // by)) if by > 0 else max(0, -((high - low) // -by))
    return wrap(low + by * np.arange(count), dtype)


def linspace(start: Any, end: Any, steps: int, dtype: DType | None = None, *_: Any) -> Any:
    if steps < 0:
        raise OperatorError("number of steps must be non-negative")
    low, high = _number(start), _number(end)
    out = dtype or _of_bounds(low, high)
    if not out.is_integral:
        return wrap(spaced(low, high, steps, out), out)
    # Whole bounds first; the second half counts from the end, and all fractions are dropped.
    first, last = int(low), int(high)
    by = (last - first) / (steps - 1) if steps > 1 else 0.0
    k = np.arange(steps)
    return wrap(
        np.trunc(np.where(k < max(1, steps // 2), first + by * k, last - by * (steps - 1 - k))), out
    )


def spaced(low: Any, high: Any, steps: int, dtype: DType) -> Array:
    """Evenly spaced numbers as PyTorch rounds them: the second half counts from the end."""
    one = np.zeros((), compute_dtype(dtype)).dtype.type
    first, last = one(low), one(high)
    if steps < 2:
        return np.full(steps, first)
    by = (last - first) / one(steps - 1)
    k = np.arange(steps)
    ahead, behind = first + by * k.astype(by.dtype), last - by * (steps - 1 - k).astype(by.dtype)
    return np.asarray(np.where(k < steps // 2, ahead, behind))


def _of_bounds(low: Any, high: Any) -> DType:
    """The dtype of a range without one: complex where a bound is."""
    either = isinstance(low, complex) or isinstance(high, complex)
    return complex_dtype(MODES.default_dtype) if either else MODES.default_dtype


def _number(x: Any) -> Any:
    """A Python number, also of a 0-dim tensor."""
    if not hasattr(x, "dtype"):
        return x
    if array(x).ndim:
        raise OperatorError("linspace only supports 0-dimensional start and end tensors")
    return value(x).item()


def copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """What `copy_` leaves in `self`, as a new tensor."""
    return copy_(make(array(self).copy(), self.dtype), src)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, dtype: DType | None = None, *_: Any
) -> Any:
    low, high = _number(start), _number(end)
    if dtype is None or not dtype.is_integral:
        exponents = np.linspace(low, high, steps)
        return wrap(np.power(base, exponents), dtype or _of_bounds(low, high))
    if steps > 1:  # bounds of several whole numbers lose their fractions, the steps between keep it
        low, high = int(low), int(high)
    return wrap(np.trunc(np.power(base, spaced(low, high, steps, float64))), dtype)


def eye(n: int, m: int | None = None, dtype: DType | None = None) -> Any:
    return wrap(np.eye(n, m), dtype or MODES.default_dtype)


def indices(fn: Callable[..., Any]) -> Kernel:
    def run(row: int, col: int, offset: int = 0, dtype: DType | None = None, *_: Any) -> Any:
        return wrap(np.stack(fn(row, offset, col)), dtype or int64)

    return run


def window(coefficients: tuple[float, ...]) -> Kernel:
    """A sum of cosines over `length` samples; periodic windows drop the last of length + 1."""

    def run(length: int, periodic: bool = True, dtype: DType | None = None) -> Any:
        n = length if periodic else length - 1
        angle = 2 * np.pi * np.arange(length) / max(n, 1)
        out = sum(c * np.cos(k * angle) for k, c in enumerate(coefficients))
        return wrap(out if length != 1 else np.ones(1), dtype or MODES.default_dtype)

    return run


def bartlett(length: int, periodic: bool = True, dtype: DType | None = None, *_: Any) -> Any:
    """A triangle from 0 to 0."""
    n = length if periodic else length - 1
    out = 1 - np.abs(2 * np.arange(length) / max(n, 1) - 1)
    return wrap(out if length != 1 else np.ones(1), dtype or MODES.default_dtype)


def kaiser(
    length: int, periodic: bool = True, beta: float = 12.0, dtype: DType | None = None, *_: Any
) -> Any:
    n = length if periodic else length - 1
    place = 2 * np.arange(length) / max(n, 1) - 1
    out = np.i0(beta * np.sqrt(np.maximum(1 - place * place, 0))) / np.i0(beta)
    return wrap(out if length != 1 else np.ones(1), dtype or MODES.default_dtype)


def range_(start: Any, end: Any, step: Any = 1, dtype: DType | None = None, *_: Any) -> Any:
    """As `arange`, the end included; floating point unless a dtype is given."""
    if step == 0:
        raise OperatorError("step must be nonzero")
    if (end - start) * step < 0:
        raise OperatorError("upper bound and lower bound inconsistent with step sign")
    kind = dtype or MODES.default_dtype
    if not kind.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    count = int((end - start) / step) + 1
    return wrap(start + step * np.arange(count, dtype=np.float64), kind)


def strided(size: Sequence[int], stride: Sequence[int], dtype: DType) -> Any:
    """Zeros with the given strides (in elements)."""
    if len(size) != len(stride):
        raise OperatorError(
            f"mismatch in length of strides and shape: {len(size)} sizes, {len(stride)} strides"
        )
    extent = 1 + sum((n - 1) * s for n, s in zip(shape_of(size, dtype), stride, strict=True) if n)
    memory = np.zeros(extent if all(size) else 0, dtype.numpy)
    steps = tuple(s * memory.itemsize for s in stride)
    return make(as_strided(memory, tuple(size), steps), dtype)


def permuted(size: Sequence[int], layout: Sequence[int], dtype: DType) -> Any:
    """Zeros whose dimensions lie in memory in the order of `layout`."""
    if sorted(layout) != list(range(len(size))):
        raise OperatorError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(layout)}"
        )
    memory = np.zeros([size[d] for d in layout], dtype.numpy)
    return make(memory.transpose(np.argsort(layout)), dtype)


def _window_rows(name: str, coefficients: tuple[float, ...]) -> dict[str, Kernel]:
    run = window(coefficients)
    return {
        f"aten::{name}": lambda n, dtype=None, *_: run(n, True, dtype),
        f"aten::{name}.periodic": lambda n, periodic, dtype=None, *_: run(n, periodic, dtype),
    }


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    dtype: DType | None = None,
    *_: Any,
) -> Any:
    """`size` elements of a file's memory; see `mapped_files`."""
    found = dtype or MODES.default_dtype
    memory = mapped(filename, bool(shared), (size or 0) * found.itemsize)
    return make(memory.view(found.numpy), found)


def clone(self: Any, memory_format: Any = None) -> Any:
    return make(array(self).copy(order="K"), self.dtype)


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write `src`, broadcast and converted, into `self`."""
    if not hasattr(src, "dtype"):
        return fill_(self, src)
    target = array(self)
    source = array(src) if src.dtype is self.dtype else to_storage(value(src), self.dtype)
    if (shape := broadcast(target.shape, source.shape)) != target.shape:
        raise OperatorError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )
    target[...] = source
    return self


def fill_(self: Any, number: Any) -> Any:
    found = value(number) if hasattr(number, "dtype") else np.asarray(number)
    if found.ndim:
        raise OperatorError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{found.ndim} dimensions."
        )
    array(self)[...] = to_storage(found, self.dtype)
    return self


def tensor(data: Any, dtype: DType | None = None, device: Any = None, grad: bool = False) -> Any:
    """`torch.tensor` on numbers and nested lists (TorchScript's form)."""
    found = np.asarray(data)
    if dtype is None:
        kind = found.dtype.kind
        dtype = {"b": bool_, "i": int64, "f": MODES.default_dtype}.get(kind) or scalar_dtype(
            1j, MODES.default_dtype
        )
        dtype = MODES.default_dtype if found.size == 0 else dtype
    return wrap(np.array(found), dtype)


def zero_(self: Any) -> Any:
    return fill_(self, 0)


KERNELS: dict[str, Kernel] = {
    "aten::zeros": constant(0),
    "aten::ones": constant(1),
    "aten::empty.memory_format": constant(0),
    "aten::zeros_like": constant_like(0),
    "aten::ones_like": constant_like(1),
    "aten::empty_like": constant_like(0),
    "aten::new_zeros": new_constant(0),
    "aten::new_ones": new_constant(1),
    "aten::new_empty": new_constant(0),
    "aten::full": full,
    "aten::from_file": from_file,
    "aten::full_like": full_like,
    "aten::new_full": new_full,
    "aten::empty_strided": lambda size, stride, dtype=None, *_: strided(
        size, stride, dtype or MODES.default_dtype
    ),
    "aten::new_empty_strided": lambda self, size, stride, dtype=None, *_: strided(
        size, stride, dtype or self.dtype
    ),
    "aten::empty_permuted": lambda size, layout, dtype=None, *_: permuted(
        size, layout, dtype or MODES.default_dtype
    ),
    "aten::bartlett_window": lambda n, dtype=None, *_: bartlett(n, True, dtype),
    "aten::bartlett_window.periodic": bartlett,
    "aten::kaiser_window": lambda n, dtype=None, *_: kaiser(n, True, 12.0, dtype),
    "aten::kaiser_window.periodic": lambda n, periodic, dtype=None, *_: kaiser(
        n, periodic, 12.0, dtype
    ),
    "aten::kaiser_window.beta": kaiser,
    "aten::range": lambda start, end, dtype=None, *_: range_(start, end, 1, dtype),
    "aten::range.step": range_,
    "aten::arange": lambda end, dtype=None, *_: arange(0, end, 1, dtype),
    "aten::arange.start": lambda start, end, dtype=None, *_: arange(start, end, 1, dtype),
    "aten::arange.start_step": lambda start, end, step, dtype=None, *_: arange(
        start, end, step, dtype
    ),
    "aten::linspace": linspace,
    "aten::logspace": logspace,
    **{
        f"aten::{name}.{pair}": fn
        for name, fn in (("linspace", linspace), ("logspace", logspace))
        for pair in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
    },
    "aten::copy": copy,
    "aten::eye": lambda n, dtype=None, *_: eye(n, None, dtype),
    "aten::eye.m": lambda n, m, dtype=None, *_: eye(n, m, dtype),
    "aten::tril_indices": indices(np.tril_indices),
    "aten::triu_indices": indices(np.triu_indices),
    "aten::scalar_tensor": lambda s, dtype=None, *_: filled((), s, dtype or MODES.default_dtype),
    "aten::tensor": tensor,
    "aten::tensor.int": tensor,
    "aten::tensor.float": tensor,
    "aten::tensor.bool": tensor,
    "aten::tensor.complex": tensor,
    **{f"aten::as_tensor.{k}": tensor for k in ("int", "float", "bool", "complex")},
    "aten::as_tensor.list": tensor,
    "aten::as_tensor": lambda data, dtype=None, device=None: data.to(dtype) if dtype else data,
    "aten::clone": clone,
    "aten::copy_": copy_,
    "aten::copy_.Tensor": copy_,
    "aten::copy_.int": copy_,
    "aten::copy_.float": copy_,
    "aten::fill_.Scalar": fill_,
    "aten::fill_.Tensor": fill_,
    "aten::fill.Scalar": lambda self, v: fill_(clone(self), v),
    "aten::fill.Tensor": lambda self, v: fill_(clone(self), v),
    "aten::zero_": zero_,
    "aten::_no_grad_fill_": fill_,
    "aten::_no_grad_zero_": zero_,
    **_window_rows("hann_window", (0.5, -0.5)),
    **_window_rows("hamming_window", (0.54, -0.46)),
    "aten::hamming_window.periodic_alpha": lambda n, periodic, alpha, dtype=None, *_: window(
        (alpha, -0.46)
    )(n, periodic, dtype),
    "aten::hamming_window.periodic_alpha_beta": lambda n, periodic, alpha, beta, dtype=None, *_: (
        window((alpha, -beta))(n, periodic, dtype)
    ),
    **_window_rows("blackman_window", (0.42, -0.5, 0.08)),
}
