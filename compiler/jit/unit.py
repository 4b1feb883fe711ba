"""`tensorscript.jit.CompilationUnit`: functions compiled from text."""

from __future__ import annotations

from collections.abc import Iterator

from tensorscript.base.errors import FrontendError, GuardError
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.script.text import TextLibrary, TextWorld

from .callables import ScriptFunction
from .home import ProgramHome


class CompilationUnit:
    """Functions compiled from TorchScript text.

    Raises:
        FrontendError: the text does not parse.
        CompileError: a type or name error, or a class in the text.
    """

    def __init__(self, source: str = "") -> None:
        self._library = TextLibrary({})
        self._world = TextWorld(Program(), self._library)
        self._home = ProgramHome(self._world.program)
        if source:
            self.define(source)

    def define(self, source: str) -> None:
        """Compile more functions."""
        added = TextLibrary.parse(source)
        for name, found in added.definitions.items():
            if not hasattr(found.tree, "args"):
                raise FrontendError(
                    "expected def but found 'class' here", found.text.word(found.tree, 5)
                )
            if name in self._library.definitions:
                raise GuardError(f"method '{found.tree.name}' already defined.")
        self._library.definitions.update(added.definitions)
        for name in added.definitions:
            self._world.function(name)
        self._world.program.declare_classes()
        self._home.interpreter.refresh()

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function called `name`; None if there is none."""
        qualified = f"__torch__.{name}"
        if qualified not in self._library.definitions:
            return None
        return ScriptFunction(self._home.function(qualified))

    def get_functions(self) -> list[ScriptFunction]:
        return [f for f in map(self.find_function, self._names()) if f is not None]

    def _names(self) -> Iterator[str]:
        return (name.removeprefix("__torch__.") for name in self._library.definitions)

    def __getattr__(self, name: str) -> ScriptFunction:
        if name.startswith("_") or (found := self.find_function(name)) is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return found
