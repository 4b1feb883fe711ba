"""The entry points of the script frontend."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.code_text import code_text
from tensorscript.dialects.ts.graph_text import graph_text
from tensorscript.dialects.ts.ops import FuncOp

from .live import World
from .modules import ModuleTypes
from .program import ClassInfo, Program
from .signature import Signature, signature_text


@dataclass(frozen=True)
class CompiledTS:
    """A compiled function and the program it is part of."""

    program: Program
    name: str

    @property
    def module(self) -> ModuleOp:
        """The module with this function and everything it calls."""
        return self.program.module

    @property
    def entry(self) -> FuncOp:
        return self.program.functions[self.name].op

    @property
    def signature(self) -> Signature:
        return self.program.functions[self.name].signature

    @property
    def graph(self) -> str:
        """TorchScript's graph text."""
        return graph_text(self.entry)

    @property
    def code(self) -> str:
        """TorchScript's code text."""
        return code_text(self.entry)

    @property
    def schema(self) -> str:
        """`f(Tensor x, int y=3) -> Tensor`."""
        signature = self.signature
        short = signature.name.rpartition(".")[2]
        return signature_text(Signature(short, signature.arguments, signature.returns))


@dataclass(frozen=True)
class CompiledModule:
    """A compiled nn.Module: its class and the program with its methods.

    Attributes:
        info: the module's type; attribute names and types in order.
    """

    program: Program
    info: ClassInfo

    @property
    def module(self) -> ModuleOp:
        return self.program.module

    @property
    def entry(self) -> FuncOp:
        """`forward`."""
        return self.method("forward").entry

    @property
    def graph(self) -> str:
        """TorchScript's graph text of `forward`."""
        return self.method("forward").graph

    def method(self, name: str) -> CompiledTS:
        """A compiled method."""
        return CompiledTS(self.program, f"{self.info.name}.{name}")


@contextmanager
def _uncollected() -> Iterator[None]:
    """No cyclic collection while a program grows: everything made is kept, and walking it again
    and again made compiling slower than linear (a third of the time at 2000 statements)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compile_module(module: object, types: ModuleTypes | None = None) -> CompiledModule:
    """Compile an nn.Module instance: `forward`, exported methods and what they call.

    Raises:
        FrontendError: Python outside the language, or no source text.
        CompileError: a type or name error.
    """
    types = types or ModuleTypes(World(Program()))
    with _uncollected():
        info = types.compile(module)
    return CompiledModule(types.world.program, info)


def compile_function(fn: Callable[..., object], world: World | None = None) -> CompiledTS:
    """Compile a Python function and everything it calls.

    Args:
        world: the program to add to; a new one by default.

    Raises:
        FrontendError: Python outside the language, or no source text.
        CompileError: a type or name error.
    """
    world = world or World(Program())
    with _uncollected():
        name = world.functions.get(fn) or world.compile(fn)
    world.program.declare_classes()
    return CompiledTS(world.program, name)
