"""`tensorscript.jit.CompilationUnit`: functions compiled from text."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.frontends.script.named_objects import NamedObjects
from tensorscript.frontends.script.program import ClassInfo, Program
from tensorscript.frontends.script.text import TextWorld
from tensorscript.frontends.script.text_library import TextLibrary

from .callables import ScriptFunction
from .home import ProgramHome
from .module import callers_names

_PREFIX = "__torch__."


class CompilationUnit:
    """Functions compiled from TorchScript text.

    Args:
        lang: the text: functions only. It may name what its caller sees.

    Raises:
        TextError: the text does not parse, or holds something else than functions.
        CompileError: a type or name error.
    """

    def __init__(self, lang: str = "", _frames_up: int = 0) -> None:
        self._library = TextLibrary({})
        self._home = ProgramHome(Program())
        self._functions: dict[str, ScriptFunction] = {}
        if lang:
            self._define(lang, callers_names(_frames_up))

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Compile more functions.

        Raises:
            GuardError: there is a function of that name.
        """
        self._define(lang, callers_names(_frames_up))

    def _define(self, lang: str, names: Mapping[str, Any]) -> None:
        added = TextLibrary.of_functions(lang)
        for name, found in added.definitions.items():
            if name in self._library.definitions:
                raise GuardError(f"method '{found.tree.name}' already defined.")
        self._library.definitions.update(added.definitions)
        python = self._home.world
        world = TextWorld(
            self._home.program, self._library, outer=NamedObjects(python, names), classes=python
        )
        for name in added.definitions:
            world.function(name)
            self._functions[name] = ScriptFunction(self._home.function(name))
        self._home.program.declare_classes()
        self._home.learn(python)

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function called `name`; None if there is none."""
        return self._functions.get(_PREFIX + name)

    def get_functions(self) -> list[ScriptFunction]:
        return list(self._functions.values())

    def drop_all_functions(self) -> None:
        """Forget all functions."""
        self._library.definitions.clear()
        self._functions.clear()
        self._home = ProgramHome(Program())

    def set_optimized(self, enabled: bool) -> None:
        """Accepted for compatibility; it never had an effect in this form."""
        warnings.warn(
            "CompilationUnit::set_optimized() is deprecated and has no effect. Please use "
            "setGraphExecutorOptimize()",
            stacklevel=2,
        )

    def get_class(self, name: str) -> ClassInfo | None:
        """The declaration of a class that the functions use; None if there is none."""
        return self._declared(name, "class")

    def get_interface(self, name: str) -> ClassInfo | None:
        """The declaration of an interface that the functions use; None if there is none."""
        return self._declared(name, "interface")

    def _declared(self, name: str, category: str) -> ClassInfo | None:
        found = self._home.program.classes.get(_PREFIX + name.removeprefix(_PREFIX))
        return found if found is not None and found.category == category else None

    def __getattr__(self, name: str) -> ScriptFunction:
        if name.startswith("__") or (found := self.find_function(name)) is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return found
