"""The graph interpreter: runs a `ts` module op by op over eager tensors.

It is the meaning of `ts`, the reference of every native path, and what runs where native code is
impossible. A failing operator or `raise` becomes an error with the TorchScript call stack.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation

from tensorscript.base.errors import InternalError, TensorScriptError, UserError
from tensorscript.base.importing import imported
from tensorscript.base.stack import ensure_frames
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.autocast import Autocast
from tensorscript.dialects.ts.constants import (
    Device,
    DictLiteral,
    EnumRef,
    GeneratorLiteral,
    ListLiteral,
    ObjectLiteral,
    TensorLiteral,
)
from tensorscript.dialects.ts.locations import span_of
from tensorscript.dialects.ts.types import ListType, TupleType
from tensorscript.eager.device import device
from tensorscript.eager.modes import MODES
from tensorscript.eager.random import Generator
from tensorscript.eager.tensor import Tensor

from .machine import Environment, PrimitiveError, PythonCall
from .rules import RULES, enter, exit_, leave
from .tasks import DEEPEST, Task
from .values import EnumValue, Future, ScriptObject, tuple_of

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_OWN_FRAMES = 900
"""Frames of whoever calls, and of what an operator calls."""
_FRAMES_PER_BLOCK = 4


class _Thread(threading.local):
    """What each thread that runs a program has of its own.

    Attributes:
        autocasts: those it is inside of, the innermost last.
        depth: how many calls of script functions it is inside of.
        warned: the places that have warned since the outermost of these calls began.
    """

    def __init__(self) -> None:
        self.autocasts: list[Autocast] = []
        self.depth = 0
        self.warned: set[Operation] = set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Inside, this is as a thread of its own: a task knows nothing of who waits for it."""
        held = self.autocasts, self.depth, self.warned
        self.autocasts, self.depth, self.warned = [], 0, set()
        try:
            yield
        finally:
            self.autocasts, self.depth, self.warned = held


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
        self._thread = _Thread()
        self._nesting = 0
        self.refresh()

    @property
    def autocasts(self) -> list[Autocast]:
        """The autocasts of scripts that this thread is inside of, the innermost last."""
        return self._thread.autocasts

    @property
    def autocast(self) -> Autocast:
        """Which casts are made here: as the innermost `with` says, else as outside of scripts."""
        if entered := self._thread.autocasts:
            return entered[-1]
        return Autocast(MODES.autocast_enabled, False, MODES.autocast_dtype)

    def refresh(self) -> None:
        """Take in functions and classes added to the module since."""
        for op in self.module.body.block.ops:
            if isinstance(op, ts.FuncOp):
                self._take_in(op)
            elif isinstance(op, ts.ClassOp):
                self.classes[op.sym_name.data] = op

    def _take_in(self, func: ts.FuncOp) -> None:
        name = func.sym_name.data
        if name not in self.functions:
            # Functions do not call themselves: a run is never deeper than all of them together.
            self._nesting += _nesting(func)
            ensure_frames(_OWN_FRAMES + _FRAMES_PER_BLOCK * self._nesting)
        self.functions[name] = func

    def declaration(self, class_name: str) -> ts.ClassOp | None:
        """The declaration of a class, also one added since; None if there is none."""
        if class_name not in self.classes:
            self.refresh()
        return self.classes.get(class_name)

    def fulfils(self, class_name: str, interface: str) -> bool:
        """Whether a class has the methods of an interface."""
        own, wanted = self.declaration(class_name), self.declaration(interface)
        if own is None or wanted is None:
            return class_name == interface
        return set(wanted.methods.data) <= set(own.methods.data)

    def function(self, name: str) -> ts.FuncOp | None:
        """The function `name`, also one added since; None if there is none."""
        if name not in self.functions:
            self.refresh()
        return self.functions.get(name)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Run the function `name`.

        Args:
            arguments: one value per argument of the function, defaults filled in.

        Raises:
            UserError: an operator or the program itself failed; carries the script call stack.
        """
        func = self.function(name)
        if func is None:
            raise KeyError(name)
        block = func.regions[0].block  # without the search for its name
        env: Environment = dict(zip(block.args, arguments, strict=True))
        own = self._thread
        own.depth += 1
        try:
            self.run(block.ops, env)
        finally:
            own.depth -= 1
            if own.depth == 0:
                own.warned.clear()
        last = block.last_op
        assert last is not None
        return env[last.operands[0]] if last.operands else None

    def block(self, block: Block, env: Environment) -> None:
        """Run the ops of a block; results land in `env`."""
        self.run(block.ops, env)

    def run(self, ops: Iterable[Operation], env: Environment) -> None:
        """Run ops in order; results land in `env`."""
        entered: list[Operation] = []
        try:
            for op in ops:
                run = RULES.get(type(op))
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
                    raise _located(
                        PrimitiveError(str(error) or type(error).__name__), op
                    ) from error
                if run is enter:
                    entered.append(op)
                elif run is exit_ and entered:
                    entered.pop()
        except TensorScriptError:
            # A failure leaves the contexts that it passes, as `with` does.
            for op in reversed(entered):
                leave(self, env[op.operands[0]])
            raise

    def warns_first(self, op: Operation) -> bool:
        """Whether `op` has not warned yet in this run; from now on it has."""
        warned = self._thread.warned
        is_first = op not in warned
        warned.add(op)
        return is_first

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
            case GeneratorLiteral():
                if value.held is None:
                    value.held = Generator().manual_seed(value.initial_seed())
                return value.held
            case ObjectLiteral():
                return value.get()
            case ListLiteral():
                element = type_.element if isinstance(type_, ListType) else None
                return [self.constant(v, element) for v in value.elements]
            case DictLiteral():
                return {self.constant(k): self.constant(v) for k, v in value.items}
            case tuple() if isinstance(type_, TupleType):
                parts = zip(value, type_.elements, strict=True)
                return tuple_of(type_, [self.constant(v, t) for v, t in parts])
            case tuple():
                return tuple(self.constant(v) for v in value)
            case EnumRef():
                return self.enum(value)
        return value

    def enum(self, ref: EnumRef) -> EnumValue:
        """The member of an enum that a constant refers to."""
        declared = self.declaration(ref.class_name)
        if declared is None:
            raise InternalError(f"the module has no class {ref.class_name}", "interpreter")
        names = [n.data for n in declared.constant_names]
        stored = declared.constant_values.data[names.index(ref.member)]
        return EnumValue(ref.class_name, ref.member, stored.data)  # type: ignore[attr-defined]  # constants are ts.value

    def fork(self, name: str, arguments: Sequence[Any]) -> Future:
        """Run the function `name` as a task."""
        if self._pool is None:
            executor = imported("concurrent.futures").ThreadPoolExecutor
            self._pool = executor(thread_name_prefix="tensorscript-fork")
        ensure_frames(_OWN_FRAMES + DEEPEST * _FRAMES_PER_BLOCK * self._nesting)
        given = list(arguments)

        def run() -> Any:
            with self._thread.alone():
                return self.call(name, given)

        task = Task(run)
        self._pool.submit(task.begin)
        return Future(task.future, task.begin)


def _nesting(func: ts.FuncOp) -> int:
    """How deep blocks stand in one another in a function."""
    deepest = 0
    left: list[tuple[Block, int]] = [(func.block, 1)]
    while left:
        block, depth = left.pop()
        deepest = max(deepest, depth)
        for op in block.ops:
            left += [(inner, depth + 1) for region in op.regions for inner in region.blocks]
    return deepest


def _located(error: UserError, op: Operation) -> UserError:
    """Give an error the place of the op that failed, once; calls add theirs as notes."""
    if error.span is None:
        error.span = span_of(op)
    return error
