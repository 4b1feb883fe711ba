"""The results of a lowered program by the evaluators of tg and te."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.compiler.arguments import rebuild
from tensorscript.compiler.lowered import Lowered
from tensorscript.compiler.native_module import host_function
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.tg.ops import functions
from tensorscript.dialects.tg.types import ListType
from tensorscript.lowering.te.evaluate import Grown
from tensorscript.lowering.te.evaluate import evaluate as evaluate_te
from tensorscript.lowering.tg.evaluate import evaluate as evaluate_tg


def evaluated_tg(lowered: Lowered, leaves: list[Any]) -> Any:
    """The result by the evaluator of tg."""
    (func,) = functions(lowered.report.modules["kernels"])
    values = [
        leaf.tolist() if isinstance(arg.type, ListType) else leaf
        for arg, leaf in zip(func.block.args, leaves, strict=False)
    ]
    results = [np.array(r) if isinstance(r, list) else r for r in evaluate_tg(func, values)]
    return rebuild(lowered.plan.output, results, lambda leaf, part: part)


def evaluated_te(lowered: Lowered, leaves: list[Any]) -> Any:
    """The result by the evaluator of te, which also finds references that are not given back."""
    module = lowered.report.modules["te"]
    host = host_function(module)
    given = iter(leaves)
    arguments: dict[str, Any] = {}
    for p in host.params:
        if not isinstance(p, Buffer):
            lists = [a for a in arguments.values() if isinstance(a, np.ndarray) and a.ndim]
            owner = p.name.removesuffix("_length")
            arguments[p.name] = (
                len(arguments[owner]) if lists and owner in arguments else next(given)
            )
        elif p.mode == "grown":
            arguments[p.name] = Grown()
        elif p.mode == "out":
            arguments[p.name] = np.zeros([int(str(s)) for s in p.shape], p.dtype.numpy)
        else:
            arguments[p.name] = next(given)
    evaluate_te(host, arguments, module=module)
    outputs = [arguments[b.name] for b in host.buffers if b.mode in ("out", "grown")]
    results = [o.array if isinstance(o, Grown) else o.item() for o in outputs]
    return rebuild(lowered.plan.output, results, lambda leaf, part: part)
