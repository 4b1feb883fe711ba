"""The texts of values in `.code`: their names, and the expressions that make them."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from dataclasses import field

from xdsl.ir import Attribute, Operation, SSAValue

from tensorscript.base.errors import CompileError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span

from .code_calls import operator_text, value_list, written_arguments
from .code_constants import ConstantTable, constant_text
from .code_inline import name_of
from .code_marks import marked
from .locations import span_of
from .operator_functions import call_arguments, shown_callee
from .ops import (
    CallMethodOp,
    CallOp,
    ConstantOp,
    CreateObjectOp,
    DictConstructOp,
    FuncOp,
    GetAttrOp,
    IsInstanceOp,
    ListConstructOp,
    OperatorOp,
    PythonOp,
    RaiseOp,
    TupleConstructOp,
    TupleIndexOp,
    TupleSliceOp,
    UncheckedCastOp,
    UninitializedOp,
)
from .type_text import annotation_text
from .types import (
    ANY,
    NUMBER,
    DictType,
    InterfaceType,
    ListType,
    OptionalType,
    TupleType,
    UnionType,
)

_RESERVED = frozenset(keyword.kwlist) | {
    "_", "as", "aten", "attribute", "CONSTANTS", "fork", "getattr", "inf", "nan", "infj", "nanj",
    "ops", "__torch__", "uninitialized", "unchecked_cast",
}  # fmt: skip


def is_constant(value: SSAValue, wanted: object) -> bool:
    owner = value.owner
    return isinstance(owner, ConstantOp) and owner.value.data is wanted


def _needs_hint(element: Attribute) -> bool:
    """Whether the members of a display do not tell the type of its elements."""
    return element in (ANY, NUMBER) or isinstance(element, InterfaceType | OptionalType | UnionType)


@dataclass
class CodeState:
    """What the functions of one text share.

    Attributes:
        table: collects the constants that the text calls `CONSTANTS.cN`.
        importable: the text is for an archive: `self` has a type, and Python cannot be called.
        next: the next suffix of each variable name; functions go on counting.
        spans: collects where the expressions came from, which are marked with their numbers
            (`code_marks`); None: they are not.
        forked: finds the body of a forked task; by default in the module of the function.
    """

    table: ConstantTable = field(default_factory=ConstantTable)
    importable: bool = False
    next: dict[str, int] = field(default_factory=dict)
    spans: list[Span] | None = None
    forked: Callable[[str], FuncOp] | None = None


class Expressions:
    """Names and texts of the values of one function, as far as they are written."""

    def __init__(self, state: CodeState) -> None:
        self.state = state
        self.table = state.table
        self.importable = state.importable
        self.used: set[str] = set()
        self.next = state.next
        self.texts: dict[SSAValue, str] = {}
        self.callees: dict[str, str] = {}

    def fresh(self, base: str) -> str:
        name = base
        while name in self.used or name in _RESERVED:
            # Counted by the name that was taken, as TorchScript does.
            at = self.next.get(name, 0)
            self.next[name] = at + 1
            name = f"{base}{at}"
        self.used.add(name)
        return name

    def name(self, value: SSAValue, base: str = "") -> str:
        """Give a value its variable name."""
        base = base or name_of(value) or "_"
        self.texts[value] = self.fresh(base if base.isidentifier() else "_")
        return self.texts[value]

    def text(self, value: SSAValue) -> str:
        if value not in self.texts:
            owner = value.owner
            assert isinstance(owner, ConstantOp)
            return constant_text(owner.value.data, owner.result.type, self.table)
        return self.texts[value]

    def list(self, values: Sequence[SSAValue]) -> str:
        return ", ".join(map(self.text, values))

    def member(self, object: SSAValue, name: str) -> str:
        return f"{self.text(object)}.{name}"

    def expression(self, op: Operation) -> str:
        text, spans = self.plain(op), self.state.spans
        if spans is None or (span := span_of(op)) is None:
            return text
        spans.append(span)
        return marked(text, len(spans) - 1)

    def plain(self, op: Operation) -> str:
        match op:
            case OperatorOp():
                return self._operator(op)
            case CallOp():
                callee = shown_callee(self.callees.get(op.callee.data, op.callee.data))
                texts = [self.text(v) for v in op.arguments]
                return f"{callee}({call_arguments(op.callee.data, texts)})"
            case CallMethodOp():
                base, *rest = op.arguments
                owner = self.text(base)
                if op.interface is not None:
                    owner = f"unchecked_cast({annotation_text(op.interface)}, {owner})"
                return f"({owner}).{op.method.data}({self._arguments(rest)})"
            case GetAttrOp():
                name = op.attribute.data
                if not name.isidentifier() or keyword.iskeyword(name):
                    return f'getattr({self.text(op.object)}, "{name}")'
                return self.member(op.object, name)
            case ListConstructOp():
                return self._list_display(op)
            case DictConstructOp():
                assert isinstance(op.result.type, DictType)
                pairs = zip(op.arguments[::2], op.arguments[1::2], strict=True)
                shown = ", ".join(f"{self.text(k)}: {self.text(v)}" for k, v in pairs)
                return self._display(
                    "{" + shown + "}", op, [op.result.type.key, op.result.type.value]
                )
            case TupleConstructOp():
                name = (
                    op.result.type.class_name.data if isinstance(op.result.type, TupleType) else ""
                )
                comma = "," if len(op.arguments) == 1 else ""
                return f"{name}({self.list(op.arguments)}{comma})"
            case TupleIndexOp():
                return f"({self.text(op.argument)})[{self.text(op.index)}]"
            case TupleSliceOp():
                return f"({self.text(op.argument)})[{op.begin.data}:{op.end.data}]"
            case UncheckedCastOp():
                return (
                    f"unchecked_cast({annotation_text(op.result.type)}, {self.text(op.argument)})"
                )
            case UninitializedOp():
                return f"uninitialized({annotation_text(op.result.type)})"
            case IsInstanceOp():
                names = [annotation_text(t) for t in op.types]
                shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
                return f"isinstance({self.text(op.argument)}, {shown})"
            case CreateObjectOp():
                name = annotation_text(op.result.type)
                return f"{name}.__new__({name})"
            case RaiseOp():
                is_assert = is_constant(op.exception, None)
                values = [op.message] if is_assert else [op.message, op.exception]
                return f"ops.prim.RaiseException({self.list(values)})"
            case PythonOp():
                return self._python_call(op)
        raise TypeError(f"{op.name} has no text in code")

    def _python_call(self, op: PythonOp) -> str:
        name = op.callee.data.rpartition(".")[2]
        if self.importable:
            raise CompileError(
                f"Could not export Python function call '{name}'. Remove calls to Python functions "
                "before export. Did you forget to add @script or @script_method annotation? If "
                "this is a nn.ModuleList, add it to __constants__",
                span_of(op),
            )
        return f"^{name}()({self.list(op.arguments)})"

    def _arguments(self, values: Sequence[SSAValue]) -> str:
        return value_list([self.text(v) for v in values])

    def _list_display(self, op: ListConstructOp) -> str:
        assert isinstance(op.result.type, ListType)
        return self._display(f"[{self.list(op.arguments)}]", op, [op.result.type.element])

    def _display(
        self, text: str, op: ListConstructOp | DictConstructOp, parts: Sequence[Attribute]
    ) -> str:
        """A display, with its type where its members do not tell those of its parts."""
        if op.arguments and not any(map(_needs_hint, parts)):
            return text
        return f"annotate({annotation_text(op.result.type)}, {text})"

    def _operator(self, op: OperatorOp) -> str:
        return operator_text(op, [(i, self.text(op.arguments[i])) for i in written_arguments(op)])
