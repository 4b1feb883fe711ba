"""The `.code` text of a function: Python-like, and what archives store.

    def f(x: Tensor,
        k: int=3) -> Tensor:
      return torch.mul(torch.add(x, 1), k)

A value is written inside its reader if that is its only reader, it has no name of its own, and the
order of evaluation stays; `code_inline` decides. Trailing arguments that equal their defaults are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.dialects.walks import walk_ops

from .code_constants import constant_text, is_named
from .code_expressions import CodeState, Expressions, is_constant
from .code_inline import inlined
from .code_marks import unmarked
from .constants import ValueAttr
from .operator_functions import shown_callee
from .ops import (
    AwaitableOp,
    CallOp,
    ConstantOp,
    EnterOp,
    ExitOp,
    ForkOp,
    FuncOp,
    IfOp,
    ListUnpackOp,
    LoopOp,
    ModuleContainerIndexOp,
    PrintOp,
    ReturnOp,
    SetAttrOp,
    TaskOp,
    TupleUnpackOp,
    YieldOp,
)
from .type_text import annotation_text
from .types import (
    InterfaceType,
    OptionalType,
    UnionType,
)

_TASKS = {
    ForkOp: ("__forked_function", "fork"),
    AwaitableOp: ("__awaitable_function", "awaitable"),
}
"""What the body of a task is called, and who takes it."""

LONG = 40
"""A text that reaches this column is not written inside another."""

MAX_TRIPS = 2**63 - 1


def is_for(loop: LoopOp) -> bool:
    """Whether a loop has a trip count and no condition of its own."""
    last = loop.body.block.last_op
    assert isinstance(last, YieldOp)
    if not (is_constant(loop.condition, True) and is_constant(last.values[0], True)):
        return False
    owner = loop.max_trip.owner
    unbounded = isinstance(owner, ConstantOp) and owner.value.data == MAX_TRIPS
    return not unbounded or bool(loop.body.block.args[0].uses.get_length())


def _is_declared(value: SSAValue) -> bool:
    """Whether a reader has to be told of what type a variable is: of one of several classes."""
    if isinstance(value.type, InterfaceType) and isinstance(value.owner, IfOp):
        at = [output is value for output in value.owner.outputs].index(True)
        lasts = [region.block.last_op for region in value.owner.regions]
        return len({last.operands[at].type for last in lasts if last is not None}) > 1
    return isinstance(value.type, OptionalType | UnionType)


class _Printer(Expressions):
    def __init__(self, function: FuncOp, state: CodeState, level: int = 0) -> None:
        super().__init__(state)
        self.function = function
        self.lines: list[str] = []
        self.entered: list[int] = []
        """How many lines stood in front of the body of each `with` that this is inside of."""
        self.level = level
        self.inline: set[Operation] = set()
        self.annotated: set[SSAValue] = set()

    # Lines

    def line(self, text: str) -> None:
        self.lines.append("  " * self.level + text)

    def is_long(self, text: str) -> bool:
        return len(unmarked(text)) + 2 * self.level >= LONG

    def split_long(self, op: Operation) -> None:
        """Write out inlined operands that are too long, each behind what is evaluated before it."""
        for at, value in enumerate(op.operands):
            if self.is_pending(value) and self.is_long(self.text(value)):
                for earlier in [*self.evaluated(op, at)][::-1]:
                    self.define(earlier, self.text(earlier))

    def is_pending(self, value: SSAValue) -> bool:
        owner = value.owner
        return owner in self.inline and not isinstance(owner, ConstantOp)

    def evaluated(self, user: Operation, last: int) -> Iterator[SSAValue]:
        """Inlined operands of `user` up to `last` and of its readers before, latest first."""
        yield from filter(self.is_pending, reversed(user.operands[: last + 1]))
        if user in self.inline:
            use = next(iter(user.results[0].uses))
            yield from self.evaluated(use.operation, use.index - 1)

    def define(self, value: SSAValue, text: str) -> None:
        self.inline.discard(value.owner)
        name = self.name(value)
        self.line(f"{name} = {text}")

    def assign(self, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> None:
        if not left:
            return
        text = self.list(left)
        is_declared = len(left) == 1 and _is_declared(left[0])
        if is_declared and left[0] not in self.annotated:
            self.annotated.add(left[0])
            text += f" : {annotation_text(left[0].type)}"
        self.line(f"{text} = {self.list(right)}")

    # Structure

    def block(self, block: Block, has_more: bool = False) -> None:
        wrote = len(self.lines)
        for op in block.ops:
            if not isinstance(op, ReturnOp | YieldOp):
                self.statement(op)
            else:
                self.split_long(op)
        if len(self.lines) == wrote and not has_more:
            self.line("pass")

    def statement(self, op: Operation) -> None:
        match op:
            case ConstantOp():
                pass
            case IfOp():
                self._if(op)
            case LoopOp():
                self._loop(op)
            case EnterOp():
                self._enter(op)
            case ExitOp():
                self._exit()
            case SetAttrOp():
                self.split_long(op)
                self.line(f"{self.member(op.object, op.attribute.data)} = {self.text(op.value)}")
            case PrintOp():
                self.split_long(op)
                self.line(f"print({self.list(op.arguments)})")
            case TupleUnpackOp() | ListUnpackOp():
                self.split_long(op)
                names = "".join(f"{self.name(v)}, " for v in op.outputs)
                self.line(f"{names}= {self.text(op.argument)}")
            case TaskOp():
                self._fork(op)
            case ModuleContainerIndexOp():
                self._container_index(op)
            case _:
                self._plain(op)

    def _container_index(self, op: ModuleContainerIndexOp) -> None:
        """The annotation is what lets a variable choose among modules."""
        self.split_long(op)
        text = f"{self.text(op.container)}[{self.text(op.index)}]"
        self.line(f"{self.name(op.result)} : {annotation_text(op.result.type)} = {text}")

    def _plain(self, op: Operation) -> None:
        self.split_long(op)
        text = self.expression(op)
        if op in self.inline:
            self.texts[op.results[0]] = text
        elif not op.results:
            self.line(text)
        else:
            names = ", ".join([self.name(v) for v in op.results])
            self.line(f"{names} = {text}")

    def _long_constant(self, op: ConstantOp) -> None:
        # In an archive a constant of the table gets its number where it is first read, so that
        # the order of definition, which no text keeps, does not matter.
        if self.importable and is_named(op.value.data):
            return
        text = constant_text(op.value.data, op.result.type, self.table)
        if self.is_long(text):
            self.line(f"{self.name(op.result)} = {text}")

    def _constants(self) -> None:
        """The functions and constants with long texts, in the order in which they are read."""
        seen: set[Operation] = set()
        for op in walk_ops(self.function):
            if isinstance(op, CallOp) and op.callee.data not in self.callees:
                name = op.callee.data
                is_long = shown_callee(name) == name and self.is_long(name)
                self.callees[name] = self.fresh("_") if is_long else name
                if is_long:
                    self.line(f"{self.callees[name]} = {name}")
            for owner in (operand.owner for operand in op.operands):
                if isinstance(owner, ConstantOp) and owner not in seen:
                    seen.add(owner)
                    self._long_constant(owner)

    def _if(self, op: IfOp) -> None:
        self.split_long(op)
        for output in op.outputs:
            self.name(output)
        self.line(f"if {self.text(op.condition)}:")
        self._branch(op, op.true_region.block)
        self.line("else:")
        self._branch(op, op.false_region.block)

    def _branch(self, op: IfOp, block: Block) -> None:
        self.level += 1
        self.block(block, bool(op.outputs))
        last = block.last_op
        assert isinstance(last, YieldOp)
        self.assign(op.outputs, last.values)
        self.level -= 1

    def _loop(self, op: LoopOp) -> None:
        self.split_long(op)
        body = op.body.block
        for output, arg in zip(op.outputs, body.args[1:], strict=True):
            self.texts[arg] = self.name(output)
        # Every carried variable is defined in front of the loop, with its type if it needs one.
        self.annotated.update(body.args)
        for output, initial in zip(op.outputs, op.carried, strict=True):
            shown = annotation_text(output.type)
            needs = _is_declared(output) or shown != annotation_text(initial.type)
            hint = f": {shown}" if needs else ""
            self.line(f"{self.text(output)}{hint} = {self.text(initial)}")
        counter = body.args[0]
        self.name(counter)
        as_for = is_for(op)
        if as_for:
            self.line(f"for {self.text(counter)} in range({self.text(op.max_trip)}):")
        else:
            self.line(f"{self.text(counter)} = {self.text(op.condition)}")
            self.line(f"while {self.text(counter)}:")
        self.level += 1
        last = body.last_op
        assert isinstance(last, YieldOp)
        skip = 1 if as_for else 0
        self.block(body, len(body.args) > skip)
        self.assign(body.args[skip:], last.values[skip:])
        self.level -= 1

    def _enter(self, op: EnterOp) -> None:
        self.split_long(op)
        name = f" as {self.name(op.result)}" if op.result.uses.get_length() else ""
        self.line(f"with {self.text(op.argument)}{name}:")
        self.entered.append(len(self.lines))
        self.level += 1

    def _exit(self) -> None:
        if self.entered and len(self.lines) == self.entered.pop():
            self.line("pass")
        self.level -= 1

    def _fork(self, op: TaskOp) -> None:
        find = self.state.forked or partial(_function, self.function)
        body = find(op.callee.data)
        inner = _Printer(body, self.state, self.level + 1)
        inner.inline = inlined(body)
        inner.used = self.used
        for arg, value in zip(body.block.args, op.arguments, strict=True):
            inner.texts[arg] = self.text(value)
        made, call = _TASKS[type(op)]
        name = self.fresh(made)
        inner.body()
        self.line(f"def {name}():")
        self.lines += inner.lines
        self.line(f"{self.name(op.result)} = {call}({name})")

    # The function

    def body(self) -> None:
        self._constants()
        self.block(self.function.block, has_more=True)
        self.line(f"return {self.list(self.function.return_op.values)}")

    def signature(self) -> str:
        function = self.function
        parts: list[str] = []
        rows = zip(function.block.args, function.argument_names, function.defaults, strict=True)
        for at, (arg, name, default) in enumerate(rows):
            text = self.name(arg, name.data)
            if at or function.is_method is None or self.importable:
                text += f": {annotation_text(arg.type)}"
            if isinstance(default, ValueAttr):
                text += f"={constant_text(default.data, arg.type, self.table)}"
            parts.append(text)
        short = function.sym_name.data.rpartition(".")[2]
        returned = annotation_text(function.return_type)
        return f"def {short}({(',' + chr(10) + '    ').join(parts)}) -> {returned}:"


def _function(near: FuncOp, name: str) -> FuncOp:
    return next(f for f in _functions(near) if f.sym_name.data == name)


def _functions(near: FuncOp) -> Iterator[FuncOp]:
    parent = near.parent_block()
    for op in parent.ops if parent is not None else ():
        if isinstance(op, FuncOp):
            yield op


def code_text(function: FuncOp, state: CodeState | None = None, level: int = 0) -> str:
    """The code of `function`.

    Args:
        state: what it shares with other functions of the same text.
        level: how far the text is indented, in steps of two columns.

    Raises:
        CompileError: it calls Python, and the text is for an archive.
    """
    printer = _Printer(function, state or CodeState(), level)
    printer.line(printer.signature())
    printer.inline = inlined(function)
    printer.level = level + 1
    printer.body()
    return "\n".join(printer.lines) + "\n"
