"""One program taken into another: what was compiled apart (a scripted, traced or loaded module or
function) becomes part of the program that uses it.

Classes and functions keep their names where those are free or mean the same thing; others are
renamed, here and in everything that refers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from io import StringIO
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.printer import Printer

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import EnumRef, FunctionRef, ValueAttr
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.dialects.ts.types import ClassType, TupleType
from tensorscript.dialects.walks import walk_ops

from .program import ClassInfo, Compiled, Program
from .signature import Signature

A = TypeVar("A", bound=Attribute)


@dataclass(frozen=True)
class Linkable:
    """A compiled program as others may take it in; what they need of it is compiled by now."""

    module: ModuleOp
    classes: Mapping[str, ClassInfo]
    named_tuples: Mapping[str, TupleType] = field(default_factory=dict)
    python_functions: Mapping[str, Callable[..., object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Renaming:
    """Qualified names of one program and what they are called in another."""

    names: Mapping[str, str]

    def name(self, name: str) -> str:
        """A class, function or method by its name in the other program."""
        if name in self.names:
            return self.names[name]
        owner, dot, last = name.rpartition(".")
        return f"{self.names[owner]}{dot}{last}" if owner in self.names else name

    def attribute(self, found: A) -> A:
        """A type or property with the names in it changed."""
        if not self.names:
            return found
        made: Attribute = found
        match found:
            case StringAttr():
                made = StringAttr(self.name(found.data))
            case ArrayAttr():
                made = ArrayAttr([self.attribute(a) for a in found.data])
            case ValueAttr():
                made = ValueAttr(self.constant(found.data))
            case ParametrizedAttribute():
                made = found.new([self.attribute(a) for a in found.parameters])
        return cast(A, made)

    def constant(self, value: object) -> object:
        match value:
            case FunctionRef():
                return FunctionRef(self.name(value.qualified_name))
            case EnumRef():
                return EnumRef(self.name(value.class_name), value.member)
            case tuple():
                return tuple(map(self.constant, value))
        return value

    def operation(self, op: Operation) -> Operation:
        """A copy of an op and of all in it, with the names changed."""
        made = op.clone()
        if not self.names:
            return made
        for inner in (made, *walk_ops(made)):
            inner.properties = {k: self.attribute(v) for k, v in inner.properties.items()}
            for result in inner.results:
                result._type = self.attribute(result.type)
            for region in inner.regions:
                for argument in region.block.args:
                    argument._type = self.attribute(argument.type)
        return made

    def signature(self, found: Signature) -> Signature:
        formals = tuple(
            replace(f, type=self.attribute(f.type), default=self.constant(f.default))
            for f in found.arguments
        )
        returns = tuple(map(self.attribute, found.returns))
        return replace(found, name=self.name(found.name), arguments=formals, returns=returns)


class Linker:
    """Takes programs into one; a program is taken in once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._done: dict[int, tuple[ModuleOp, Renaming, set[str]]] = {}

    def link(self, source: Linkable, signatures: Iterable[Signature] = ()) -> Renaming:
        """Take in all functions and classes of `source`; gives their names here.

        Args:
            signatures: of functions that the program will call itself.
        """
        known = self._done.get(id(source.module))
        if known is None:
            known = self._done[id(source.module)] = (source.module, self._names(source), set())
        _, renaming, taken = known
        for op in list(source.module.body.block.ops):
            if isinstance(op, FuncOp) and op.sym_name.data not in taken:
                taken.add(op.sym_name.data)
                if renaming.name(op.sym_name.data) not in self.program.functions:
                    self._function(op, renaming)
        for name, info in source.classes.items():
            if renaming.name(name) not in self.program.classes:
                self._class(info, renaming)
        for name, fields in source.named_tuples.items():
            self.program.named_tuples[renaming.name(name)] = renaming.attribute(fields)
        for name, fn in source.python_functions.items():
            self.program.python_functions.setdefault(renaming.name(name), fn)
        for signature in signatures:
            made = renaming.signature(signature)
            held = self.program.functions[made.name]
            self.program.functions[made.name] = Compiled(made.name, made, held.op)
        self.program.declare_classes()
        return renaming

    def _names(self, source: Linkable) -> Renaming:
        """New names for what has a name that means something else here."""
        theirs = {op.sym_name.data: op for op in _functions(source.module)}
        changed: dict[str, str] = {}
        for name, info in source.classes.items():
            mine = self.program.classes.get(name)
            if mine is not None and not self._same(mine, info, theirs):
                changed[name] = self.program.unique(name)
        for name, fields in source.named_tuples.items():
            known = self.program.named_tuples.get(name)
            if known is not None and known != Renaming(changed).attribute(fields):
                changed[name] = self.program.mangle(name)
        for name, op in theirs.items():
            mine_function = self.program.functions.get(name)
            owner = name.rpartition(".")[0]
            if mine_function is None or owner in source.classes:
                continue
            if _text(mine_function.op) != _text(op):
                changed[name] = self.program.unique(name)
        return Renaming(changed)

    def _same(self, mine: ClassInfo, other: ClassInfo, theirs: Mapping[str, FuncOp]) -> bool:
        """Whether two classes of one name have the same attributes, constants and methods."""
        if (mine.attributes, mine.constants) != (other.attributes, other.constants):
            return False
        if (mine.hooks, mine.pre_hooks) != (other.hooks, other.pre_hooks):
            return False
        functions = self.program.functions
        both = mine.compiled.keys() & other.compiled.keys()
        names = [f"{mine.name}.{method}" for method in both]
        return mine.methods.keys() == other.methods.keys() and all(
            name not in functions or _text(functions[name].op) == _text(theirs[name])
            for name in names
        )

    def _function(self, op: FuncOp, renaming: Renaming) -> None:
        made = renaming.operation(op)
        assert isinstance(made, FuncOp)
        name = made.sym_name.data
        self.program.add(Compiled(name, Signature(name, (), ()), made))

    def _class(self, info: ClassInfo, renaming: Renaming) -> None:
        name = renaming.name(info.name)
        type_ = ClassType(StringAttr(name))
        compiled = {key: renaming.signature(s) for key, s in info.compiled.items()}
        self.program.classes[name] = replace(
            info,
            type=type_,
            attributes={k: renaming.attribute(t) for k, t in info.attributes.items()},
            constants={k: renaming.constant(v) for k, v in info.constants.items()},
            methods={key: _known(signature) for key, signature in compiled.items()},
            compiled=compiled,
            hooks=[renaming.name(hook) for hook in info.hooks],
            pre_hooks=[renaming.name(hook) for hook in info.pre_hooks],
        )


def _known(signature: Signature) -> Callable[[], Signature]:
    """Stands for compiling what is compiled."""
    return lambda: signature


def _functions(module: ModuleOp) -> Iterable[FuncOp]:
    return (op for op in module.body.block.ops if isinstance(op, FuncOp))


def _text(op: Operation) -> str:
    """An op's text without places: equal texts mean the same."""
    out = StringIO()
    Printer(out).print_op(op)
    return out.getvalue()
