"""Tracing, where PyTorch has it."""

from tensorscript.base.tracer_warning import TracerWarning
from tensorscript.compiler.jit.language import is_tracing
from tensorscript.compiler.jit.trace import trace, trace_module
from tensorscript.compiler.jit.trace_graph import get_trace_graph as _get_trace_graph
from tensorscript.compiler.jit.traced import TopLevelTracedModule, TracedModule
from tensorscript.compiler.jit.unavailable import ONNXTracedModule
from tensorscript.frontends.trace.check import TracingCheckError

__all__ = [
    "ONNXTracedModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "_get_trace_graph",
    "is_tracing",
    "trace",
    "trace_module",
]
