"""The `code/` files of an archive: every class and function it needs, by qualified name.

    class Net(Module):                            # `__torch__.pkg.Net`, in code/__torch__/pkg.py
      __parameters__ = ["weight", ]
      __buffers__ = []
      weight : Tensor
      __annotations__["0"] = __torch__.pkg.Layer  # a name that is no identifier
      k : Final[int] = 4
      def forward(self: __torch__.pkg.Net,
        x: Tensor) -> Tensor:
        ...

Definitions stand in the order in which they are found, beginning with the classes of the saved
objects, as in PyTorch's archives; a reader may take them in any order.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Protocol

from xdsl.ir import Attribute, Operation

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.code_constants import ConstantTable, constant_text
from tensorscript.dialects.ts.code_expressions import CodeState
from tensorscript.dialects.ts.code_marks import places
from tensorscript.dialects.ts.code_text import code_text
from tensorscript.dialects.ts.constants import FunctionRef
from tensorscript.dialects.ts.operator_functions import OPERATOR_FUNCTIONS
from tensorscript.dialects.ts.ops import (
    CallMethodOp,
    CallOp,
    ConstantOp,
    FuncOp,
    IsInstanceOp,
    OperatorOp,
    TaskOp,
)
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.dialects.ts.types import ClassType, EnumType, InterfaceType, TupleType
from tensorscript.dialects.walks import walk_ops
from tensorscript.frontends.script.contexts import CUSTOM_CLASSES
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.frontends.script.signature import Signature, constant_type


class Definitions(Protocol):
    """The compiled program that is written."""

    def class_info(self, name: str) -> ClassInfo:
        """The declaration of a class, enum or interface."""
        ...

    def methods(self, name: str) -> Sequence[str]:
        """The methods of a class in the order in which they are written, compiled by now."""
        ...

    def function(self, symbol: str) -> FuncOp:
        """A function, or a method by its qualified name."""
        ...


@dataclass
class _File:
    """The text of one file, and what its functions share."""

    state: CodeState
    parts: list[str] = field(default_factory=list)


Places = Sequence[tuple[int, Span | None]]
"""From which offsets of a text on it came from which places; None: from none."""

Named = TupleType | EnumType | InterfaceType | ClassType


@dataclass
class CodeFiles:
    """Collects definitions and what they refer to.

    Attributes:
        constants: what the text calls `CONSTANTS.cN`.
        operators: the schemas of all operators in the code.
    """

    definitions: Definitions
    constants: ConstantTable = field(default_factory=ConstantTable)
    operators: set[str] = field(default_factory=set)
    _files: dict[str, _File] = field(default_factory=dict)
    _found: dict[str, Callable[[], None]] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)

    def write_class(self, name: str) -> None:
        """Write a class at once; what it refers to waits for `write_rest`."""
        self._write(name, lambda: self._class(name))

    def write_rest(self) -> None:
        """Write everything that was referred to and is not written yet."""
        while waiting := [name for name in self._found if name not in self._written]:
            for name in waiting:
                self._write(name, self._found[name])

    def texts(self) -> Iterator[tuple[str, str, Places]]:
        """(qualified module name, text, where the text came from) of every file."""
        for module, file in self._files.items():
            text, found = places("".join(file.parts))
            spans = file.state.spans or []
            yield module, text, [(at, None if k is None else spans[k]) for at, k in found]

    def _write(self, name: str, write: Callable[[], None]) -> None:
        if name not in self._written:
            self._written.add(name)
            write()

    def _file(self, name: str) -> _File:
        module = name.rpartition(".")[0]
        if module not in self._files:
            find = self.definitions.function
            state = CodeState(self.constants, importable=True, spans=[], forked=find)
            self._files[module] = _File(state)
        return self._files[module]

    # What a definition refers to

    def _refer(self, type: Attribute) -> None:
        for named in _named_types(type):
            name = named.class_name.data
            if isinstance(named, TupleType):
                self._found.setdefault(name, lambda t=named: self._named_tuple(t))  # type: ignore[misc]  # a default binds the loop variable
            else:
                self._found.setdefault(name, lambda n=name: self._class(n))  # type: ignore[misc]  # as above

    def _refer_function(self, symbol: str) -> None:
        if symbol.startswith(OPERATOR_FUNCTIONS):
            return
        self._found.setdefault(symbol, lambda: self._function(symbol))

    def _scan(self, function: FuncOp) -> None:
        """Note what a function refers to: called functions first, then types, and behind the type
        of a task what its body refers to."""
        for op in walk_ops(function):
            if isinstance(op, CallOp):
                self._refer_function(op.callee.data)
            elif isinstance(op, ConstantOp) and isinstance(op.value.data, FunctionRef):
                self._refer_function(op.value.data.qualified_name)
            elif isinstance(op, OperatorOp):
                self.operators.add(op.schema.data)
        for arg in function.block.args:
            self._refer(arg.type)
        self._refer(function.return_type)
        for op in walk_ops(function):
            for result in op.results:
                self._refer(result.type)
            for inner in op.regions:
                for value in inner.block.args:
                    self._refer(value.type)
            for named in _types_in_text(op):
                self._refer(named)
            if isinstance(op, TaskOp):
                self._scan(self.definitions.function(op.callee.data))

    # Definitions

    def _function(self, symbol: str) -> None:
        function = self.definitions.function(symbol)
        self._scan(function)
        file = self._file(symbol)
        file.parts.append(code_text(function, file.state))

    def _class(self, name: str) -> None:
        if name.startswith(CUSTOM_CLASSES):
            return
        info = self.definitions.class_info(name)
        if info.category == "interface":
            self._interface(info)
        elif info.category == "enum":
            self._enum(info)
        else:
            self._class_with_methods(info)

    def _class_with_methods(self, info: ClassInfo) -> None:
        file = self._file(info.name)
        out = file.parts
        is_module = info.category == "module"
        out.append(f"class {_short(info.name)}{'(Module)' if is_module else ''}:\n")
        before = len(out)
        if is_module:
            out.append(f"  __parameters__ = {_names(info.parameters)}\n")
            out.append(f"  __buffers__ = {_names(info.buffers)}\n")
            for kind, hooks in ("pre_hooks", info.pre_hooks), ("hooks", info.hooks):
                if hooks:
                    out.append(f"  __forward_{kind}__ = {_names(map(_short, hooks))}\n")
        out += _attribute_lines(info.attributes)
        for type in info.attributes.values():
            self._refer(type)
        for name, value in info.constants.items():
            type = constant_type(value)
            text = constant_text(value, type, self.constants)
            out.append(f"  {name} : Final[{annotation_text(type)}] = {text}\n")
        for method in self.definitions.methods(info.name):
            function = self.definitions.function(f"{info.name}.{method}")
            self._scan(function)
            out.append(code_text(function, file.state, level=1))
        if len(out) == before:
            out.append("  pass\n")

    def _interface(self, info: ClassInfo) -> None:
        out = self._file(info.name).parts
        base = "ModuleInterface" if info.is_module_interface else "Interface"
        out.append(f"class {_short(info.name)}({base}):\n")
        for name in self.definitions.methods(info.name):
            signature = info.compiled[name]
            for type in (*(a.type for a in signature.arguments), *signature.returns):
                self._refer(type)
            out.append(f"  {_declaration(name, signature)}\n    pass\n")

    def _enum(self, info: ClassInfo) -> None:
        out = self._file(info.name).parts
        out.append(f"class {_short(info.name)}(Enum):\n")
        for name, value in info.constants.items():
            text = constant_text(value, constant_type(value), self.constants)
            out.append(f"  {name} = {text}\n")

    def _named_tuple(self, type: TupleType) -> None:
        out = self._file(type.class_name.data).parts
        out.append(f"class {_short(type.class_name.data)}(NamedTuple):\n")
        out += _attribute_lines(dict(zip(type.field_names, type.elements, strict=True)))
        for element in type.elements:
            self._refer(element)


def _types_in_text(op: Operation) -> Sequence[Attribute]:
    """The types that the text of an operation names and that no value of it needs to have."""
    if isinstance(op, IsInstanceOp):
        return tuple(op.types)
    if isinstance(op, CallMethodOp) and op.interface is not None:
        return (op.interface,)
    return ()


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _names(names: Iterable[str]) -> str:
    return "[" + "".join(f'"{name}", ' for name in names) + "]"


def _attribute_lines(attributes: dict[str, Attribute]) -> Iterator[str]:
    for at, (name, type) in enumerate(attributes.items()):
        if name.isidentifier() and not keyword.iskeyword(name):
            yield f"  {name} : {annotation_text(type)}\n"
            continue
        if at == 0:
            yield "  __annotations__ = []\n"
        yield f'  __annotations__["{name}"] = {annotation_text(type)}\n'


def _declaration(name: str, signature: Signature) -> str:
    first, *rest = signature.arguments
    formals = [first.name, *(f"{a.name}: {annotation_text(a.type)}" for a in rest)]
    return f"def {name}({', '.join(formals)}) -> {annotation_text(signature.returns[0])}:"


def _named_types(type: Attribute) -> Iterator[Named]:
    """The types with a definition of their own inside `type`, outermost first."""
    if isinstance(type, TupleType) and not type.class_name.data:
        inner: Iterable[Attribute] = type.elements
    elif isinstance(type, TupleType | EnumType | InterfaceType | ClassType):
        yield type
        return
    else:
        inner = getattr(type, "parameters", ())
    for part in inner:
        yield from _named_types(part)
