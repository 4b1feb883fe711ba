"""Operators in the interpreter: eager ones, and those that only script values have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import OperatorError, UserError
from tensorscript.base.given import missing_tensor
from tensorscript.dialects.ts.autocast import Autocast
from tensorscript.dialects.ts.locations import place_of, span_of
from tensorscript.dialects.ts.number_operands import number_operand
from tensorscript.dialects.ts.ops import OperatorOp
from tensorscript.dialects.ts.types import ClassType, TensorType
from tensorscript.eager.dispatch import call, call_overload
from tensorscript.eager.kernels.scalar import is_same
from tensorscript.eager.kernels.script_text import script_text
from tensorscript.eager.modes import MODES
from tensorscript.eager.storage import TensorBase

from .awaits import Await
from .codes import decode, encode
from .list_tensors import tensor_of_list
from .machine import Machine
from .said import warn
from .sorting import sort
from .values import ScriptObject


def call_operator(i: Machine, op: OperatorOp, arguments: tuple[Any, ...]) -> Any:
    """The result of an operator; a tuple of them if it has several.

    Raises:
        OperatorError: it refuses the arguments.
    """
    name = op.schema.data
    if (found := number_operand(op)) is not None:
        name, number = found
        arguments = (arguments[0], number, *arguments[2:])
    if i.autocasts or MODES.autocast_enabled:
        arguments = _autocast(i.autocast, op, arguments)
    if special := _SPECIAL.get(name.partition(".")[0]):
        return special(i, arguments, op)
    if (message := missing_tensor(name, arguments)) is not None:
        raise OperatorError(message)
    return encode(call_overload(name, decode(name, arguments)))


def _autocast(state: Autocast, op: OperatorOp, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an operator as it takes them inside `with torch.autocast(...)`."""
    out = list(arguments)
    for at, (value, given) in enumerate(zip(arguments, op.arguments, strict=True)):
        if isinstance(given.type, TensorType) and isinstance(value, TensorBase):
            dtype = state.cast_of(op, value.dtype)
            if dtype is not None:
                out[at] = call_overload("aten::to.dtype", (value, dtype, False, False, None))
    return tuple(out)


def _tensor(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> Any:
    """`torch.tensor` and `torch.as_tensor`: of an empty list the static type tells the dtype."""
    data, dtype, *rest = decode(op.schema.data, arguments)
    if isinstance(data, list):
        return tensor_of_list(op.arguments[0].type, data, dtype, rest)
    return call_overload(op.schema.data, (data, dtype, *rest))


def _to_list(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> Any:
    """`x.tolist()`: the annotation said how deep the list is and what it is of."""
    tensor, depth, kind = arguments
    found = tensor.dtype
    fits = (found is int64, found.is_floating_point, found is bool_, found.is_complex)
    if not fits[kind]:
        raise OperatorError(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): {('Long', 'Float', 'Bool', 'ComplexDouble')[kind]} vs {found.word}"
        )
    if depth != tensor.ndim:
        raise OperatorError(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()"
        )
    return tensor.detach().tolist()


def _unwrap_optional(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> Any:
    if arguments[0] is None:
        raise OperatorError("Unwrapping null optional")
    return arguments[0]


def _record(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> ScriptObject:
    """What a profiler would be told by; there is none, so it holds nothing."""
    found = op.outputs[0].type
    assert isinstance(found, ClassType)
    return ScriptObject(found.class_name.data)


def _warn(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> None:
    """`warnings.warn`: from the script's line, and once a run, however often that is passed.

    As in TorchScript `stacklevel` is ignored, and Python does not remember the place.
    """
    if not i.warns_first(op):
        return
    warn(arguments[0], place_of(op))


def _is(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> bool:
    return op.arguments[0] is op.arguments[1] or is_same(*arguments)


def _wait(i: Machine, arguments: tuple[Any, ...], op: OperatorOp) -> Any:
    """The result of a task; its error learns that it was waited for here."""
    try:
        return arguments[0].wait()
    except UserError as error:
        if error.span is not None:
            error.with_note("", span_of(op))
        raise


_SPECIAL: dict[str, Callable[[Machine, tuple[Any, ...], OperatorOp], Any]] = {
    "aten::is_autocast_enabled": lambda i, a, op: i.autocast.gpu,
    "aten::is_autocast_cpu_enabled": lambda i, a, op: i.autocast.cpu,
    "prim::EnumValue": lambda i, a, op: a[0].value,
    "prim::EnumName": lambda i, a, op: a[0].name,
    "profiler::_record_function_enter_new": _record,
    "profiler::_record_function_enter": lambda i, a, op: call("aten::zeros", ([1],)),
    "profiler::_record_function_exit": lambda i, a, op: None,
    "profiler::_call_end_callbacks_on_jit_fut": lambda i, a, op: a[1],
    "aten::warn": _warn,
    "aten::__is__": _is,
    "aten::__isnot__": lambda i, a, op: not _is(i, a, op),
    "aten::wait": _wait,
    "prim::awaitable_wait": _wait,
    "prim::awaitable_nowait": lambda i, a, op: Await.done(a[0]),
    "aten::str": lambda i, a, op: script_text(a[0]),
    "aten::tensor": _tensor,
    "aten::as_tensor": _tensor,
    "aten::_unwrap_optional": _unwrap_optional,
    "aten::sort": sort,
    "aten::sorted": sort,
    "prim::tolist": _to_list,
    "prim::id": lambda i, a, op: id(a[0]),
}
