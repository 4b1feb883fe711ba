"""The public functions by name: `lookup("sigmoid")` is what `ts.sigmoid` is.

A name that is an `aten` operator dispatches to it; the few functions whose Python face differs from
the operator's (they take several shapes of arguments) stand in a table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tensorscript.base.dtypes import (
    BY_NAME,
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
from tensorscript.base.schema import has_operator

from . import caution, composites
from .absent import absence
from .autocast import SWITCHES
from .built_in import BuiltInFunction
from .device import CPU, require_cpu
from .dispatch import call, call_overload, write
from .dlpack import from_dlpack, to_dlpack
from .exchange import from_numpy as shared
from .exchange import frombuffer
from .kernels.strided import resize_
from .modes import MODES, get_default_dtype, set_default_dtype, set_grad_enabled
from .random import manual_seed
from .settings import SETTINGS
from .size import broadcast_shapes
from .storage import promoted, to_storage, value
from .tensor import Tensor
from .tracing import active_tracer, traced_by
from .tracking import written

Face = Callable[..., Any]


def _inferred(found: Any, data: Any) -> DType:
    """The dtype of Python data: Python floats are the default dtype, arrays keep theirs."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return from_array_dtype(np.asarray(data).dtype)
    if found.size == 0:
        return MODES.default_dtype
    if found.dtype == bool:
        return bool_
    return scalar_dtype(found.reshape(-1)[0].item(), MODES.default_dtype)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return value(data)
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    return data


def _ragged(data: Any, depth: int = 0) -> str:
    """Where nested lists have another length than their first neighbour."""
    rows = [x for x in data if isinstance(x, (list, tuple))]
    for row in rows:
        if len(row) != len(rows[0]):
            return f"expected sequence of length {len(rows[0])} at dim {depth + 1} (got {len(row)})"
    deeper = next((x for x in rows if any(isinstance(y, (list, tuple)) for y in x)), None)
    return "expected sequence of equal length" if deeper is None else _ragged(deeper, depth + 1)


def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor with a copy of `data` (number, nested list, array or tensor).

    Raises:
        ArgumentError: the data is ragged or not numeric.
        OperatorError: a device other than the CPU, or a number that `dtype` has not.
    """
    require_cpu(device)
    dtype = of_python(dtype) or dtype
    if dtype is not None:
        check_held(dtype)
    if isinstance(data, Tensor):
        return _copied(data, dtype, requires_grad)
    try:
        plain = _plain(data)
        found = _unsigned_numbers(plain) if dtype is uint64 else np.array(plain)
    except ValueError as error:
        raise ValueRangeError(_ragged(data)) from error
    if found.dtype.kind not in "?biufc" or _is_too_large(found, data, dtype):
        raise _no_numbers(found, data)
    out = dtype or _inferred(found, data)
    _check_fits(found, out, data)
    made = _entered("tensor", Tensor(np.array(to_storage(found, out)), out))
    made.requires_grad = requires_grad
    return made


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


def _copied(source: Tensor, dtype: DType | None, requires_grad: bool) -> Tensor:
    """A tensor made of a tensor: a trace follows it."""
    if (tracer := active_tracer()) is not None:
        tracer.builds("tensor")
    warnings.warn(_COPY_CONSTRUCTED, UserWarning, stacklevel=3)
    plain = call_overload("aten::detach", (source,))
    copy = (plain, CPU, dtype or source.dtype, False, True, None)
    made: Tensor = call_overload("aten::detach", (call_overload("aten::to.device", copy),))
    made.requires_grad = requires_grad
    return made


_COPY_CONSTRUCTED = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)


def _no_numbers(found: Any, data: Any) -> Exception:
    """Why data gives no tensor."""
    flat = found.reshape(-1)
    if flat.size and all(isinstance(x, int) for x in flat.tolist()):
        return ValueRangeError("Overflow when unpacking long long")
    if found.dtype.kind == "U" and isinstance(data, (list, tuple)):
        return ValueRangeError("too many dimensions 'str'")
    return ArgumentError(f"Could not infer dtype of {type(data).__name__}")


def _check_fits(found: Any, dtype: DType, data: Any) -> None:
    """Refuse Python numbers that an integer dtype has no number for; arrays wrap around."""
    is_array = isinstance(data, (np.ndarray, np.generic, Tensor))
    if is_array or not found.size or not dtype.is_integral or found.dtype.kind not in "iuf":
        return
    is_float = found.dtype.kind == "f"
    limits = np.iinfo(dtype.numpy)
    low = limits.min if dtype.signed or is_float else -limits.max
    if not (found.min() >= low and found.max() <= limits.max):
        raise OperatorError(f"value cannot be converted to type {dtype.name} without "
                            "overflow")  # fmt: skip


def _entered(function: str, made: Tensor) -> Tensor:
    """`made` from data by a public function: a trace goes on with a constant."""
    if (tracer := active_tracer()) is None:
        return made
    return tracer.enters(function, made)  # type: ignore[no-any-return]  # a Tensor


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


_NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
    "This means writing to this tensor will result in undefined behavior. You may want to copy the "
    "array to protect its data or make it writable before converting it to a tensor. This type of "
    "warning will be suppressed for the rest of this program."
)


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """As `tensor`, sharing memory where the data is an array or a tensor of that dtype."""
    require_cpu(device)
    dtype = of_python(dtype) or dtype
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray):
        made = shared(data)
    else:
        with traced_by(None):
            made = tensor(data, dtype=dtype)
    if dtype is not None and made.dtype is not dtype:
        with traced_by(None):
            made = made.to(dtype)
    return _entered("as_tensor", made)


def asarray(
    obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of numbers, nested sequences, an array, a tensor, or the bytes of a buffer.

    Arrays, tensors and buffers share memory unless `copy` is True or the dtype differs.

    Raises:
        ValueRangeError: `copy` is False, and there is nothing to share.
    """
    require_cpu(device)
    held = obj._array if isinstance(obj, Tensor) else obj
    is_buffer = isinstance(obj, (bytes, bytearray, memoryview))
    made: Any = (
        frombuffer(obj, dtype=dtype or MODES.default_dtype) if is_buffer else as_tensor(obj, dtype)
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


def einsum(*args: Any) -> Any:
    """`einsum("ij,jk->ik", a, b)`, or subscript lists: `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    if len(args) < 2:
        raise ValueRangeError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if not isinstance(args[0], Tensor):
        operands = args[1:]
        one = len(operands) == 1 and isinstance(operands[0], (list, tuple))
        return call("aten::einsum", (args[0], list(operands[0] if one else operands)))
    terms = [_subscripts(labels) for labels in args[1::2]]
    equation = ",".join(terms)
    if len(args) % 2:
        equation += "->" + _subscripts(args[-1])
    return call("aten::einsum", (equation, list(args[: len(args) // 2 * 2 : 2])))


def _subscripts(labels: Any) -> str:
    """Numbers below 52 as letters A-Z, a-z."""
    if any(x is not Ellipsis and not 0 <= x < 52 for x in labels):
        raise ValueRangeError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    letters = (
        "..." if x is Ellipsis else chr(ord("A") + x if x < 26 else ord("a") + x - 26)
        for x in labels
    )
    return "".join(letters)


def where(condition: Any, *operands: Any) -> Any:
    if not operands:
        return tuple(call("aten::where", (condition,)))
    return call("aten::where", (condition, *operands))


def range_face(*bounds: Any, **options: Any) -> Any:
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)`."""
    if "end" in options:
        bounds = (options.pop("start", 0), options.pop("end"), options.pop("step", 1))
    return call("aten::arange", bounds, options)


def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    several = isinstance(split_size_or_sections, (list, tuple))
    chosen = "aten::split_with_sizes" if several else "aten::split"
    return tuple(call(chosen, (tensor, split_size_or_sections, dim)))


def _tuple_of(name: str) -> Face:
    """An operator whose list of results Python sees as a tuple."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return tuple(call(name, args, kwargs))

    run.__name__ = name.partition("::")[2]
    return run


def assertion(condition: Any, message: str) -> None:
    """`torch._assert`: an assert statement that a trace can record.

    Raises:
        AssertionError: the condition does not hold.
    """
    assert condition, message


def is_tensor(x: object) -> bool:
    return isinstance(x, Tensor)


def typename(x: Any) -> str:
    """`torch.FloatTensor` for a tensor, else the dotted name of the type (or of a class itself)."""
    if isinstance(x, Tensor):
        return str(x.type())
    kind = x if isinstance(x, type) else type(x)
    named = x if hasattr(x, "__qualname__") else kind
    module = getattr(named, "__module__", None)
    prefix = "" if module in (None, "", "builtins", "__builtin__") else f"{module}."
    return f"{prefix}{named.__qualname__}"


def result_type(a: Any, b: Any) -> DType:
    return call("aten::result_type", (a, b))  # type: ignore[no-any-return]  # always a DType


def factory(face: Face, fills_in_order: bool = False) -> Face:
    """A function that makes tensors: it takes `requires_grad`, and `out=` beside a dtype; one that
    `fills_in_order` leaves the shape of an `out` with as many elements.

    Raises (the function made):
        OperatorError: the dtype is not that of `out`.
    """

    def run(*args: Any, out: Any = None, requires_grad: bool = False, **options: Any) -> Any:
        if out is None:
            made = face(*args, **options)
            return made.requires_grad_() if requires_grad else made
        wanted = options.pop("dtype", None) or out.dtype
        if wanted is not out.dtype:
            raise OperatorError(
                f"dtype {wanted.word} does not match dtype of out parameter ({out.dtype.word})"
            )
        made = face(*args, dtype=wanted, **options)
        if fills_in_order and made.numel() == out.numel():
            made = made.view(out.shape)
        elif fills_in_order and out.numel():
            caution.warn(_RESIZED.format(list(out.shape), out.numel(), made.numel()))
        resize_(out, made.shape)
        write(out, made)
        written(out)
        return out

    return run


_RESIZED = (
    "The number of elements in the out tensor of shape {0} is {1} which does not match the "
    "computed number of elements {2}. Note that this may occur as a result of rounding error. The "
    "out tensor will be resized to a tensor of shape ({2},)."
)


NUMBER_FIRST = frozenset((
    "add", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "true_divide",
))  # fmt: skip
"""Functions of a tensor whose first argument may be a number after all: `torch.add(1, x)`."""


def _number_first(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The number as a tensor that leaves the result's dtype to the second operand."""
    first, second, *rest = args
    if not isinstance(first, (bool, int, float, complex)):
        return args
    dtype = promoted(second, first)
    return (Tensor(to_storage(np.asarray(first), dtype), dtype), second, *rest)


FACTORIES = frozenset((
    "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
    "range", "zeros",
))  # fmt: skip
RANGES = frozenset(("linspace", "logspace", "range"))
FACES: dict[str, Face] = {
    **composites.FACES,
    "tensor": tensor,
    "as_tensor": as_tensor,
    "asarray": asarray,
    "from_numpy": from_numpy,
    "from_dlpack": from_dlpack,
    "to_dlpack": to_dlpack,
    "frombuffer": frombuffer,
    "arange": factory(range_face, fills_in_order=True),
    "einsum": einsum,
    "where": composites.with_out(where),
    "broadcast_shapes": broadcast_shapes,
    "split": _split,
    **{name: _tuple_of(f"aten::{name}") for name in ("chunk", "unbind", "tensor_split")},
    "is_tensor": is_tensor,
    "_assert": assertion,
    "typename": typename,
    "manual_seed": manual_seed,
    "result_type": result_type,
    "promote_types": promote_types,
    "numel": lambda input: input._array.size,
    "get_default_dtype": get_default_dtype,
    "set_default_dtype": set_default_dtype,
    "set_grad_enabled": set_grad_enabled,
    "is_grad_enabled": lambda: MODES.grad_enabled,
    **SETTINGS,
    **SWITCHES,
}


_BUILT_IN = frozenset((
    "_segment_reduce", "arange", "as_tensor", "asarray", "chunk", "clear_autocast_cache",
    "from_numpy", "frombuffer", "get_autocast_cpu_dtype", "get_default_dtype", "gradient",
    "is_autocast_cache_enabled", "is_grad_enabled", "nonzero", "numel", "promote_types",
    "result_type", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_flush_denormal",
    "tensor", "tensor_split", "to_dlpack", "unbind", "where",
))  # fmt: skip
"""Faces that are built-in functions in PyTorch; the others are Python functions there, too."""


@cache
def lookup(name: str) -> Face:
    """The public function called `name`.

    Raises:
        AttributeError: there is none.
    """
    if (face := FACES.get(name)) is not None:
        return BuiltInFunction(_called(name, face), lookup) if name in _BUILT_IN else face
    full = f"aten::{name}"
    if name.startswith("__") or not has_operator(full):
        raise AttributeError(f"module 'tensorscript' has no attribute '{name}'{absence(name)}")

    def run(*args: Any, **kwargs: Any) -> Any:
        grad = kwargs.pop("requires_grad", False)
        if name in NUMBER_FIRST and len(args) > 1:
            args = _number_first(args)
        result = call(full, args, kwargs, public=True)
        if type(result) is list:  # several tensors are a tuple to Python callers
            return tuple(result)
        return result.requires_grad_() if grad else result

    if name in FACTORIES:
        run = factory(run, fills_in_order=name in RANGES)

    run.__doc__ = f"The operator {full}."
    return BuiltInFunction(_called(name, run), lookup)


def _called(name: str, face: Face) -> Face:
    face.__name__ = face.__qualname__ = name
    return face


def __getattr__(name: str) -> Any:
    """`namespace.relu` is `lookup("relu")`, `namespace.bool` the dtype: functions in script ask."""
    return BY_NAME[name] if name in BY_NAME else lookup(name)
