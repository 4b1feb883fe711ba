"""Modules that were compiled apart, as parts of another program."""

from __future__ import annotations

from typing import Any

from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts.types import InterfaceType
from tensorscript.frontends.script.link import Linker, Renaming
from tensorscript.frontends.script.objects import incompatibility
from tensorscript.frontends.script.program import Program
from tensorscript.runtime.values import ScriptObject

from .faces import Home
from .module import RecursiveScriptModule


def adopt(face: RecursiveScriptModule, linker: Linker, home: Home) -> ScriptObject:
    """The object of a scripted module as one of `linker`'s program.

    Its classes are taken into the program. Where they keep their names it is the same object;
    else it is a new one over the same tensors, and `face` shows that from now on.
    """
    renaming = linker.link(face.__tensorscript_linkable__())
    target = face._script_object
    if not renaming.names:
        return target
    made: ScriptObject = _renamed(target, renaming, {})
    face._show(home, made)
    return made


def _renamed(value: Any, renaming: Renaming, memo: dict[int, ScriptObject]) -> Any:
    """A value whose objects are of the renamed classes."""
    match value:
        case ScriptObject():
            if (known := memo.get(id(value))) is not None:
                return known
            made = memo[id(value)] = ScriptObject(renaming.name(value.class_name))
            for name, held in value.attributes.items():
                made.attributes[name] = _renamed(held, renaming, memo)
            return made
        case list():
            return [_renamed(v, renaming, memo) for v in value]
        case dict():
            return {k: _renamed(v, renaming, memo) for k, v in value.items()}
        case tuple() if not hasattr(value, "_fields"):
            return tuple(_renamed(v, renaming, memo) for v in value)
    return value


def check_interface(program: Program, target: ScriptObject, declared: InterfaceType) -> None:
    """Refuse an object for an attribute whose interface it does not fulfil.

    Raises:
        GuardError: a method is missing or differs.
    """
    interface = program.classes[declared.class_name.data]
    if (why := incompatibility(program.classes[target.class_name], interface)) is not None:
        raise GuardError(
            f"Object of type {target.class_name} is not compatible with interface "
            f"{interface.name}\n{why}"
        )
