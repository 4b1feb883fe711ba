"""What Python calls: script functions and methods, with their graph, code and schema."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from functools import cached_property
from pickle import PickleError
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Literal

from tensorscript.base.errors import GuardError, UserError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Origin
from tensorscript.base.stack import with_room
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions, options_from_environment
from tensorscript.compiler.program import Program
from tensorscript.dialects.ts.code_expressions import CodeState
from tensorscript.dialects.ts.code_text import code_text
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.eager.executor_flags import OPTIMIZES
from tensorscript.eager.modes import MODES
from tensorscript.eager.tracing import active_tracer, traced_by
from tensorscript.frontends.script.link import Linkable
from tensorscript.frontends.script.signature import Formal, Signature
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from . import late_graph, late_save
from .boundary import Classes, to_python
from .failure import script_failure
from .held_state import State, differing, held_state
from .language import is_recorded
from .matching import match_arguments

if TYPE_CHECKING:  # importing them takes long
    from .function_schema import FunctionSchema
    from .graph import Graph
    from .save import Archived, ExtraFiles

Executor = Literal["interpreter", "native"]
_executor: ContextVar[Executor] = ContextVar("executor", default="interpreter")


@contextmanager
def executor(name: Executor) -> Iterator[None]:
    """Within, script functions run in the graph interpreter or as native code where possible.

    Native methods see what was assigned to attributes or written to them in place, but not what was
    written through `Tensor.data` or through NumPy's view of the memory of a constant.
    """
    token = _executor.set(name)
    try:
        yield
    finally:
        _executor.reset(token)


_last: ContextVar[Entry | None] = ContextVar("last", default=None)


def last_executed_optimized_graph() -> Graph | None:
    """The graph, calls inlined, of the function that ran last in this context; None if none ran."""
    entry = _last.get()
    return entry.graph().inlined() if entry is not None else None


class ConstMap:
    """The tensors of a text: `m.c0` is what it calls `CONSTANTS.c0`."""

    def __init__(self, const_mapping: Mapping[str, Any]) -> None:
        self.const_mapping = const_mapping

    def __getattr__(self, attr: str) -> Any:
        if attr not in self.const_mapping:
            raise AttributeError(attr)
        return self.const_mapping[attr]


@dataclass
class Entry:
    """One compiled function, with what is needed to call it.

    Attributes:
        symbol: its name in the module.
        signature: as compiled; of a method, `self` is the first argument.
        interpreter: of the module.
        receiver: `self` of a method.
        origin: tells where the text came from, if that is an archive's.
    """

    symbol: str
    signature: Signature
    interpreter: Interpreter
    classes: Classes
    receiver: ScriptObject | None = None
    origin: Origin | None = None
    _native: tuple[State, CompiledFunction] | None = field(default=None, repr=False)
    _changed: set[str] = field(default_factory=set, repr=False)
    _graph: Graph | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.symbol.rpartition(".")[2]

    @cached_property
    def short(self) -> Signature:
        """The signature under the function's own name."""
        return replace(self.signature, name=self.name)

    @property
    def op(self) -> FuncOp:
        if self.symbol not in self.interpreter.functions:
            self.interpreter.refresh()
        return self.interpreter.functions[self.symbol]

    def graph(self) -> Graph:
        """TorchScript's view of the function; one as long as the function stays the same op."""
        op = self.op
        if self._graph is None or self._graph.op is not op:
            self._graph = late_graph.Graph(op, self.interpreter, self.classes, self.flush)
        return self._graph

    def program(self) -> Program:
        """What `tensorscript.compile` compiles."""
        own = self.interpreter
        return Program(
            own.module, self.symbol, self.receiver, own.python_calls, self.classes, self.origin
        )

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call with Python values.

        Raises:
            GuardError: arguments that do not match.
            ScriptError: the program raised.
            UserError: an operator failed; the text has the script call stack.
        """
        _last.set(self)
        if self._graph is not None and self._graph.is_edited:
            self._graph.require_one_output()
        own = () if self.receiver is None else (self.receiver,)
        values = match_arguments(self.short, self._default, (*own, *args), kwargs, self.classes)
        given = values[len(own) :]
        # Native code has copies of objects, so it could not change the module that a hook gets.
        by_value = not any(isinstance(value, ScriptObject) for value in given)
        # It does not know of an autocast outside of the script either.
        by_value = by_value and not MODES.autocast_enabled
        is_native = _executor.get() == "native" and OPTIMIZES()
        if is_native and by_value and active_tracer() is None:
            return to_python(self.native().answer(list(given)), self.classes)
        tracer = active_tracer()
        try:
            with traced_by(None):
                result = self.interpreter.call(self.symbol, values)
        except UserError as error:
            script_failure(error, self.origin)
            raise
        if is_recorded(tracer):
            linked = self.classes.linkable()
            callee = late_graph.Callee(self.symbol, self.signature, linked, self.receiver)
            late_graph.record_call(tracer, callee, given, result)
        return to_python(result, self.classes)

    def _default(self, formal: Formal) -> Any:
        return self.interpreter.constant(formal.default)

    def takes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether these Python values match the signature."""
        own = () if self.receiver is None else (self.receiver,)
        try:
            match_arguments(self.short, self._default, (*own, *args), kwargs, self.classes)
        except GuardError:
            return False
        return True

    def flush(self) -> None:
        """Forget native code."""
        self._native = None

    def native(self) -> CompiledFunction:
        """The function compiled on demand; what has no native form is interpreted.

        Native code holds what it does not change of the receiver as constants, so it is made again
        after such an attribute was set or written to. A tensor to which that happens again is no
        constant any more.
        """
        state = held_state(self.receiver)
        if self._native is not None:
            before, made = self._native
            changed = differing(before, state)
            for path in made.changing:
                changed.pop(path, None)
            if not changed:
                return made
            again = all(path in self._changed for path in changed)
            self._changed.update(changed)
            if again and all(changed.values()):
                made.pass_in(list(changed))
                self._native = state, made
                return made
        options = options_from_environment(CompileOptions())
        made = CompiledFunction(self.program(), options, self.name)
        self._native = state, made
        return made


class _Callable:
    """Base of script functions and methods."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self.__name__ = entry.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._entry.call(args, kwargs)

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def qualified_name(self) -> str:
        return self._entry.symbol

    @property
    def graph(self) -> Graph:
        """The function's graph; calls stay calls."""
        return self._entry.graph()

    @property
    def inlined_graph(self) -> Graph:
        """The graph with every call replaced by the body of what it calls."""
        return self._entry.graph().inlined()

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """Call the function, and give the graph that ran, with all calls inlined."""
        self(*args, **kwargs)
        return self.inlined_graph

    @property
    def schema(self) -> FunctionSchema:
        return late_graph.FunctionSchema(self._entry.short)

    @property
    def code(self) -> str:
        """The function as TorchScript text."""
        return with_room(lambda: code_text(self._entry.op))

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The function as TorchScript text, and the tensors that it names `CONSTANTS.cN`."""
        state = CodeState()
        text = code_text(self._entry.op, state)
        constant = self._entry.interpreter.constant
        return text, ConstMap({f"c{at}": constant(v) for at, v in enumerate(state.table.values)})

    def get_debug_state(self) -> Any:
        """Not kept: there is no graph executor whose state could be shown."""
        raise GuardError("no executor state is kept; see `tensorscript.compile(f).ir`")

    def _debug_flush_compilation_cache(self) -> None:
        """Forget compiled forms; the next call compiles again."""
        self._entry.flush()

    @property
    def signature(self) -> Signature:
        return self._entry.signature

    def __tensorscript_linkable__(self) -> Linkable:
        entry = self._entry
        return entry.classes.linkable()

    def __tensorscript_program__(self) -> Program:
        return self._entry.program()


class ScriptFunction(_Callable):
    """A compiled function: callable, with `graph`, `code` and `schema`."""

    SCRIPTED = "__wrapped__"

    def __init__(self, entry: Entry, python: Callable[..., Any] | None = None) -> None:
        super().__init__(entry)
        # Scripting a caller of this compiles the Python function again, into the caller's program.
        self.__wrapped__ = python
        self.__doc__ = getattr(python, "__doc__", None)

    def __repr__(self) -> str:
        return f"<tensorscript.jit.ScriptFunction {self.qualified_name}>"

    def save(self, f: str | os.PathLike[str], _extra_files: ExtraFiles | None = None) -> None:
        """Write the function to a `.pt` archive at a path, as a module without its defaults.

        Raises:
            CompileError: its code calls Python.
        """
        late_save.save_to_path(self._archived(), f, _extra_files)

    def save_to_buffer(self, _extra_files: ExtraFiles | None = None) -> bytes:
        """The bytes of a `.pt` archive of the function; errors as `save`."""
        return late_save.save_to_bytes(self._archived(), _extra_files)

    def _archived(self) -> Archived:
        entry = self._entry
        return late_save.archived_function(entry.classes, entry.interpreter, entry.op, entry.origin)

    def __reduce__(self) -> Any:
        raise PickleError("ScriptFunction cannot be pickled")


class ScriptMethod(_Callable):
    """A compiled method bound to its module or object.

    Args:
        owner: what Python sees of the object.
    """

    def __init__(self, entry: Entry, owner: Any = None) -> None:
        super().__init__(entry)
        self.owner = owner
        # Asked of the class: an old module's instance would answer with this very method.
        cls = type(getattr(owner, "_original", None))
        marked = getattr(cls, "_script_methods", {})
        python = marked.get(entry.name) or getattr(cls, entry.name, None)
        self.__doc__ = getattr(python, "__doc__", None)
        if isinstance(python, FunctionType):
            self.__wrapped__ = MethodType(python, owner)  # has the signature that callers see

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'ScriptMethod' object")

    @property
    def raw_owner(self) -> Any:
        """The script object that the method is bound to."""
        return self._entry.receiver

    def __repr__(self) -> str:
        return f"<tensorscript.jit.ScriptMethod {self.qualified_name}>"


class OverloadedMethod(ScriptMethod):
    """An overloaded method: a call runs the first overload that takes its arguments.

    Its graph, code and schema are those of the first overload.
    """

    def __init__(self, entries: Sequence[Entry], owner: Any = None) -> None:
        super().__init__(entries[0], owner)
        self._entries = entries

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = next((e for e in self._entries if e.takes(args, kwargs)), self._entry)
        return found.call(args, kwargs)
