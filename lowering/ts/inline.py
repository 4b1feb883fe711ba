"""Calls replaced by the bodies of what they call.

    %1 = ts.call @f(%x)        -->        the ops of @f with %x for its argument

Methods are found by the declared class of their object; calls through an interface stay, for only
the object itself knows which method they mean, unless the caller knows the object. The bodies keep
their own constants, as TorchScript's inlined graphs do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts.ops import CallMethodOp, CallOp, ConstantOp, FuncOp, ReturnOp
from tensorscript.dialects.ts.types import NONE, ClassType, InterfaceType, UnionType
from tensorscript.dialects.walks import walk_ops


def declared_class(value: SSAValue) -> str:
    """The class that an object is declared to be of; "" if it is an interface."""
    return value.type.class_name.data if isinstance(value.type, ClassType) else ""


def inline_calls(
    function: FuncOp,
    functions: Mapping[str, FuncOp],
    class_of: Callable[[SSAValue], str] = declared_class,
    is_deep: bool = True,
) -> FuncOp:
    """A copy of `function` without calls.

    Args:
        functions: the functions of its module by name.
        class_of: the class of the object that a method is called on, "" if that is not known.
        is_deep: calls in what was called are inlined, too; else `functions` have none that could.
    """
    copy = function.clone()
    inline_in_place(copy, functions, class_of, is_deep)
    return copy


def inline_in_place(
    function: FuncOp,
    functions: Mapping[str, FuncOp],
    class_of: Callable[[SSAValue], str] = declared_class,
    is_deep: bool = True,
) -> None:
    """As `inline_calls`, without a copy."""
    # In the order of the program: what one call gives may tell which method the next one means.
    todo = list(walk_ops(function))[::-1]
    while todo:
        op = todo.pop()
        if not isinstance(op, CallOp | CallMethodOp):
            continue
        if isinstance(op, CallOp):
            name = op.callee.data
        else:
            name = f"{class_of(op.arguments[0])}.{op.method.data}"
        if (callee := functions.get(name)) is not None:
            made = inline_call(op, callee)
            todo += made[::-1] if is_deep else ()


def _called_through(call: Operation, declared: Attribute) -> None:
    """Say of a method's call through which interface it goes, where one of classes is called."""
    if not isinstance(call, CallMethodOp) or not isinstance(declared, InterfaceType):
        return
    if isinstance(call.arguments[0].type, UnionType):
        call.interface = declared


def inline_call(call: CallOp | CallMethodOp, callee: FuncOp) -> list[Operation]:
    """Put the body of `callee` in the place of `call`; gives the ops that came in."""
    place = InsertPoint.before(call)
    values: dict[SSAValue, SSAValue] = dict(zip(callee.block.args, call.arguments, strict=True))
    made: list[Operation] = []
    for op in callee.block.ops:
        if not isinstance(op, ReturnOp):
            copied = op.clone(values)
            Rewriter.insert_op(copied, place)
            made += [copied, *walk_ops(copied)]
    called = (op for op in walk_ops(callee) if not isinstance(op, ReturnOp))
    for op, copied in zip(called, made, strict=True):
        if isinstance(op, CallMethodOp):
            _called_through(copied, op.arguments[0].type)
    returned = callee.return_op.values
    if returned:
        result = values.get(returned[0], returned[0])
    else:
        none = ConstantOp(None, NONE)
        Rewriter.insert_op(none, place)
        result = none.result
    declared = call.result.type
    callers = [use.operation for use in call.result.uses if use.index == 0]
    call.result.replace_all_uses_with(result)
    for caller in callers:
        _called_through(caller, declared)
    Rewriter.erase_op(call)
    return made
