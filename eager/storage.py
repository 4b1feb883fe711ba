"""Array-level ground of the kernels: tensors as NumPy arrays and back, bfloat16, promotion.

`TensorBase` holds the data; `tensorscript.eager.tensor.Tensor` adds the operators. Kernels see
tensors only through the functions here, so they need no import of the class with the operators:

    array(t)          the stored NumPy array (bfloat16: its bits), whatever the sign of `t`
    compute(t)        an array to calculate with: float16 and bfloat16 widened to float32
    wrap(a, dtype)    a tensor of `dtype` from an array, rounded to nearest even where it narrows
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tensorscript.base.dtypes import (
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    from_numpy,
    int64,
    numbers,
    result_type,
    scalar_dtype,
)
from tensorscript.base.errors import OperatorError
from tensorscript.base.importing import imported
from tensorscript.base.records import dataclass
from tensorscript.base.rounding import bfloat16_bits

from .modes import MODES

Array = NDArray[Any]
Number = bool | int | float | complex


class Reading:
    """How stored elements are read where they do not stand for themselves."""

    def __post_init__(self) -> None:
        MODES.has_readings = True


@dataclass(frozen=True)
class Sign(Reading):
    """A view that shows the conjugates of what is stored, the negatives, or both."""

    conjugated: bool = False
    negated: bool = False

    def __post_init__(self) -> None:
        if self.conjugated or self.negated:
            super().__post_init__()


@dataclass(frozen=True, eq=False)
class Quantizer(Reading):
    """What the integers of a quantized tensor stand for: (integer - zero_point) * scale.

    Attributes:
        scale: float64, of no dimension, or one for each index along `axis`.
        zero_point: int64, of the same shape; along an axis both may be float32 instead.
    """

    scale: Array
    zero_point: Array
    axis: int | None = None

    @property
    def dtypes(self) -> tuple[DType, DType]:
        """Those of scale and zero point."""
        return (float32, float32) if self.has_float_zeros else (float64, int64)

    @property
    def has_float_zeros(self) -> bool:
        """Whether zero points are no integers, as those of embeddings."""
        return self.zero_point.dtype.kind == "f"


@dataclass(frozen=True, eq=False)
class Sparse(Reading):
    """What stands at some places of a tensor of zeros.

    Attributes:
        indices: int64: coordinates (sparse dimensions, n); of a matrix by rows the n columns.
        values: (n, ...) with what is dense.
        rows: of a matrix by rows where each starts, int64; None for coordinates.
        coalesced: each place comes once, in row-major order.
    """

    indices: TensorBase
    values: TensorBase
    rows: TensorBase | None = None
    coalesced: bool = False

    @property
    def parts(self) -> tuple[TensorBase, ...]:
        """Rows, if there are any, indices and values."""
        rows = () if self.rows is None else (self.rows,)
        return (*rows, self.indices, self.values)


class TensorBase:
    """Data of one tensor: a NumPy array that may be a view, and its dtype.

    Attributes:
        _array: the storage; bfloat16 is kept as uint16 bits.
        dtype: element type.
        _requires_grad: a flag only; eager mode records no gradients.
        _computed: the flag comes from operands, not from the program.
        _base: the tensor that this one is a view of.
        _view_mode: why a view is not written to where gradients are on: the mode without gradients
            in which it was made, or which one of several views it is (`tracking.py`).
        _writes: how often the memory was written to, shared with views; None before the first.
        _lengths: of a nested tensor, how many rows each entry has (`kernels/nested.py`).
        _quantizer: of a quantized tensor, what its integers stand for (`quantization.py`).
        _sparse: of a sparse tensor, what stands where (`kernels/sparse.py`); `_array` shows zeros.
        _sign: of a conjugate or a negative that is a view, what it shows (`signs.py`).
    """

    __slots__ = (
        "__weakref__", "_array", "_base", "_computed", "_lengths", "_quantizer", "_requires_grad",
        "_sign", "_sparse", "_view_mode", "_writes", "dtype",
    )  # fmt: skip

    _array: Array
    dtype: DType
    _requires_grad: bool
    _computed: bool
    _base: TensorBase | None
    _writes: list[int] | None
    _lengths: Array | None
    _quantizer: Quantizer | None
    _sign: Sign | None
    _sparse: Sparse | None
    _view_mode: str | None

    def __init__(self, array: Array, dtype: DType) -> None:
        self._array = array if array.size else with_steps(array)
        self.dtype = dtype
        self._requires_grad = self._computed = False
        self._base = self._writes = self._lengths = self._quantizer = None
        self._sign = self._sparse = self._view_mode = None

    def _reads_otherwise(self) -> bool:
        """Whether the elements are not those of the array."""
        readings = (self._quantizer, self._sign, self._sparse, self._lengths)
        return any(r is not None for r in readings)

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient was asked for, here, of an operand or of what is viewed."""
        base = self._base
        return self._requires_grad or (
            base is not None
            and base._requires_grad
            and (self.dtype.is_floating_point or self.dtype.is_complex)
        )

    @requires_grad.setter
    def requires_grad(self, asked: bool) -> None:
        if not isinstance(asked, bool):
            raise OperatorError("requires_grad must be a bool")
        if asked and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise OperatorError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if self._computed and not asked:
            raise OperatorError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        self._requires_grad = asked


def with_steps(empty: Array) -> Array:
    """An array without elements in the strides of PyTorch's: NumPy's new ones have strides of 0."""
    if any(empty.strides) or not empty.ndim:
        return empty
    strides, step = [], empty.itemsize
    for n in reversed(empty.shape):
        strides.append(step)
        step *= max(1, n)
    return as_strided(empty, empty.shape, strides[::-1])


def _first(storage: Array, dtype: DType) -> TensorBase:
    """The first tensor of a program that has not used the class so far, which loads it."""
    imported("tensorscript.eager.tensor")
    return make(storage, dtype)


TENSOR_CLASS: list[Callable[[Array, DType], TensorBase]] = [_first]
"""The class that `wrap` makes; `tensor.py` sets it once (kernels are below the class)."""


def make(storage: Array, dtype: DType) -> TensorBase:
    """A tensor over `storage`, which already has the storage dtype; no copy."""
    return TENSOR_CLASS[0](storage, dtype)


def array(t: TensorBase) -> Array:
    return t._array


def shown(t: TensorBase) -> Array:
    """What `t` shows, in its storage dtype: its array, or a copy where a sign changes it."""
    return t._array if (sign := t._sign) is None else signed(t._array, sign, t.dtype)


def signed(stored: Array, sign: Sign, dtype: DType) -> Array:
    """Conjugates, negatives or both of stored elements, in the same strides."""
    found = np.conj(stored) if sign.conjugated else stored
    if not sign.negated:
        return found
    return to_storage(np.negative(numbers(found, dtype)), dtype)


def value(t: TensorBase) -> Array:
    """The numbers of `t`: its array, or a copy: float32 for bfloat16, what a sign changes."""
    return numbers(t._array if t._sign is None else shown(t), t.dtype)


def compute(t: TensorBase) -> Array:
    """An array to calculate with: half types as float32, everything else as it is stored."""
    if t.dtype is float16:
        return t._array.astype(np.float32)
    return value(t)


def compute_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype in which `dtype` is calculated."""
    return float32.numpy if dtype in (float16, bfloat16) else dtype.numpy


def to_storage(values: Any, dtype: DType) -> Array:
    """`values` as the storage array of `dtype` (a copy only where the dtype changes)."""
    found = np.asarray(values)
    if found.dtype.kind == "c" and dtype.numpy.kind not in "cb":
        found = found.real
    if dtype is bfloat16:
        return bfloat16_bits(found)
    if found.dtype == dtype.numpy:
        return found
    if found.dtype.kind == "f" and dtype.numpy.kind in "iu":
        return wrap_to_integer(found, dtype)
    return found.astype(dtype.numpy)


def wrap_to_integer(found: Array, dtype: DType) -> Array:
    """float to integer as x86-64 does: through int64, or through int32 for what is not wider; what
    does not fit (and NaN) is the least number there, of which narrower types keep the low bits.
    Unsigned integers of those widths have their upper half from what is left above the lower."""
    step = np.dtype(np.int64 if dtype.bits == 64 else np.int32)
    half = 2.0 ** (8 * step.itemsize - 1)
    if dtype.signed or dtype.bits < 32:
        return _to_signed(found, step, half).astype(dtype.numpy)
    upper = found >= half
    whole = _to_signed(np.where(upper, found - half, found), step, half)
    return np.where(upper, whole ^ int(-half), whole).astype(dtype.numpy)


def _to_signed(found: Array, step: np.dtype[Any], half: float) -> Array:
    """Truncated to `step`, whose least number is -`half`."""
    fits = (found > -half - 1) & (found < half)
    return np.where(fits, found, -half).astype(step)


def wrap(values: Any, dtype: DType) -> Any:
    """A tensor of `dtype` holding `values`."""
    return make(to_storage(values, dtype), dtype)


def wrap_like(values: Any) -> Any:
    """A tensor of the dtype that `values` (an array) already has."""
    found = np.asarray(values)
    return make(found, from_numpy(found.dtype))


def cast(t: Any, dtype: DType) -> Array:
    """`t` (tensor or number) as an array in which `dtype` is calculated.

    The conversion goes through `dtype` itself, so a float64 operand of a float16 operator is
    rounded to float16 first, as PyTorch does.
    """
    want = compute_dtype(dtype)
    if isinstance(t, TensorBase):
        if t.dtype is dtype:
            return compute(t)
        found = value(t)
    else:
        found = np.asarray(t)
        if want is float32.numpy or found.dtype.kind == "O":
            return _scalar(t, want)
    if dtype in (float16, bfloat16) and isinstance(t, TensorBase):
        return compute(wrap(found, dtype))
    if found.dtype == want:
        return found
    if found.dtype.kind == "c" and want.kind not in "cb":
        found = found.real
    if found.dtype.kind == "f" and want.kind in "iu":
        return wrap_to_integer(found, dtype)
    return found.astype(want)


def _scalar(t: Any, want: np.dtype[Any]) -> Array:
    if isinstance(t, int) and not isinstance(t, bool) and want.kind in "iu":
        return np.asarray(wrap_int64(t)).astype(want)
    return np.asarray(t).astype(want)


def wrap_int64(number: int) -> int:
    """Two's complement wraparound to 64 bits."""
    return ((number + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def rounded(values: Array, dtype: DType) -> Array:
    """`values` after a step whose result PyTorch stores: half types round, others stay."""
    return compute(wrap(values, dtype)) if dtype in (float16, bfloat16) else values


def is_tensor(x: object) -> bool:
    return isinstance(x, TensorBase)


def promoted(*operands: Any) -> DType:
    """PyTorch's result dtype of tensors and numbers together."""
    if len(operands) == 2:
        a, b = operands
        if isinstance(a, TensorBase) and isinstance(b, TensorBase) and a.dtype is b.dtype:
            return a.dtype
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    scalars: list[DType] = []
    for x in operands:
        if isinstance(x, TensorBase):
            (dimensioned if x._array.ndim else zero_dim).append(x.dtype)
        elif x is not None:
            scalars.append(scalar_dtype(x, MODES.default_dtype))
    if not dimensioned and not zero_dim and not scalars:
        raise OperatorError("expected at least one tensor or number")
    return result_type(dimensioned, zero_dim, scalars)


def floating(dtype: DType) -> DType:
    """The dtype in which a float-valued operator answers: integers become the default dtype."""
    return dtype if dtype.is_floating_point or dtype.is_complex else MODES.default_dtype


def sum_dtype(dtype: DType) -> DType:
    """Sums and products of bool and integers are int64."""
    return int64 if dtype.is_integral or dtype is bool_ else dtype
