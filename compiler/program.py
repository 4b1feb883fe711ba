"""What is compiled: a ts module, its entry, and the object a method belongs to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tensorscript.base.dtypes import QUANTIZED, int64
from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Origin
from tensorscript.dialects.ts.constants import (
    Device,
    EnumRef,
    QuantizedLiteral,
    SparseLiteral,
    TensorLiteral,
    ValueAttr,
)
from tensorscript.dialects.ts.locations import place_of
from tensorscript.dialects.ts.ops import FuncOp, OperatorOp
from tensorscript.dialects.ts.types import NoneType
from tensorscript.dialects.walks import walk_ops
from tensorscript.eager.device import device
from tensorscript.eager.kernels.sparse import places
from tensorscript.eager.storage import shown
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts_to_tg.values import ObjectValue
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import EnumValue, ScriptObject

from .jit.boundary import Classes
from .stages import print_module


def _warns(op: Operation) -> bool:
    return isinstance(op, OperatorOp) and op.schema.data == "aten::warn"


_GRAD_MODES = "__torch__.torch.autograd.grad_mode."


_ASK_OBJECTS = ("aten::__is__", "aten::__isnot__")


def _asks_objects(op: Operation) -> bool:
    """Whether two tensors are compared by which object they are."""
    if not isinstance(op, OperatorOp) or op.schema.data not in _ASK_OBJECTS:
        return False
    return not any(isinstance(operand.type, NoneType) for operand in op.operands)


def _asks_gradients(op: Operation) -> bool:
    return isinstance(op, OperatorOp) and op.schema.data == "aten::is_grad_enabled"


def undefined_method(name: str, known: Iterable[str]) -> GuardError:
    """The error of asking for a method that was not compiled with its module."""
    return GuardError(
        f"Method '{name}' is not defined. The module has: {', '.join(sorted(known))}. "
        "A method that none of these calls is compiled if it is marked with torch.jit.export."
    )


@dataclass
class Program:
    """A function of a ts module, bound to `receiver` if it is a method.

    Attributes:
        module: all functions and classes that the entry may reach.
        entry: symbol of the function.
        python_calls: what the program left in Python, by name.
        classes: Python classes beside those of the program.
        origin: where the text came from, if that is an archive's.
        receiver: value of its first argument (`self`), None for a plain function.
    """

    module: ModuleOp
    entry: str
    receiver: ScriptObject | None = None
    python_calls: Mapping[str, Callable[..., Any]] | None = None
    classes: Classes = field(default_factory=Classes)
    origin: Origin | None = None
    interpreter: Interpreter = field(init=False)

    def __post_init__(self) -> None:
        self.interpreter = Interpreter(self.module, self.python_calls)

    @cached_property
    def digest(self) -> str:
        """A hash of the module's text, and of the places that its warnings show."""
        told = [place_of(op) for op in walk_ops(self.module) if _warns(op)]
        return hashlib.sha256(f"{print_module(self.module)}{told}".encode()).hexdigest()

    @cached_property
    def asks_gradients(self) -> bool:
        """Whether `is_grad_enabled()` decides something here; `with no_grad():` asks in vain."""
        functions = self.interpreter.functions.values()
        asked = (f for f in functions if not f.sym_name.data.startswith(_GRAD_MODES))
        return any(_asks_gradients(op) for function in asked for op in function.walk())

    @cached_property
    def asks_objects(self) -> bool:
        """Whether it decides something here which arguments are one object."""
        functions = self.interpreter.functions.values()
        return any(_asks_objects(op) for function in functions for op in function.walk())

    @property
    def function(self) -> FuncOp:
        return self.interpreter.functions[self.entry]

    @property
    def names(self) -> tuple[str, ...]:
        """Argument names without `self`."""
        names = [n.data for n in self.function.argument_names]
        return tuple(names[1:] if self.receiver is not None else names)

    @property
    def defaults(self) -> dict[str, Any]:
        """Default values by name."""
        func = self.function
        return {
            name.data: self.interpreter.constant(value.data)
            for name, value in zip(func.argument_names, func.defaults, strict=True)
            if isinstance(value, ValueAttr)
        }

    def method(self, name: str) -> Program:
        """Another method of the same object.

        Raises:
            GuardError: it is not compiled with the object.
            UserError: there is no object.
        """
        if self.receiver is None:
            raise UserError(f"{self.entry} is no method: it has no other methods beside it")
        prefix = f"{self.receiver.class_name}."
        symbol = f"{prefix}{name}"
        if symbol not in self.interpreter.functions:
            known = (f.removeprefix(prefix) for f in self.interpreter.functions)
            raise undefined_method(name, [word for word in known if word.isidentifier()])
        return replace(self, entry=symbol)

    def interpret(self, values: list[Any]) -> Any:
        """Run in the graph interpreter."""
        receiver = [] if self.receiver is None else [self.receiver]
        return self.interpreter.call(self.entry, [*receiver, *values])


def object_value(target: ScriptObject, memo: dict[int, ObjectValue] | None = None) -> ObjectValue:
    """The specialiser's view of an object: tensors as literals over the same memory."""
    memo = {} if memo is None else memo
    if (known := memo.get(id(target))) is not None:
        return known
    attributes: dict[str, object] = {}
    made = memo[id(target)] = ObjectValue(target.class_name, attributes)
    for name, value in target.attributes.items():
        attributes[name] = _constant(value, memo)
    return made


def _tensor(value: Tensor) -> TensorLiteral | QuantizedLiteral | SparseLiteral:
    if (held := value._sparse) is not None:
        at = TensorLiteral(places(value), int64)
        values = TensorLiteral(held.values._array, value.dtype)
        return SparseLiteral(value._array.shape, at, values, held.coalesced)
    if (grid := value._quantizer) is None:
        return TensorLiteral(shown(value), value.dtype, value.requires_grad)
    integers = TensorLiteral(value._array, QUANTIZED[value.dtype])
    if grid.axis is None:
        return QuantizedLiteral(integers, value.dtype, float(grid.scale), int(grid.zero_point))
    scale, zero = map(TensorLiteral, (grid.scale, grid.zero_point), grid.dtypes)
    return QuantizedLiteral(integers, value.dtype, scale, zero, grid.axis)


def _constant(value: Any, memo: dict[int, ObjectValue]) -> object:
    match value:
        case Tensor():
            return _tensor(value)
        case ScriptObject():
            return object_value(value, memo)
        case list():
            return [_constant(v, memo) for v in value]
        case tuple():
            parts = [_constant(v, memo) for v in value]
            named: Any = getattr(value, "_make", tuple)
            return named(parts)
        case device():
            return Device(str(value))
        case EnumValue():
            return EnumRef(value.class_name, value.name)
        case dict():
            return {k: _constant(v, memo) for k, v in value.items()}
    return value
