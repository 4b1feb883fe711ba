"""What script functions show of themselves, and tell a tracer, imported when it is first asked for.

`late_graph.Graph(...)` stands for `from .graph import Graph` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from tensorscript.frontends.trace.calls import Callee, record_call
    from tensorscript.frontends.trace.forks import record_fork, record_wait
    from tensorscript.frontends.trace.tracer import Tracer

    from .function_schema import FunctionSchema
    from .graph import Graph

__all__ = [
    "Callee",
    "FunctionSchema",
    "Graph",
    "Tracer",
    "record_call",
    "record_fork",
    "record_wait",
]

_OWN, _TRACE = "tensorscript.compiler.jit", "tensorscript.frontends.trace"
_HOMES = {
    "Graph": f"{_OWN}.graph",
    "FunctionSchema": f"{_OWN}.function_schema",
    **dict.fromkeys(("Callee", "record_call"), f"{_TRACE}.calls"),
    **dict.fromkeys(("record_fork", "record_wait"), f"{_TRACE}.forks"),
    "Tracer": f"{_TRACE}.tracer",
}

__getattr__ = deferred(__name__, _HOMES)
