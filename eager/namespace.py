"""The public functions by name: `lookup("sigmoid")` is what `ts.sigmoid` is.

A name that is an `aten` operator dispatches to it; the few functions whose Python face differs from
the operator's (they take several shapes of arguments) stand in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tensorscript.base.dtypes import (
    BY_NAME,
    DType,
    promote_types,
)
from tensorscript.base.errors import (
    ArgumentError,
    OperatorError,
    ValueRangeError,
)
from tensorscript.base.schema import has_operator
from tensorscript.base.subscripts import equation_of
from tensorscript.base.twins import MADE_OF

from . import caution, composites
from .absent import absence
from .answering import answer, asking, who_answers
from .autocast import SWITCHES
from .binding import resolve
from .built_in import BuiltInFunction
from .data import as_tensor, asarray, from_numpy, tensor
from .device import contiguous_format as contiguous_format
from .dispatch import call, write
from .dlpack import from_dlpack, to_dlpack
from .exchange import frombuffer
from .flat_places import unravel_index
from .kernels.strided import resize_
from .modes import MODES, get_default_dtype, set_default_dtype, set_grad_enabled
from .random import manual_seed
from .settings import SETTINGS
from .size import broadcast_shapes
from .sparse_factories import SPARSE_FACTORIES
from .storage import TensorBase
from .tensor import Tensor, call_split
from .tensor_gradients import asked_for_gradient
from .tracing import active_tracer, number_beside, traced_by
from .tracking import written

Face = Callable[..., Any]


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
    return call("aten::einsum", equation_of(args))


def where(condition: Any, *operands: Any) -> Any:
    if not operands:
        return tuple(call("aten::where", (condition,)))
    return call("aten::where", (condition, *operands))


def range_face(*bounds: Any, **options: Any) -> Any:
    """`arange(end)`, `arange(start, end)`, `arange(start, end, step)`."""
    return call("aten::arange", bounds, options)


def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    return tuple(call_split(tensor, split_size_or_sections, dim))


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


def is_tensor(obj: object) -> bool:
    return isinstance(obj, Tensor)


def typename(obj: Any) -> str:
    """`torch.FloatTensor` for a tensor, else the dotted name of the type (or of a class itself)."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    named = obj if hasattr(obj, "__qualname__") else kind
    module = getattr(named, "__module__", None)
    prefix = "" if module in (None, "", "builtins", "__builtin__") else f"{module}."
    return f"{prefix}{named.__qualname__}"


def result_type(a: Any, b: Any) -> DType:
    return call("aten::result_type", (a, b))  # type: ignore[no-any-return]  # always a DType


def factory(name: str, face: Face, fills_in_order: bool = False) -> Face:
    """A function that makes tensors by the operator `name`: it takes `requires_grad`, and `out=`
    beside a dtype; one that `fills_in_order` leaves the shape of an `out` with as many elements.

    Raises (the function made):
        OperatorError: the dtype is not that of `out`.
    """

    def run(*args: Any, out: Any = None, requires_grad: bool = False, **options: Any) -> Any:
        if not isinstance(requires_grad, bool):
            raise ArgumentError(
                f"{name.removeprefix('aten::')}(): argument 'requires_grad' must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if out is None:
            made = face(*args, **options)
            return asked_for_gradient(made, requires_grad) if requires_grad else made
        if not isinstance(out, TensorBase):
            raise ArgumentError(
                f"{name.removeprefix('aten::')}(): argument 'out' must be Tensor, not "
                f"{type(out).__name__}"
            )
        wanted = options.pop("dtype", None) or out.dtype
        if wanted is not out.dtype:
            raise OperatorError(
                f"dtype {wanted.word} does not match dtype of out parameter ({out.dtype.word})"
            )
        with traced_by(None):
            made = face(*args, dtype=wanted, **options)
        count, held = made._array.size, out._array.shape
        if fills_in_order and count == out._array.size:
            made = made.view(held)
        elif fills_in_order and out._array.size:
            caution.warn(_RESIZED.format(list(held), out._array.size, count))
        resize_(out, made._array.shape)
        write(out, made)
        written(out)
        if (tracer := active_tracer()) is not None:
            given = {k: v for k, v in options.items() if k not in MADE_OF}
            tracer.ran(*resolve(name, args, {**given, "out": out}, True), out)
        return out

    return run


def _drawn(*args: Any, **options: Any) -> Any:
    return call("aten::normal", args, options, public=True)


_MADE_NORMAL = factory("aten::normal", _drawn)


def _normal(*args: Any, **options: Any) -> Any:
    """`normal(mean, std)`: of two numbers it makes a tensor of a `size`."""
    is_maker = len(args) > 2 or "size" in options
    return (_MADE_NORMAL if is_maker else _drawn)(*args, **options)


def _numel(input: Any) -> int:
    if not isinstance(input, TensorBase):
        kind = type(input).__name__
        raise ArgumentError(f"numel(): argument 'input' (position 1) must be Tensor, not {kind}")
    return input._array.size


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
    return (number_beside(second, first), second, *rest)


def _product(mat: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one, by the names of old."""
    return call("aten::mm", (mat, mat2), public=True)


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
    "arange": factory("aten::arange", range_face, fills_in_order=True),
    "einsum": einsum,
    "unravel_index": unravel_index,
    "normal": _normal,
    **SPARSE_FACTORIES,
    **{name: _product for name in ("spmm", "dsmm")},
    "where": composites.with_out(where, "where"),
    "broadcast_shapes": broadcast_shapes,
    "split": _split,
    **{name: _tuple_of(f"aten::{name}") for name in ("chunk", "unbind", "tensor_split")},
    "is_tensor": is_tensor,
    "_assert": assertion,
    "typename": typename,
    "manual_seed": manual_seed,
    "result_type": result_type,
    "promote_types": promote_types,
    "numel": _numel,
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
    "is_autocast_cache_enabled", "is_grad_enabled", "nonzero", "normal", "numel", "promote_types",
    "result_type", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_flush_denormal",
    "tensor", "tensor_split", "to_dlpack", "unbind", "where",
))  # fmt: skip
"""Faces that are built-in functions in PyTorch; the others are Python functions there, too."""


_ASK_NOBODY = frozenset((
    "as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "get_default_dtype",
    "is_grad_enabled", "is_tensor", "manual_seed", "promote_types", "set_default_dtype",
    "set_grad_enabled", "tensor", "to_dlpack", "typename", *SETTINGS, *SWITCHES,
))  # fmt: skip
"""Faces that classes with a `__torch_function__` do not answer."""


@cache
def lookup(name: str) -> Face:
    """The public function called `name`.

    Raises:
        AttributeError: there is none.
    """
    if (face := FACES.get(name)) is not None:
        if name not in _ASK_NOBODY:
            face = _called(name, asking(face))
            if name not in _BUILT_IN:
                face.__module__ = "tensorscript"  # where pickles find the one that asks
        return BuiltInFunction(_called(name, face), lookup) if name in _BUILT_IN else face
    full = f"aten::{name}"
    if name.startswith("__") or not has_operator(full):
        raise AttributeError(f"module 'tensorscript' has no attribute '{name}'{absence(name)}")

    def run(*args: Any, **kwargs: Any) -> Any:
        if asked := who_answers(args, kwargs):
            return answer(lookup(name), asked, args, kwargs)
        grad = kwargs.pop("requires_grad", False)
        if name in NUMBER_FIRST and len(args) > 1:
            args = _number_first(args)
        result = call(full, args, kwargs, public=True)
        if type(result) is list:  # several tensors are a tuple to Python callers
            return tuple(result)
        return asked_for_gradient(result, grad) if grad else result

    if name in FACTORIES:
        run = factory(full, run, fills_in_order=name in RANGES)

    run.__doc__ = f"The operator {full}."
    return BuiltInFunction(_called(name, run), lookup)


def _called(name: str, face: Face) -> Face:
    face.__name__ = face.__qualname__ = name
    return face


def __getattr__(name: str) -> Any:
    """`namespace.relu` is `lookup("relu")`, `namespace.bool` the dtype: functions in script ask."""
    return BY_NAME[name] if name in BY_NAME else lookup(name)
