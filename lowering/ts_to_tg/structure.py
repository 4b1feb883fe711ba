"""How the evaluator handles each structural op of ts (everything but operators of the table)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation

from tensorscript.base.errors import NotKnown, ScriptError
from tensorscript.dialects.te.expr import Expr, binary
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.autocast import Autocast, is_autocast
from tensorscript.dialects.ts.constants import EnumRef
from tensorscript.dialects.ts.list_tensors import element_of, refusal, tensor_dtype
from tensorscript.dialects.ts.number_operands import number_operand
from tensorscript.dialects.walks import walk_ops

from .awaits import waiting
from .branches import branch
from .dicts import dict_of
from .evaluator import Env, Evaluator
from .instances import is_instance
from .kinds import narrowed
from .list_reading import unpack
from .loops import loop
from .out_resized import OutResized
from .paths import SELF, is_state
from .reshaped_names import changes_shape, reshape_names, resize_out
from .said import say
from .scalar_values import to_text
from .trials import Raised
from .values import (
    UNINITIALIZED,
    Chosen,
    FutureValue,
    ListRef,
    ObjectRef,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    Variant,
)
from .variants import each_option

Handler = Callable[[Evaluator, Any, Env], None]


def _constant(ev: Evaluator, op: ts.ConstantOp, env: Env) -> None:
    value = ev.import_value(op.value.data)
    if isinstance(op.result.type, tt.FloatType) and isinstance(value, int):
        value = float(value)
    env[op.result] = _named(value, op.result.type)


def _named(value: Value, type_: Attribute) -> Value:
    """A constant tuple with the names that its type gives its fields."""
    if not isinstance(value, TupleValue) or not isinstance(type_, tt.TupleType):
        return value
    pairs = zip(value.elements, type_.elements, strict=True)
    parts = tuple(_named(v, t) for v, t in pairs)
    return TupleValue(parts, type_.field_names, type_.class_name.data)


def _operator(ev: Evaluator, op: ts.OperatorOp, env: Env) -> None:
    name = op.schema.data
    if changes_shape(name):
        return reshape_names(ev, op, env)
    arguments = [env[a] for a in op.arguments]
    if (found := number_operand(op)) is not None:
        name, arguments[1] = found
    if ev.autocasts:
        arguments = _autocast(ev, op, arguments)
    if name in ("aten::tensor", "aten::as_tensor.list") and isinstance(
        op.arguments[0].type, tt.ListType
    ):
        arguments[1] = _list_dtype(ev, op.arguments[0].type, arguments)
    try:
        value = ev.operator(name, arguments)
    except NotKnown as error:
        ev.b.cannot(error.message)
    except OutResized as resized:
        return resize_out(ev, op, env, resized)
    outputs = op.outputs
    if len(outputs) == 1:
        env[outputs[0]] = ev.boxed(value)
    elif outputs:
        parts = value.elements if isinstance(value, TupleValue) else value
        for out, v in zip(outputs, parts, strict=True):
            env[out] = ev.boxed(v)


def _autocast(ev: Evaluator, op: ts.OperatorOp, arguments: list[Value]) -> list[Value]:
    """The arguments of an operator as it takes them inside `with torch.autocast(...)`."""
    out: list[Value] = []
    for value, given in zip(arguments, op.arguments, strict=True):
        dtype = None
        if isinstance(value, Tensor) and isinstance(given.type, tt.TensorType):
            dtype = ev.autocast.cast_of(op, value.dtype)
        out.append(value if dtype is None else ev.b.cast(value, dtype))
    return out


def _list_dtype(ev: Evaluator, type: Attribute, arguments: Sequence[Value]) -> Value:
    """The dtype of `torch.tensor` of a list, which may be empty."""
    data, dtype = arguments[:2]
    element = element_of(type)
    is_empty = not ev.is_grown(data) and not ev.b.heap[data]
    if why := refusal(element, is_empty):
        ev.b.error(why)
    if dtype is None and (found := tensor_dtype(element)) is not None:
        return found.code
    return dtype


def _list(ev: Evaluator, op: ts.ListConstructOp, env: Env) -> None:
    type_ = op.result.type
    element = type_.element if isinstance(type_, tt.ListType) else None
    env[op.result] = ev.new_list([env[a] for a in op.arguments], element)


def _tuple(ev: Evaluator, op: ts.TupleConstructOp, env: Env) -> None:
    type_ = op.result.type
    fields: tuple[str, ...] = ()
    name = ""
    if isinstance(type_, tt.TupleType):
        fields, name = type_.field_names, type_.class_name.data
    env[op.result] = TupleValue(tuple(env[a] for a in op.arguments), fields, name)


def _dict(ev: Evaluator, op: ts.DictConstructOp, env: Env) -> None:
    parts = [env[a] for a in op.arguments]
    env[op.result] = dict_of(ev, zip(parts[::2], parts[1::2], strict=True))


def _unpack(ev: Evaluator, op: ts.ListUnpackOp | ts.TupleUnpackOp, env: Env) -> None:
    value = env[op.argument]
    elements: Sequence[Value]
    if ev.is_grown(value):
        elements = unpack(ev, value, len(op.outputs))
    else:
        elements = ev.b.heap[value] if isinstance(value, ListRef) else value.elements
    if len(elements) != len(op.outputs):
        ev.b.error(f"Expected {len(op.outputs)} elements in a list but found {len(elements)}")
    for out, v in zip(op.outputs, elements, strict=True):
        env[out] = v


def _cast(ev: Evaluator, op: ts.UncheckedCastOp, env: Env) -> None:
    value, type_ = env[op.argument], op.result.type
    if isinstance(value, Variant):
        fits = [k for k, v in enumerate(value.options) if is_instance(ev, v, type_, is_cast=True)]
        value = narrowed(value, fits) if fits else value
    env[op.result] = value


def _is_instance(ev: Evaluator, op: ts.IsInstanceOp, env: Env) -> None:
    env[op.result] = any(is_instance(ev, env[op.argument], t) for t in op.types)


def _tuple_index(ev: Evaluator, op: ts.TupleIndexOp, env: Env) -> None:
    index = env[op.index]
    elements = env[op.argument].elements
    if not isinstance(index, int):
        ev.b.cannot("a tuple index that is not known")
    if not -len(elements) <= index < len(elements):
        ev.b.error("Tuple list index out of range")
    env[op.result] = elements[index]


def _container_index(ev: Evaluator, op: ts.ModuleContainerIndexOp, env: Env) -> None:
    index, children = env[op.index], ev.b.heap[env[op.container]]
    if isinstance(index, Expr):
        count = sum(1 for name in children if name.isdigit())
        inside = binary("and", binary("ge", index, 0), binary("lt", index, count))
        held = ev.b.scalar_operand(inside)
        name = env[op.container].class_name
        ev.b.emit(tg.AssertOp(held, f"RuntimeError: {name} does not have a field with that name"))
        env[op.result] = Chosen(index, tuple(children[str(at)] for at in range(count)))
        return
    if str(index) not in children:
        name = env[op.container].class_name
        ev.b.error(f"RuntimeError: {name} does not have a field with name '{index}'")
    env[op.result] = children[str(index)]


def _tuple_slice(ev: Evaluator, op: ts.TupleSliceOp, env: Env) -> None:
    begin, end = op.begin.data, op.end.data
    env[op.result] = TupleValue(env[op.argument].elements[begin:end])


def _get_attr(ev: Evaluator, op: ts.GetAttrOp, env: Env) -> None:
    owner, name = env[op.object], op.attribute.data
    if isinstance(owner, TupleValue):
        env[op.result] = owner.elements[owner.fields.index(name)]
        return
    if not isinstance(owner, ObjectRef):
        ev.b.cannot(f"attribute {name} of {type(owner).__name__}")
    attributes = ev.b.heap[owner]
    if name in attributes:
        env[op.result] = attributes[name]
        return
    declared = ev.classes.get(owner.class_name)
    names = [n.data for n in declared.constant_names] if declared else []
    if declared is None or name not in names:
        ev.b.cannot(f"object of {owner.class_name} was given without attribute {name}")
    constant = declared.constant_values.data[names.index(name)]
    env[op.result] = ev.import_value(constant.data)  # type: ignore[attr-defined]  # ts.value


def _set_attr(ev: Evaluator, op: ts.SetAttrOp, env: Env) -> None:
    owner: ObjectRef = env[op.object]
    if owner.shared:
        ev.b.cannot("setting an attribute of an object that may be the same as another one")
    if owner.path not in ("", SELF) and not is_state(owner.path):
        # The caller may hold the object itself, as the module of a hook does.
        ev.b.cannot("setting an attribute of an object that is an argument")
    old = ev.b.heap[owner]
    ev.b.heap[owner] = {k: old[k] for k in old} | {op.attribute.data: env[op.value]}


def _create(ev: Evaluator, op: ts.CreateObjectOp, env: Env) -> None:
    type_ = op.result.type
    assert isinstance(type_, tt.ClassType)
    made = ObjectRef(type_.class_name.data)
    ev.b.heap[made] = {}
    env[op.result] = made


def _uninitialized(ev: Evaluator, op: ts.UninitializedOp, env: Env) -> None:
    env[op.result] = UNINITIALIZED


def _call(ev: Evaluator, op: ts.CallOp, env: Env) -> None:
    env[op.result] = ev.call(op.callee.data, [env[a] for a in op.arguments])


def _call_method(ev: Evaluator, op: ts.CallMethodOp, env: Env) -> None:
    owner, *arguments = (env[a] for a in op.arguments)
    if isinstance(owner, Chosen):
        env[op.result] = _call_chosen(ev, owner, op.method.data, arguments)
        return
    if not isinstance(owner, ObjectRef):
        ev.b.cannot(f"method {op.method.data} of {type(owner).__name__}")
    env[op.result] = ev.call(f"{owner.class_name}.{op.method.data}", [owner, *arguments])


def _call_chosen(ev: Evaluator, owner: Chosen, method: str, arguments: list[Value]) -> Value:
    """A method of one of several objects: an if for each but the last."""

    def call(at: int) -> list[Value]:
        target = owner.options[at]
        name = f"{target.class_name}.{method}"
        if at == len(owner.options) - 1:
            return [ev.call(name, [target, *arguments])]
        here = binary("eq", owner.index, at)
        return branch(
            ev.b,
            here,
            lambda _: [ev.call(name, [target, *arguments])],
            lambda _: call(at + 1),
        )

    return call(0)[0]


def _if(ev: Evaluator, op: ts.IfOp, env: Env) -> None:
    condition = ev.truth(env[op.condition])
    yes, no = op.true_region.block, op.false_region.block
    if condition is UNINITIALIZED:
        condition = False
    if not isinstance(condition, Expr):
        values = ev.run_region(yes if condition else no, env, ())
    else:
        values = branch(
            ev.b,
            condition,
            lambda _: ev.run_region(yes, env, ()),
            lambda _: ev.run_region(no, env, ()),
        )
    for out, v in zip(op.outputs, values, strict=True):
        env[out] = v


def _loop(ev: Evaluator, op: ts.LoopOp, env: Env) -> None:
    block = op.body.block
    size = sum(1 for _ in walk_ops(block))
    values = loop(
        ev.b,
        env[op.max_trip],
        ev.truth(env[op.condition]),
        [env[v] for v in op.carried],
        lambda arguments: _condition_first(ev, ev.run_region(block, env, arguments)),
        size,
    )
    for out, v in zip(op.outputs, values, strict=True):
        env[out] = v


def _condition_first(ev: Evaluator, values: list[Value]) -> list[Value]:
    return [ev.truth(values[0]), *values[1:]]


def _print(ev: Evaluator, op: ts.PrintOp, env: Env) -> None:
    ev.b.operator = "prim::Print"
    say(ev, [env[a] for a in op.arguments])


def _raise(ev: Evaluator, op: ts.RaiseOp, env: Env) -> None:
    message, name = env[op.message], env[op.exception]
    unknown = isinstance(message, Text | UnknownString | Variant)
    text = to_text(message) if unknown else str(message)
    if isinstance(name, str) and name:
        text = f"{name}: {text}"
    raise Raised(text)


def _fork(ev: Evaluator, op: ts.ForkOp, env: Env) -> None:
    around, ev.autocasts = ev.autocasts, []  # a task is a thread of its own
    try:
        env[op.result] = FutureValue(ev.call(op.callee.data, [env[a] for a in op.arguments]))
    finally:
        ev.autocasts = around


def _awaitable(ev: Evaluator, op: ts.AwaitableOp, env: Env) -> None:
    env[op.result] = waiting(ev, op.callee.data, tuple(env[a] for a in op.arguments))


def _enter(ev: Evaluator, op: ts.EnterOp | ts.ExitOp, env: Env) -> None:
    owner = env[op.argument]
    if not isinstance(owner, ObjectRef):
        ev.b.cannot("a with statement over this value")
    is_enter = isinstance(op, ts.EnterOp)
    name = f"{owner.class_name}.{'__enter__' if is_enter else '__exit__'}"
    env[op.result] = ev.call(name, [owner] if is_enter else [owner, None, None, None])
    if is_autocast(owner.class_name) and is_enter:
        ev.autocasts.append(_entered(ev, owner))
    elif is_autocast(owner.class_name):
        ev.autocasts.pop()


def _entered(ev: Evaluator, owner: ObjectRef) -> Autocast:
    """Which casts are made inside a `with` over one of autocast's objects."""
    attributes = ev.b.heap[owner]
    device, enabled, code = (attributes[name] for name in ("device", "_enabled", "fast_dtype"))
    if not (isinstance(device, str) and isinstance(enabled, bool) and isinstance(code, int)):
        ev.b.cannot("an autocast that depends on unknown values")
    return ev.autocast.entered(device, enabled, code)


def script_error(raised: Raised, ev: Evaluator) -> ScriptError:
    """The error of a program that always raises for these arguments."""
    return ScriptError(raised.message, ev.b.span)


def enum_member(ev: Evaluator, enum: EnumRef) -> Value:
    """The value of an enum member, from its class declaration."""
    declared = ev.classes[enum.class_name]
    names = [n.data for n in declared.constant_names]
    constant = declared.constant_values.data[names.index(enum.member)]
    return ev.import_value(constant.data)  # type: ignore[attr-defined]  # ts.value


def is_tensor(value: Value) -> bool:
    return isinstance(value, Tensor)


def _by_option(handler: Handler, operands: int = 99) -> Handler:
    """A handler that runs for each option of variants among the first `operands` operands."""

    def run(ev: Evaluator, op: Operation, env: Env) -> None:
        looked_at = list(op.operands)[: min(operands, _holds_last(op))]
        at = next((v for v in looked_at if isinstance(env.get(v), Variant)), None)
        if at is None:
            handler(ev, op, env)
            return
        whole = env[at]
        if isinstance(op, ts.OperatorOp) and changes_shape(op.schema.data):
            ev.b.cannot("reshapes in place what may be one of several tensors")

        def one(option: Value) -> list[Value]:
            env[at] = option
            run(ev, op, env)
            return [env[r] for r in op.results]

        values = each_option(ev.b, whole, one)
        env[at] = whole
        env.update(zip(op.results, values, strict=True))

    return run


def _holds_last(op: Operation) -> int:
    """How many operands an op looks into: what is put into a container stays as it is."""
    count = len(op.operands)
    is_store = isinstance(op, ts.OperatorOp) and op.schema.data.partition(".")[0] in _STORES
    return count - 1 if is_store else count


_STORES = frozenset({"aten::append", "aten::insert", "aten::_set_item"})
"""Operators that put their last argument into a container."""


HANDLERS: dict[type[Operation], Handler] = {
    ts.ConstantOp: _constant,
    ts.OperatorOp: _by_option(_operator),
    ts.ListConstructOp: _list,
    ts.TupleConstructOp: _tuple,
    ts.DictConstructOp: _dict,
    ts.ListUnpackOp: _by_option(_unpack),
    ts.TupleUnpackOp: _by_option(_unpack),
    ts.UncheckedCastOp: _cast,
    ts.IsInstanceOp: _by_option(_is_instance),
    ts.TupleIndexOp: _by_option(_tuple_index),
    ts.ModuleContainerIndexOp: _by_option(_container_index),
    ts.TupleSliceOp: _by_option(_tuple_slice),
    ts.GetAttrOp: _by_option(_get_attr),
    ts.SetAttrOp: _by_option(_set_attr, 1),
    ts.CreateObjectOp: _create,
    ts.UninitializedOp: _uninitialized,
    ts.CallOp: _call,
    ts.CallMethodOp: _by_option(_call_method, 1),
    ts.IfOp: _if,
    ts.LoopOp: _loop,
    ts.PrintOp: _by_option(_print),
    ts.RaiseOp: _raise,
    ts.ForkOp: _fork,
    ts.AwaitableOp: _awaitable,
    ts.EnterOp: _enter,
    ts.ExitOp: _enter,
}
