"""Tensors of what Python holds: data, arrays, memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    DType,
    bool_,
    check_held,
    of_python,
    promote_types,
    scalar_dtype,
    uint64,
)
from tensorscript.base.dtypes import from_numpy as from_array_dtype
from tensorscript.base.errors import (
    ArgumentError,
    NumberOverflowError,
    OperatorError,
    ValueRangeError,
)

from .device import CPU
from .device import device as Device
from .dispatch import call_overload
from .exchange import from_numpy as shared
from .exchange import frombuffer
from .modes import MODES
from .placement import made_on, placed
from .storage import to_storage, value
from .tensor import Tensor
from .tensor_gradients import asked_for_gradient
from .tracing import active_tracer, tell_read, traced_by
from .typed_storages import TypedStorage, elements_of, is_storage


class _Read:
    """Nested Python data as NumPy takes it, and the dtypes of what stands in it: Python floats are
    of the default dtype, arrays and tensors keep theirs.

    Attributes:
        dtypes: of what stands in it, each kind once.
        tensors: those among it, which are read as numbers.
    """

    def __init__(self, data: Any) -> None:
        self.dtypes: list[DType] = []
        self.tensors: list[Tensor] = []
        self._kinds: set[Any] = set()
        self.plain = self._walk(data)

    def _walk(self, data: Any) -> Any:
        if isinstance(data, (list, tuple)):
            return self._walk_all(data)
        if (kind := type(data)) in _OF_NUMBERS:
            self._add(kind, data)
        elif isinstance(data, Tensor):
            self._add(data.dtype, data)
            self.tensors.append(data)
            return _only_element(data)
        elif isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in "?biufc":
            self._add(data.dtype, data)
        elif np.asarray(data).dtype.kind == "O":
            raise OperatorError(f"Could not infer dtype of {kind.__name__}")
        return data

    def _walk_all(self, data: Sequence[Any]) -> Any:
        kinds = set(map(type, data))
        if not kinds <= _OF_NUMBERS:
            return [self._walk(x) for x in data]
        for kind in kinds:  # numbers of Python's only: one of each kind says all
            self._add(kind, kind())
        return data

    def _add(self, kind: Any, sample: Any) -> None:
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.dtypes.append(_dtype_of(sample))

    def dtype(self, found: Any) -> DType:
        """The dtype of all together; `found` is the array of the data."""
        if self.dtypes:
            return reduce(promote_types, self.dtypes)
        if not found.size:
            return MODES.default_dtype
        return scalar_dtype(found.reshape(-1)[0].item(), MODES.default_dtype)


_OF_NUMBERS: frozenset[Any] = frozenset((bool, int, float, complex))


def _dtype_of(leaf: Any) -> DType:
    if isinstance(leaf, Tensor):
        return leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic):
        return from_array_dtype(leaf.dtype)
    return bool_ if isinstance(leaf, bool) else scalar_dtype(leaf, MODES.default_dtype)


def _only_element(tensor: Tensor) -> Any:
    """A tensor in a list is a number.

    Raises:
        ValueRangeError, ArgumentError: not of one element.
    """
    if tensor._array.size == 1:
        return value(tensor).reshape(())
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise ValueRangeError("only one element tensors can be converted to Python scalars")
    raise ArgumentError(_NO_INDEX)


def _ragged(data: Any) -> ArgumentError | ValueRangeError:
    """Where nested lists have another shape than their first elements."""
    shape, first = [], data
    while _is_row(first):
        shape.append(len(first))
        first = first[0] if first else None
    return _misfit(data, shape, 0) or ValueRangeError("expected sequence of equal length")


def _misfit(data: Any, shape: Sequence[int], depth: int) -> ArgumentError | ValueRangeError | None:
    if depth == len(shape):
        kind = type(data).__name__
        said = f"'{kind}' object cannot be interpreted as an integer"
        return ArgumentError(said) if _is_row(data) else None
    if not _is_row(data):
        return ArgumentError("not a sequence")
    if len(data) != shape[depth]:
        return ValueRangeError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    found = (_misfit(x, shape, depth + 1) for x in data)
    return next((error for error in found if error is not None), None)


def _is_row(data: Any) -> bool:
    return isinstance(data, (list, tuple))


def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with a copy of `data` (number, nested list, array or tensor).

    Raises:
        ArgumentError: the data is ragged or not numeric.
        OperatorError: a device that is not there, or a number that `dtype` has not.
    """
    dtype = of_python(dtype) or dtype
    if dtype is not None:
        _check_dtype(dtype)
    if isinstance(data, Tensor):
        return _copied(data, dtype, device, requires_grad)
    if is_storage(data):
        kind = dtype or (data.dtype if isinstance(data, TypedStorage) else MODES.default_dtype)
        copied: Tensor = placed(Tensor(elements_of(data, kind).copy(), kind), device or data.device)
        return copied
    plain, read = _read(data, dtype)
    made = _entered("tensor", made_on(plain, device), data)
    tell_read(read, made.dtype)
    return asked_for_gradient(made, requires_grad)  # type: ignore[no-any-return]  # a Tensor


def _check_dtype(dtype: Any) -> None:
    """Raise ArgumentError for what is no dtype, OperatorError for one that no tensor here has."""
    if not isinstance(dtype, DType):
        kind = type(dtype).__name__
        raise ArgumentError(f"tensor(): argument 'dtype' must be torch.dtype, not {kind}")
    check_held(dtype)


def _read(data: Any, dtype: DType | None) -> tuple[Tensor, list[Tensor]]:
    """A tensor of Python data or an array, and the tensors among it, which were read as numbers."""
    read = _Read(data)
    try:
        found = _unsigned_numbers(read.plain) if dtype is uint64 else np.array(read.plain)
    except ValueError as error:
        raise _ragged(data) from error
    if found.dtype.kind not in "?biufc" or _is_too_large(found, data, dtype):
        raise _no_numbers(found, data)
    out = dtype or read.dtype(found)
    if not _holds_fractions(out) and any(_holds_fractions(each.dtype) for each in read.tensors):
        raise ArgumentError(_NO_INDEX)
    _check_fits(found, out, data)
    return Tensor(np.array(to_storage(found, out)), out), read.tensors


def _holds_fractions(dtype: DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _unsigned_numbers(data: Any) -> Any:
    """Python data for uint64: NumPy has no type for what is above int64 beside what is below.

    Raises:
        ArgumentError: a number that is no integer.
        NumberOverflowError: one that uint64 has not.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        return np.array(data)
    found = np.array(data, dtype=object)
    numbers = found.reshape(-1).tolist()
    if not all(isinstance(x, int) for x in numbers):
        raise ArgumentError("an integer is required")
    if any(x < 0 for x in numbers):
        raise NumberOverflowError("can't convert negative int to unsigned")
    if any(x >> 64 for x in numbers):
        raise NumberOverflowError("int too big to convert")
    return found.astype(np.uint64)


def _is_too_large(found: Any, data: Any, dtype: DType | None) -> bool:
    """Whether NumPy found integers above int64 where PyTorch reads a signed number."""
    if found.dtype != np.uint64 or dtype is uint64 or isinstance(data, (np.ndarray, np.generic)):
        return False
    return dtype is None or dtype.is_integral


def _copied(source: Tensor, dtype: DType | None, device: Any, requires_grad: bool) -> Tensor:
    """A tensor made of a tensor: a trace follows it."""
    if (tracer := active_tracer()) is not None:
        tracer.builds("tensor")
    warnings.warn(_COPY_CONSTRUCTED, UserWarning, stacklevel=3)
    plain = call_overload("aten::detach", (source,))
    where = source.device if device is None else Device(device)
    copy = (plain, where, dtype or source.dtype, False, True, None)
    made: Tensor = call_overload("aten::detach", (call_overload("aten::to.device", copy),))
    made.requires_grad = requires_grad
    return made


def _no_numbers(found: Any, data: Any) -> Exception:
    """Why data gives no tensor."""
    if isinstance(data, np.ndarray):
        return _array_refusal(data)
    flat = found.reshape(-1)
    if flat.size and all(isinstance(x, int) for x in flat.tolist()):
        return ValueRangeError("Overflow when unpacking long long")
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if found.dtype.kind == "U" and first is not data and isinstance(first, str):
        return ValueRangeError("too many dimensions 'str'")
    if found.dtype.kind == "U":
        return ArgumentError("new(): invalid data type 'str'")
    return OperatorError(f"Could not infer dtype of {type(data).__name__}")


def _array_refusal(data: np.ndarray) -> Exception:
    try:
        from_array_dtype(data.dtype)
    except TypeError as error:
        return ArgumentError(str(error))
    return OperatorError(f"Could not infer dtype of {type(data).__name__}")


def _check_fits(found: Any, dtype: DType, data: Any) -> None:
    """Refuse Python numbers that an integer dtype has no number for; arrays wrap around."""
    is_array = isinstance(data, (np.ndarray, np.generic, Tensor))
    if found.dtype.kind == "c" and not is_array and not dtype.is_complex and dtype is not bool_:
        raise ArgumentError(
            "must be real number, not complex" if dtype.is_floating_point
            else "'complex' object cannot be interpreted as an integer"
        )  # fmt: skip
    if is_array or not found.size or not dtype.is_integral or found.dtype.kind not in "iuf":
        return
    is_float = found.dtype.kind == "f"
    limits = np.iinfo(dtype.numpy)
    low = limits.min if dtype.signed or is_float else -limits.max
    if not (found.min() >= low and found.max() <= limits.max):
        raise OperatorError(f"value cannot be converted to type {dtype.name} without "
                            "overflow")  # fmt: skip


def _entered(function: str, made: Tensor, data: Any = None) -> Tensor:
    """`made` from `data` by a public function: a trace goes on with a constant."""
    if (tracer := active_tracer()) is None:
        return made
    source = shared(data) if isinstance(data, np.ndarray) else None
    return tracer.enters(function, made, source)  # type: ignore[no-any-return]  # a Tensor


def from_numpy(array: Any) -> Tensor:
    """A tensor that shares memory with `array`.

    Raises:
        ArgumentError: not an array, or no tensor dtype corresponds.
        ValueRangeError: a negative stride, or bytes in another order than the machine's.
    """
    made = shared(array)
    if not array.flags.writeable:
        warnings.warn(_NOT_WRITABLE, UserWarning, stacklevel=2)
    return _entered("from_numpy", made)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """As `tensor`, sharing memory where the data is an array or a tensor of that dtype, and on
    that device."""
    return _shared(data, of_python(dtype) or dtype, device, "as_tensor")


def _shared(data: Any, dtype: DType | None, device: Any, function: str) -> Tensor:
    """`as_tensor`, for a tracer made by `function`."""
    if isinstance(data, Tensor):
        if (tracer := active_tracer()) is not None and function == "as_tensor":
            tracer.builds(function)
        where = data.device if device is None else Device(device)
        given = (data, where, dtype or data.dtype, False, False, None)
        return call_overload("aten::to.device", given)  # type: ignore[no-any-return]  # a Tensor
    read: Sequence[Tensor] = ()
    if isinstance(data, np.ndarray):
        made = shared(data)
    elif is_storage(data):
        made = tensor(data, dtype=dtype, device=CPU)
    else:
        made, read = _read(data, dtype)
    if dtype is not None and made.dtype is not dtype:
        with traced_by(None):
            made = made.to(dtype)
    made = _entered(function, made_on(made, device), data)
    tell_read(read, made.dtype)
    return made


def _is_such(obj: Any, dtype: DType | None, device: Any) -> bool:
    """Whether `obj` is a tensor of the dtype and on the device, where they are given."""
    if not isinstance(obj, Tensor) or dtype not in (None, obj.dtype):
        return False
    return device is None or bool(Device(device) == obj.device)


def asarray(
    obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of numbers, nested sequences, an array, a tensor, or the bytes of a buffer.

    Arrays, tensors and buffers share memory unless `copy` is True or the dtype differs.

    Raises:
        ValueRangeError: `copy` is False, and there is nothing to share.
    """
    held = obj._array if isinstance(obj, Tensor) else obj
    is_buffer = isinstance(obj, (bytes, bytearray, memoryview))
    wanted = of_python(dtype) or dtype
    made: Any = (
        made_on(frombuffer(obj, dtype=dtype or MODES.default_dtype), device)
        if is_buffer
        else obj
        if _is_such(obj, wanted, device)
        else _shared(obj, wanted, device, "part")
    )
    shares = is_buffer or (isinstance(held, np.ndarray) and np.may_share_memory(made._array, held))
    if copy is False and not shares and made.numel():
        raise ValueRangeError(f"can't alias {type(obj).__name__} with dtype '{made.dtype}'")
    if copy and shares:
        made = made.clone()
    if made.requires_grad is not requires_grad:
        made = made.detach()
        made.requires_grad = requires_grad
    return made  # type: ignore[no-any-return]  # a Tensor


_NO_INDEX = "only integer tensors of a single element can be converted to an index"
_COPY_CONSTRUCTED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)
_NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
    "This means writing to this tensor will result in undefined behavior. You may want to copy the "
    "array to protect its data or make it writable before converting it to a tensor. This type of "
    "warning will be suppressed for the rest of this program."
)
