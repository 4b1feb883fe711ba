"""Instances of Python modules as script objects."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from tensorscript.base.errors import GuardError
from tensorscript.compiler.arguments import is_array
from tensorscript.dialects.ts import typing
from tensorscript.frontends.script.module_attributes import is_module, typed
from tensorscript.frontends.script.modules import ModuleTypes
from tensorscript.frontends.script.program import ClassInfo
from tensorscript.runtime.values import ScriptObject

from .boundary import Classes, Mismatch, to_script


class Instances:
    """Script objects of module instances.

    As in TorchScript, a module that occurs twice becomes two objects over the same tensors.
    """

    def __init__(self, module_types: ModuleTypes, classes: Classes) -> None:
        self._types = module_types
        self._classes = classes
        self._tensors: dict[int, Any] = {}

    def object(self, module: Any) -> ScriptObject:
        info = self._types.info(module)
        scripted = getattr(module, "_script_object", None)
        made = ScriptObject(info.name)
        module = self._types.original(module)
        for name, type_ in info.attributes.items():
            value = getattr(module, name)
            value = given.value if (given := typed(value)) is not None else value
            if is_module(value):
                made.attributes[name] = self.object(value)
            elif scripted is not None:
                made.attributes[name] = scripted.attributes[name]
            else:
                made.attributes[name] = self._value(name, value, type_, info)
        return made

    def _value(self, name: str, value: Any, type_: Attribute, info: ClassInfo) -> Any:
        try:
            if id(value) not in self._tensors or not is_array(value):
                self._tensors[id(value)] = to_script(value, type_, self._classes)
            return self._tensors[id(value)]
        except Mismatch as mismatch:
            text = f"Could not cast attribute '{name}' to type {typing.message_text(type_)}"
            raise GuardError(f"{text}: {mismatch}") from None
