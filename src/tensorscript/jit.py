"""The TorchScript API under its public names."""

from typing import Final

from tensorscript.compiler.jit.callables import ScriptFunction, ScriptMethod, executor
from tensorscript.compiler.jit.faces import RecursiveScriptClass
from tensorscript.compiler.jit.graph import Graph
from tensorscript.compiler.jit.language import (
    Attribute,
    Error,
    annotate,
    export,
    fork,
    fuser,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    optimized_execution,
    overload,
    script_if_tracing,
    set_fusion_strategy,
    strict_fusion,
    unused,
    unwrap_optional,
    wait,
)
from tensorscript.compiler.jit.language import isinstance_of as isinstance
from tensorscript.compiler.jit.load import load
from tensorscript.compiler.jit.module import RecursiveScriptModule
from tensorscript.compiler.jit.save import save
from tensorscript.compiler.jit.script import script
from tensorscript.compiler.jit.trace import trace, trace_module
from tensorscript.compiler.jit.traced import TopLevelTracedModule, TracedModule
from tensorscript.compiler.jit.unit import CompilationUnit
from tensorscript.frontends.trace.cautions import TracerWarning
from tensorscript.frontends.trace.check import TracingCheckError
from tensorscript.runtime.values import Future

ScriptModule = RecursiveScriptModule
_fork, _wait, _isinstance = fork, wait, isinstance
_overload, _overload_method, _unwrap_optional = overload, overload, unwrap_optional

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "Graph",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "executor",
    "export",
    "fork",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
