"""Instances of Python modules as script objects."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.compiler.arguments import is_array
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.frontends.script.module_attributes import is_module, typed
from tensorscript.frontends.script.modules import ModuleTypes
from tensorscript.runtime.values import ScriptObject

from .boundary import to_script
from .home import ProgramHome
from .module import RecursiveScriptModule, face_of
from .plain_values import Mismatch


class Instances:
    """Script objects of module instances.

    As in TorchScript, a module that occurs twice becomes two objects over the same tensors.
    """

    def __init__(self, module_types: ModuleTypes, home: ProgramHome) -> None:
        self._types = module_types
        self._home = home
        self._classes = home.classes
        self._tensors: dict[int, Any] = {}

    def object(self, module: Any) -> ScriptObject:
        """The script object of a module, with those of its children.

        Raises:
            GuardError: an attribute's value is not of its type.
        """
        info = self._types.info(module)
        module = self._types.original(module)
        face = face_of(module)
        if isinstance(face, RecursiveScriptModule):
            target = self._home.adopt(face, info.type)
            self._home.show(target, face)
            return target
        made = ScriptObject(info.name)
        for name, type_ in info.attributes.items():
            value = getattr(module, name)
            value = given.value if (given := typed(value)) is not None else value
            if is_module(value):
                made.attributes[name] = self.object(value)
            else:
                made.attributes[name] = self._value(name, value, type_)
        self._home.wrap(made, module)
        return made

    def _value(self, name: str, value: Any, type_: Attribute) -> Any:
        try:
            if id(value) not in self._tensors or not is_array(value):
                self._tensors[id(value)] = to_script(value, type_, self._classes)
            return self._tensors[id(value)]
        except Mismatch as mismatch:
            text = f"Could not cast attribute '{name}' to type {annotation_text(type_)}"
            raise GuardError(f"{text}: {mismatch}") from None
