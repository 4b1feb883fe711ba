"""The graph interpreter: runs a `ts` module op by op over eager tensors.

It is the meaning of `ts`, the reference of every native path, and what runs where native code is
impossible. A failing operator or `raise` becomes an error with the TorchScript call stack.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cmp_to_key
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import (
    InternalError,
    NotCompilable,
    OperatorError,
    ScriptError,
    TensorScriptError,
    UserError,
)
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import (
    Device,
    DictLiteral,
    EnumRef,
    ListLiteral,
    TensorLiteral,
)
from tensorscript.dialects.ts.locations import span_of
from tensorscript.dialects.ts.types import (
    FLOAT,
    ClassType,
    InterfaceType,
    TupleType,
)
from tensorscript.eager.device import device
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.kernels.script_text import script_text
from tensorscript.eager.tensor import Tensor

from .codes import decode, encode
from .instances import is_instance
from .list_tensors import tensor_of_list
from .values import EnumValue, Future, ScriptObject, named_tuple

UNINITIALIZED = object()
"""What `prim::Uninitialized` yields; never read by a correct program."""

Environment = dict[SSAValue, Any]
PythonCall = Callable[..., Any]


class Interpreter:
    """Runs the functions of one ts module.

    Args:
        module: the functions and class declarations.
        python_calls: what `ts.python_op` may call, by name.
    """

    def __init__(
        self, module: ModuleOp, python_calls: Mapping[str, PythonCall] | None = None
    ) -> None:
        self.module = module
        self.functions: dict[str, ts.FuncOp] = {}
        self.classes: dict[str, ts.ClassOp] = {}
        self.python_calls = {} if python_calls is None else python_calls
        self._pool: ThreadPoolExecutor | None = None
        self.refresh()

    def refresh(self) -> None:
        """Take in functions and classes added to the module since."""
        for op in self.module.body.block.ops:
            if isinstance(op, ts.FuncOp):
                self.functions[op.sym_name.data] = op
            elif isinstance(op, ts.ClassOp):
                self.classes[op.sym_name.data] = op

    def declaration(self, class_name: str) -> ts.ClassOp | None:
        """The declaration of a class, also one added since; None if there is none."""
        if class_name not in self.classes:
            self.refresh()
        return self.classes.get(class_name)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Run the function `name`.

        Args:
            arguments: one value per argument of the function, defaults filled in.

        Raises:
            UserError: an operator or the program itself failed; carries the script call stack.
        """
        if name not in self.functions:
            self.refresh()
        func = self.functions[name]
        env: Environment = dict(zip(func.block.args, arguments, strict=True))
        self.block(func.block, env)
        values = func.return_op.values
        return env[values[0]] if values else None

    def block(self, block: Block, env: Environment) -> None:
        """Run the ops of a block; results land in `env`."""
        self.run(block.ops, env)

    def run(self, ops: Iterable[Operation], env: Environment) -> None:
        """Run ops in order; results land in `env`."""
        entered: list[Operation] = []
        try:
            for op in ops:
                run = _RUN.get(type(op))
                if run is None:
                    raise InternalError(f"the interpreter has no {op.name}", "interpreter")
                try:
                    run(self, op, env)
                except UserError as error:
                    _located(error, op)
                    raise
                except TensorScriptError:
                    raise
                except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
                    raise _located(_as_user_error(error), op) from error
                if run is _enter:
                    entered.append(op)
                elif run is _exit and entered:
                    entered.pop()
        except TensorScriptError:
            # A failure leaves the contexts that it passes, as `with` does.
            for op in reversed(entered):
                _leave(self, env[op.operands[0]])
            raise

    def evaluate(self, op: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of one op on given values.

        Raises:
            TensorScriptError: it fails.
        """
        env: Environment = dict(zip(op.operands, operands, strict=True))
        self.run([op], env)
        return [env[result] for result in op.results]

    def attribute(self, target: ScriptObject, name: str) -> Any:
        """An attribute or class constant."""
        if name in target.attributes:
            return target.attributes[name]
        if (declared := self.declaration(target.class_name)) is not None:
            names = [n.data for n in declared.constant_names]
            if name in names:
                return self.constant(declared.constant_values.data[names.index(name)].data)  # type: ignore[attr-defined]  # constants are ts.value
        raise UserError(f"'{target.class_name}' object has no attribute or method '{name}'.")

    def constant(self, value: object, type_: Attribute | None = None) -> Any:
        """The run-time form of a constant; containers are fresh, a NamedTuple needs its type."""
        match value:
            case TensorLiteral():
                made = Tensor(value.array, value.dtype)
                made.requires_grad = value.requires_grad
                return made
            case Device():
                return device(value.text)
            case ListLiteral():
                return [self.constant(v) for v in value.elements]
            case DictLiteral():
                return {self.constant(k): self.constant(v) for k, v in value.items}
            case tuple() if isinstance(type_, TupleType):
                parts = zip(value, type_.elements, strict=True)
                return _make_tuple(type_, [self.constant(v, t) for v, t in parts])
            case tuple():
                return tuple(self.constant(v) for v in value)
            case EnumRef():
                return self.enum(value)
        return value

    def enum(self, ref: EnumRef) -> EnumValue:
        declared = self.declaration(ref.class_name)
        if declared is None:
            raise InternalError(f"the module has no class {ref.class_name}", "interpreter")
        names = [n.data for n in declared.constant_names]
        stored = declared.constant_values.data[names.index(ref.member)]
        return EnumValue(ref.class_name, ref.member, stored.data)  # type: ignore[attr-defined]  # constants are ts.value

    def fork(self, name: str, arguments: Sequence[Any]) -> Future:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(thread_name_prefix="tensorscript-fork")
        return Future(self._pool.submit(self.call, name, list(arguments)))


def _located(error: UserError, op: Operation) -> UserError:
    """Give an error the place of the op that failed, once; calls add theirs as notes."""
    if error.span is None:
        error.span = span_of(op)
    return error


def _as_user_error(error: Exception) -> UserError:
    """A failure inside a container or value helper, as TorchScript's RuntimeError."""
    text = str(error) or type(error).__name__
    return (
        NotImplementedFallback(text) if isinstance(error, NotImplementedError) else _Runtime(text)
    )


class _Runtime(UserError, RuntimeError):
    """A failure of a value primitive (`list index out of range`, `KeyError: b`)."""


class NotImplementedFallback(NotCompilable):
    """A primitive that neither native code nor the interpreter has."""


def _inputs(values: Sequence[SSAValue], env: Environment) -> list[Any]:
    return [env[v] for v in values]


def _constant(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ConstantOp)
    env[op.result] = i.constant(op.value.data, op.result.type)


def _operator(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.OperatorOp)
    arguments = tuple(_inputs(op.arguments, env))
    name = op.schema.data
    if special := _SPECIAL.get(name.partition(".")[0]):
        result = special(i, arguments, op)
    else:
        result = encode(call_overload(name, decode(name, arguments)))
    if len(op.outputs) == 1:
        if type(result) is int and op.outputs[0].type == FLOAT:
            # `max(3, 2.5)`, `sum([])` of floats: Python keeps the int.
            result = float(result)
        env[op.outputs[0]] = result
    else:
        for out, value in zip(op.outputs, result or (), strict=True):
            env[out] = value


def _list(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ListConstructOp)
    env[op.result] = _inputs(op.arguments, env)


def _tuple(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleConstructOp)
    values = _inputs(op.arguments, env)
    env[op.result] = _make_tuple(op.result.type, values)


def _make_tuple(type_: Attribute, values: list[Any]) -> tuple[Any, ...]:
    # The named results of operators are plain tuples outside of a function.
    if isinstance(type_, TupleType) and type_.field_names and type_.class_name.data:
        made: tuple[Any, ...] = named_tuple(type_.class_name.data, type_.field_names)(*values)
        return made
    return tuple(values)


def _dict(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.DictConstructOp)
    values = _inputs(op.arguments, env)
    env[op.result] = dict(zip(values[::2], values[1::2], strict=True))


def _unpack(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleUnpackOp | ts.ListUnpackOp)
    values = env[op.argument]
    if len(values) != len(op.outputs):
        raise _Runtime(f"Expected {len(op.outputs)} elements in a list but found {len(values)}")
    env.update(zip(op.outputs, values, strict=True))


def _pass_through(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.UncheckedCastOp)
    env[op.result] = env[op.argument]


def _isinstance(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.IsInstanceOp)
    env[op.result] = any(is_instance(env[op.argument], t) for t in op.types)


def _tuple_index(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleIndexOp)
    env[op.result] = env[op.argument][env[op.index]]


def _container_index(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ModuleContainerIndexOp)
    container, name = env[op.container], str(env[op.index])
    if name not in container.attributes:
        raise _Runtime(f"{container.class_name} does not have a field with name '{name}'")
    env[op.result] = container.attributes[name]


def _tuple_slice(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.TupleSliceOp)
    begin, end = op.begin.data, op.end.data
    assert isinstance(begin, int) and isinstance(end, int)
    env[op.result] = tuple(env[op.argument])[begin:end]


def _get_attr(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.GetAttrOp)
    target = env[op.object]
    if isinstance(target, ScriptObject):
        env[op.result] = i.attribute(target, op.attribute.data)
    else:
        env[op.result] = getattr(target, op.attribute.data)


def _set_attr(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.SetAttrOp)
    env[op.object].attributes[op.attribute.data] = env[op.value]


def _create(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CreateObjectOp)
    type_ = op.result.type
    assert isinstance(type_, ClassType)
    env[op.result] = ScriptObject(type_.class_name.data)


def _uninitialized(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.UninitializedOp)
    env[op.result] = UNINITIALIZED


def _stacked(i: Interpreter, name: str, arguments: list[Any], op: Operation) -> Any:
    """Call a script function; its error learns that it was called from here."""
    try:
        return i.call(name, arguments)
    except UserError as error:
        error.with_note("", span_of(op))
        raise


def _call(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CallOp)
    env[op.result] = _stacked(i, op.callee.data, _inputs(op.arguments, env), op)


def _call_method(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.CallMethodOp)
    arguments = _inputs(op.arguments, env)
    receiver = arguments[0]
    if not isinstance(receiver, ScriptObject):
        declared = op.arguments[0].type
        name = declared.class_name.data if isinstance(declared, ClassType | InterfaceType) else ""
        env[op.result] = _stacked(i, f"{name}.{op.method.data}", arguments, op)
        return
    env[op.result] = _stacked(i, f"{receiver.class_name}.{op.method.data}", arguments, op)


def _python(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.PythonOp)
    call = i.python_calls[op.callee.data]
    env[op.result] = call(op.result.type, *_inputs(op.arguments, env))


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert isinstance(last, ts.YieldOp)
    return last.values


def _if(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.IfOp)
    block = (op.true_region if env[op.condition] else op.false_region).block
    i.block(block, env)
    env.update(zip(op.outputs, _inputs(_yielded(block), env), strict=True))


def _loop(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.LoopOp)
    block = op.body.block
    carried = _inputs(op.carried, env)
    going, trips, count = bool(env[op.condition]), env[op.max_trip], 0
    yielded = _yielded(block)
    while going and count < trips:
        env[block.args[0]] = count
        env.update(zip(block.args[1:], carried, strict=True))
        i.block(block, env)
        going, *carried = _inputs(yielded, env)
        count += 1
    env.update(zip(op.outputs, carried, strict=True))


def _print(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.PrintOp)
    sys.stdout.write(" ".join(script_text(v) for v in _inputs(op.arguments, env)) + "\n")


def _raise(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.RaiseOp)
    message, kind = env[op.message], env[op.exception]
    raise ScriptError(f"{kind or 'RuntimeError'}: {message}")


def _enter(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.EnterOp)
    target = env[op.argument]
    env[op.result] = i.call(f"{target.class_name}.__enter__", [target])


def _exit(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ExitOp)
    env[op.result] = _leave(i, env[op.argument])


def _leave(i: Interpreter, target: ScriptObject) -> Any:
    return i.call(f"{target.class_name}.__exit__", [target, None, None, None])


def _fork(i: Interpreter, op: Operation, env: Environment) -> None:
    assert isinstance(op, ts.ForkOp)
    env[op.result] = i.fork(op.callee.data, _inputs(op.arguments, env))


def _tensor(i: Interpreter, arguments: tuple[Any, ...], op: Operation) -> Any:
    assert isinstance(op, ts.OperatorOp)
    data, dtype, *rest = decode(op.schema.data, arguments)
    if isinstance(data, list):
        return tensor_of_list(op.arguments[0].type, data, dtype, rest)
    return call_overload(op.schema.data, (data, dtype, *rest))


def _to_list(i: Interpreter, arguments: tuple[Any, ...], op: Operation) -> Any:
    """`x.tolist()`: the annotation said how deep the list is and what it is of."""
    tensor, depth, kind = arguments
    if depth != tensor.ndim:
        raise OperatorError(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()"
        )
    found = tensor.dtype
    fits = (found is int64, found.is_floating_point, found is bool_, found.is_complex)
    if not fits[kind]:
        raise OperatorError(
            "Output annotation element type and runtime tensor element type must match for "
            f"tolist(): {('Long', 'Double', 'Bool', 'ComplexDouble')[kind]} vs {found.word}"
        )
    return tensor.detach().tolist()


def _unwrap_optional(i: Interpreter, arguments: tuple[Any, ...], op: Operation) -> Any:
    if arguments[0] is None:
        raise OperatorError("Unwrapping null optional")
    return arguments[0]


def _sort(i: Interpreter, arguments: tuple[Any, ...], op: Operation) -> Any:
    """`sort` and `sorted`: script objects are compared by their own `__lt__`."""
    assert isinstance(op, ts.OperatorOp)
    items = arguments[0]
    if not (isinstance(items, list) and items and isinstance(items[0], ScriptObject)):
        return encode(call_overload(op.schema.data, decode(op.schema.data, arguments)))
    less = f"{items[0].class_name}.__lt__"

    def compare(a: Any, b: Any) -> int:
        return int(i.call(less, [b, a])) - int(i.call(less, [a, b]))

    made = sorted(items, key=cmp_to_key(compare), reverse=bool(arguments[1:] and arguments[1]))
    if op.schema.data.startswith("aten::sorted"):
        return made
    items[:] = made
    return None


def _nothing(i: Interpreter, op: Operation, env: Environment) -> None:
    pass


_SPECIAL: dict[str, Callable[[Interpreter, tuple[Any, ...], Operation], Any]] = {
    "prim::EnumValue": lambda i, a, op: a[0].value,
    "prim::EnumName": lambda i, a, op: a[0].name,
    "aten::wait": lambda i, a, op: a[0].wait(),
    "aten::str": lambda i, a, op: script_text(a[0]),
    "aten::tensor": _tensor,
    "aten::_unwrap_optional": _unwrap_optional,
    "aten::sort": _sort,
    "aten::sorted": _sort,
    "prim::tolist": _to_list,
    "prim::id": lambda i, a, op: id(a[0]),
}

_RUN: dict[type[Operation], Callable[[Interpreter, Operation, Environment], None]] = {
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
    ts.EnterOp: _enter,
    ts.ExitOp: _exit,
    ts.ForkOp: _fork,
    ts.ReturnOp: _nothing,
    ts.YieldOp: _nothing,
}
