"""The TorchScript API under its public names."""

from typing import Final

from tensorscript.base.tracer_warning import TracerWarning
from tensorscript.compiler.jit.callables import (
    ScriptFunction,
    ScriptMethod,
    executor,
    last_executed_optimized_graph,
)
from tensorscript.compiler.jit.enabled import jit_enabled
from tensorscript.compiler.jit.faces import RecursiveScriptClass
from tensorscript.compiler.jit.freeze import (
    freeze,
    optimize_for_inference,
    run_frozen_optimizations,
)
from tensorscript.compiler.jit.graph import Graph
from tensorscript.compiler.jit.graph_ranges import hide_source_ranges
from tensorscript.compiler.jit.language import (
    Attribute,
    Error,
    IgnoreContextManager,
    annotate,
    awaitable,
    awaitable_nowait,
    awaitable_wait,
    drop,
    export,
    fork,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    overload,
    unused,
    unwrap_optional,
    wait,
)
from tensorscript.compiler.jit.language import isinstance_of as isinstance
from tensorscript.compiler.jit.load import load
from tensorscript.compiler.jit.module import RecursiveScriptModule
from tensorscript.compiler.jit.opnames import export_opnames
from tensorscript.compiler.jit.save import save
from tensorscript.compiler.jit.script import script, script_if_tracing
from tensorscript.compiler.jit.script_module import ScriptModule, ScriptWarning, script_method
from tensorscript.compiler.jit.switches import (
    enable_onednn_fusion,
    fuser,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
    strict_fusion,
)
from tensorscript.compiler.jit.trace import trace, trace_module
from tensorscript.compiler.jit.trace_graph import get_trace_graph
from tensorscript.compiler.jit.traced import TopLevelTracedModule, TracedModule
from tensorscript.compiler.jit.unavailable import (
    ONNXTracedModule,
    jit_module_from_flatbuffer,
    save_jit_module_to_flatbuffer,
)
from tensorscript.compiler.jit.unit import CompilationUnit
from tensorscript.frontends.trace.check import TracingCheckError
from tensorscript.runtime.awaits import Await
from tensorscript.runtime.values import Future

from . import (
    _async,
    _await,
    _freeze,
    _fuser,
    _recursive,
    _script,
    _serialization,
    _state,
    _trace,
    annotations,
    frontend,
)

_fork, _wait, _isinstance, _set_fusion_strategy = fork, wait, isinstance, set_fusion_strategy
_overload, _overload_method, _unwrap_optional = overload, overload, unwrap_optional
_script_if_tracing, _drop, _hide_source_ranges = script_if_tracing, drop, hide_source_ranges
_Await, _awaitable = Await, awaitable
_awaitable_nowait, _awaitable_wait = awaitable_nowait, awaitable_wait
_IgnoreContextManager, _get_trace_graph = IgnoreContextManager, get_trace_graph

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "Graph",
    "ONNXTracedModule",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "_async",
    "_await",
    "_freeze",
    "_fuser",
    "_recursive",
    "_script",
    "_serialization",
    "_state",
    "_trace",
    "annotate",
    "annotations",
    "enable_onednn_fusion",
    "executor",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "frontend",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "jit_enabled",
    "jit_module_from_flatbuffer",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "save_jit_module_to_flatbuffer",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
