"""The entry points of the script frontend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

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


def compile_module(module: object, types: ModuleTypes | None = None) -> CompiledModule:
    """Compile an nn.Module instance: `forward`, exported methods and what they call.

    Raises:
        FrontendError: Python outside the language, or no source text.
        CompileError: a type or name error.
    """
    types = types or ModuleTypes(World(Program()))
    return CompiledModule(types.world.program, types.compile(module))


def compile_function(fn: Callable[..., object], world: World | None = None) -> CompiledTS:
    """Compile a Python function and everything it calls.

    Args:
        world: the program to add to; a new one by default.

    Raises:
        FrontendError: Python outside the language, or no source text.
        CompileError: a type or name error.
    """
    world = world or World(Program())
    name = world.functions.get(fn) or world.compile(fn)
    world.program.declare_classes()
    return CompiledTS(world.program, name)
