"""`export_opnames`: which operators a module uses."""

from __future__ import annotations

from typing import Any

from tensorscript.dialects.ts.ops import CallMethodOp, CallOp, FuncOp, OperatorOp, TaskOp
from tensorscript.dialects.ts.types import ClassType
from tensorscript.dialects.walks import walk_ops
from tensorscript.runtime.interpreter import Interpreter
from tensorscript.runtime.values import ScriptObject

from .faces import Home


def export_opnames(m: Any) -> list[str]:
    """The operators that a script module's methods and those of its submodules use, sorted.

    Returns:
        Names with their overloads, e.g. `aten::add.Tensor`.
    """
    face = getattr(m, "_actual_script_module", m)
    home: Home = face._home
    found: set[str] = set()
    seen: set[str] = set()
    for target in _objects(face._script_object, home, {}).values():
        for method in home.class_info(target.class_name).compiled:
            _collect(f"{target.class_name}.{method}", home.interpreter, found, seen)
    return sorted(found)


def _objects(
    target: ScriptObject, home: Home, found: dict[int, ScriptObject]
) -> dict[int, ScriptObject]:
    """A module and the modules below it."""
    if id(target) not in found and home.class_info(target.class_name).category == "module":
        found[id(target)] = target
        for value in target.attributes.values():
            if isinstance(value, ScriptObject):
                _objects(value, home, found)
    return found


def _collect(symbol: str, interpreter: Interpreter, found: set[str], seen: set[str]) -> None:
    """Operators of a function and of what it calls."""
    if symbol in seen:
        return
    seen.add(symbol)
    if symbol not in interpreter.functions:
        interpreter.refresh()
    function = interpreter.functions.get(symbol)
    for op in walk_ops(function) if isinstance(function, FuncOp) else ():
        match op:
            case OperatorOp():
                found.add(op.schema.data)
            case CallOp() | TaskOp():
                _collect(op.callee.data, interpreter, found, seen)
            case CallMethodOp():
                declared = op.arguments[0].type
                if isinstance(declared, ClassType):
                    name = f"{declared.class_name.data}.{op.method.data}"
                    _collect(name, interpreter, found, seen)
