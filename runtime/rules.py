"""What each op of `ts` does with values: one rule an op, in the table `RULES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.errors import ScriptError, UserError
from tensorscript.base.schema import overloads, schema
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.autocast import is_autocast
from tensorscript.dialects.ts.locations import span_of
from tensorscript.dialects.ts.type_text import ir_text
from tensorscript.dialects.ts.types import FLOAT, ClassType, InterfaceType

from .awaits import Await
from .instances import is_instance
from .machine import Environment, Machine, PrimitiveError
from .operators import call_operator
from .said import show
from .typed import typed
from .values import ScriptObject, tuple_of

UNINITIALIZED = object()
"""What `prim::Uninitialized` yields; never read by a correct program."""


def _inputs(values: Sequence[SSAValue], env: Environment) -> list[Any]:
    return [env[v] for v in values]


def _constant(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ConstantOp)
    (result,) = op.results
    env[result] = i.constant(op.value.data, result.type)


def _operator(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.OperatorOp)
    # Its only groups of operands and results, without the search for them by name, here and below:
    # this is where the interpreter spends its time.
    result = call_operator(i, op, tuple(_inputs(op.operands, env)))
    if len(op.results) != 1:
        env.update(zip(op.results, result or (), strict=True))
        return
    (output,) = op.results
    kind = type(result)
    if kind is int and output.type == FLOAT:
        # `max(3, 2.5)`, `sum([])` of floats: Python keeps the int.
        result = float(result)
    elif (kind is list or kind is dict) and _is_new(op.schema.data):
        result = typed(result, output.type)
    env[output] = result


@cache
def _is_new(name: str) -> bool:
    """The operator makes its result, and does not hand out what it was given."""
    for returned in schema(name).returns:
        alias = returned.type.alias
        if returned.type.kind == "var" or not (alias is None or alias.before == ("*",)):
            return False
    return True


def _list(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ListConstructOp)
    env[op.result] = typed(_inputs(op.arguments, env), op.result.type)


def _tuple(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleConstructOp)
    values = _inputs(op.arguments, env)
    env[op.result] = tuple_of(op.result.type, values)


def _dict(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.DictConstructOp)
    values = _inputs(op.arguments, env)
    made = dict(zip(values[::2], values[1::2], strict=True))
    env[op.result] = typed(made, op.result.type)


def _unpack(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleUnpackOp | ts.ListUnpackOp)
    values = env[op.argument]
    if len(values) != len(op.outputs):
        raise PrimitiveError(
            f"Expected {len(op.outputs)} elements in a list but found {len(values)}"
        )
    env.update(zip(op.outputs, values, strict=True))


def _pass_through(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.UncheckedCastOp)
    env[op.result] = env[op.argument]


def _isinstance(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.IsInstanceOp)
    env[op.result] = any(is_instance(env[op.argument], t, i.fulfils) for t in op.types)


def _tuple_index(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleIndexOp)
    elements, index = env[op.argument], env[op.index]
    if not -len(elements) <= index < len(elements):
        raise PrimitiveError("Tuple list index out of range")
    env[op.result] = elements[index]


def _container_index(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ModuleContainerIndexOp)
    container, name = env[op.container], str(env[op.index])
    if name not in container.attributes:
        owner = container.class_name
        raise PrimitiveError(f"RuntimeError: {owner} does not have a field with name '{name}'")
    env[op.result] = container.attributes[name]


def _tuple_slice(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleSliceOp)
    begin, end = op.begin.data, op.end.data
    assert isinstance(begin, int) and isinstance(end, int)
    env[op.result] = tuple(env[op.argument])[begin:end]


def _get_attr(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.GetAttrOp)
    target, name = env[op.operands[0]], op.attribute.data
    found = i.attribute(target, name) if isinstance(target, ScriptObject) else getattr(target, name)
    env[op.results[0]] = found


def _set_attr(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.SetAttrOp)
    env[op.object].attributes[op.attribute.data] = env[op.value]


def _create(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CreateObjectOp)
    type_ = op.result.type
    assert isinstance(type_, ClassType)
    env[op.result] = ScriptObject(type_.class_name.data)


def _uninitialized(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.UninitializedOp)
    env[op.result] = UNINITIALIZED


def _stacked(i: Machine, name: str, arguments: list[Any], op: Operation) -> Any:
    """Call a script function; its error learns that it was called from here."""
    try:
        return i.call(name, arguments)
    except UserError as error:
        error.with_note("", span_of(op))
        raise


def _call(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CallOp)
    env[op.results[0]] = _stacked(i, op.callee.data, _inputs(op.operands, env), op)


def _call_method(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CallMethodOp)
    arguments = _inputs(op.operands, env)
    receiver, declared = arguments[0], op.operands[0].type
    name = ""
    if isinstance(receiver, ScriptObject):
        name = receiver.class_name
    elif isinstance(declared, ClassType | InterfaceType):
        name = declared.class_name.data
    env[op.results[0]] = _stacked(i, f"{name}.{op.method.data}", arguments, op)


def _python(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.PythonOp)
    call = i.python_calls[op.callee.data]
    env[op.result] = call(op.result.type, *_inputs(op.arguments, env))


def yielded(block: Block) -> Sequence[SSAValue]:
    """What a block of an if or a loop gives."""
    last = block.last_op
    assert isinstance(last, ts.YieldOp)
    return last.values


def _if(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.IfOp)
    block = (op.true_region if env[op.condition] else op.false_region).block
    i.block(block, env)
    env.update(zip(op.outputs, _inputs(yielded(block), env), strict=True))


def _loop(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.LoopOp)
    block = op.body.block
    carried = _inputs(op.carried, env)
    going, trips, count = bool(env[op.condition]), env[op.max_trip], 0
    given = yielded(block)
    while going and count < trips:
        env[block.args[0]] = count
        env.update(zip(block.args[1:], carried, strict=True))
        i.block(block, env)
        going, *carried = _inputs(given, env)
        count += 1
    env.update(zip(op.outputs, carried, strict=True))


def _print(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.PrintOp)
    show(_inputs(op.arguments, env))


def _raise(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.RaiseOp)
    message, kind = env[op.message], env[op.exception]
    raise ScriptError(f"{kind or 'RuntimeError'}: {message}")


def enter(i: Machine, op: Operation, env: Environment) -> None:
    """Begin a `with`: the object's `__enter__`."""
    assert isinstance(op, ts.EnterOp)
    target = env[op.argument]
    env[op.result] = i.call(f"{target.class_name}.__enter__", [target])
    if is_autocast(target.class_name):
        told = (target.attributes[name] for name in ("device", "_enabled", "fast_dtype"))
        i.autocasts.append(i.autocast.entered(*told))


def exit_(i: Machine, op: Operation, env: Environment) -> None:
    """The regular end of a `with`."""
    assert isinstance(op, ts.ExitOp)
    env[op.result] = leave(i, env[op.argument])


def leave(i: Machine, target: ScriptObject) -> Any:
    """End a `with`: call the object's `__exit__`."""
    if is_autocast(target.class_name):
        i.autocasts.pop()
    return i.call(f"{target.class_name}.__exit__", [target, None, None, None])


def _fork(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ForkOp)
    env[op.result] = i.fork(op.callee.data, _inputs(op.arguments, env))


def _awaitable(i: Machine, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.AwaitableOp)
    name, given = op.callee.data, _inputs(op.arguments, env)
    env[op.result] = Await(lambda: i.call(name, given))


def _unknown(i: Machine, op: Operation, env: Environment) -> None:
    """A node that is no op: nothing is called so, or nothing takes its inputs.

    Raises:
        PrimitiveError: always.
    """
    assert isinstance(op, ts.NodeOp)
    given = ", ".join(ir_text(value.type) for value in op.arguments)
    candidates = "".join(f"\n\t{found}" for found in overloads(op.node_kind))
    raise PrimitiveError(
        f"We don't have an op for {op.node_kind} but it isn't a special case.  "
        f"Argument types: {given}\n\nCandidates:{candidates}"
    )


def _nothing(i: Machine, op: Operation, env: Environment) -> None:
    pass


RULES: dict[type[Operation], Callable[[Machine, Operation, Environment], None]] = {
    ts.ConstantOp: _constant,
    ts.OperatorOp: _operator,
    ts.ListConstructOp: _list,
    ts.TupleConstructOp: _tuple,
    ts.DictConstructOp: _dict,
    ts.ListUnpackOp: _unpack,
    ts.TupleUnpackOp: _unpack,
    ts.UncheckedCastOp: _pass_through,
    ts.IsInstanceOp: _isinstance,
    ts.TupleIndexOp: _tuple_index,
    ts.ModuleContainerIndexOp: _container_index,
    ts.TupleSliceOp: _tuple_slice,
    ts.GetAttrOp: _get_attr,
    ts.SetAttrOp: _set_attr,
    ts.CreateObjectOp: _create,
    ts.UninitializedOp: _uninitialized,
    ts.CallOp: _call,
    ts.CallMethodOp: _call_method,
    ts.PythonOp: _python,
    ts.IfOp: _if,
    ts.LoopOp: _loop,
    ts.PrintOp: _print,
    ts.RaiseOp: _raise,
    ts.EnterOp: enter,
    ts.ExitOp: exit_,
    ts.ForkOp: _fork,
    ts.AwaitableOp: _awaitable,
    ts.NodeOp: _unknown,
    ts.ReturnOp: _nothing,
    ts.YieldOp: _nothing,
}
