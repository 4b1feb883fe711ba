"""How much a loop has to do: estimates that decide about threads and the number of registers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ops import ForOp, LetOp
from tensorscript.dialects.te.rewriting import substitute, transform, walk

from ..te.affine import expressions, known
from ..te.nest import Nest

MATH_WEIGHT = 12
"""A math function costs about this many additions."""
UNKNOWN_SIZE = 64
"""What a size counts as that only the running program knows."""


def weight_of(op: Operation) -> int:
    """Operations of one innermost iteration."""
    total = 0
    for inner in op.walk():
        for e in expressions(inner):
            total += sum(MATH_WEIGHT if n.is_costly else 1 for n in walk(e))
    return max(1, total)


def depth_of(op: Operation) -> int:
    """Those of them that wait for each other, the longest chain."""
    names: dict[str, int] = {}
    deepest = 0
    for inner in op.walk():
        for e in expressions(inner):
            depth = _depth(e, names)
            deepest = max(deepest, depth)
            if isinstance(inner, LetOp):
                names[inner.var] = depth
    return deepest


def _depth(e: Expr, names: Mapping[str, int]) -> int:
    depths: dict[Expr, int] = {}
    stack = [e]
    while stack:
        n = stack[-1]
        if waiting := [a for a in n.args if a not in depths]:
            stack += waiting
            continue
        own = names.get(str(n.value), 0) if n.op == "var" else MATH_WEIGHT if n.is_costly else 1
        depths[stack.pop()] = own + max((depths[a] for a in n.args), default=0)
    return depths[e]


def calls(op: Operation) -> bool:
    """Whether a math function is called."""
    return any(n.is_costly for inner in op.walk() for e in expressions(inner) for n in walk(e))


def grain_of(nest: Nest, loop: ForOp, work: int) -> int:
    """The iterations of `loop` that make up `work` operations, 1 if it takes less than one."""
    return max(1, work // _trip_work(nest, loop, loop.var))


def work_of(nest: Nest, loop: ForOp) -> int:
    """Estimated operations of all iterations of a loop."""
    return iterations_of(nest, loop) * _trip_work(nest, loop, loop.var)


def iterations_of(nest: Nest, loop: ForOp) -> int:
    """Estimated iterations of a loop."""
    return _trips(nest, loop.extent, loop.var)


def _trip_work(nest: Nest, loop: ForOp, shared: str) -> int:
    """Estimated operations of one iteration of a loop."""
    total = 0
    for op in loop.block.ops:
        if isinstance(op, ForOp):
            total += _trips(nest, op.extent, shared) * _trip_work(nest, op, shared)
        else:
            total += weight_of(op)
    return max(1, total)


def _trips(nest: Nest, extent: Expr, shared: str) -> int:
    """Estimated iterations. A block that ends where a size does, `min(block, n - shared * block)`,
    is a whole one: threads share the loop over blocks only if there is more than one."""

    def whole_block(e: Expr) -> Expr | None:
        if e.op != "min" or shared not in e.free:
            return None
        return next((a for a in e.args if a.is_const), None)

    guessed = transform(extent, whole_block)
    names = {n: const(0 if n in nest.loops else UNKNOWN_SIZE) for n in guessed.free}
    return known(substitute(guessed, names)) or UNKNOWN_SIZE
