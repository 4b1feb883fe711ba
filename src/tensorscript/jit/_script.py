"""Scripting, where PyTorch has it."""

from tensorscript.compiler.jit.callables import ScriptFunction
from tensorscript.compiler.jit.faces import RecursiveScriptClass
from tensorscript.compiler.jit.language import Attribute, interface
from tensorscript.compiler.jit.module import RecursiveScriptModule
from tensorscript.compiler.jit.script import script
from tensorscript.compiler.jit.script_module import ScriptModule, ScriptWarning, script_method
from tensorscript.compiler.jit.unit import CompilationUnit

__all__ = [
    "Attribute",
    "CompilationUnit",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "interface",
    "script",
    "script_method",
]
