"""Lists that a loop only reads are buffers while it runs.

```
                                               te.if j < m {
                                                 te.let h: i64 = l
                                                 te.invoke n: i64 = @list_length(h)
te.while j < m {                                 te.bind b: i64[n] = h
  te.invoke x: i64 = @list_get_i64(l, k)   -->   te.while j < m {
  ...                                              te.let x: i64 = b.i64[k]
}                                                  ... } }
```
No statement of the loop makes a list longer or `l` another one; elements may change, through this
buffer or another one of the same list. A loop with no turn looks at no list: `l` may be none then.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import load, var
from tensorscript.dialects.te.lists import ELEMENTS, BindOp, InvokeOp
from tensorscript.dialects.te.ops import (
    AssertOp,
    AssignOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    WhileOp,
)
from tensorscript.dialects.walks import walk_ops

from ..te.names import Names
from ..te.nest import detach
from .counting import counting


def lists_read(func: FuncOp) -> None:
    """Rewrite the innermost counting loops of a host function in place."""
    loops = [op for op in walk_ops(func) if isinstance(op, WhileOp) and counting(op)]
    names = Names(func)
    for loop in loops:
        if found := _read(loop):
            _bind(loop, found, names)


def _read(loop: WhileOp) -> dict[str, list[InvokeOp]]:
    """The reads by the name of their list, if the loop does nothing else to any."""
    body = list(loop.block.ops)
    changing = {op.var for op in body if isinstance(op, LetOp | AssignOp | InvokeOp)}
    found: dict[str, list[InvokeOp]] = {}
    for op in body:
        if not isinstance(op, InvokeOp):
            if not isinstance(op, LetOp | AssignOp | StoreOp | AssertOp):
                return {}
            continue
        handle = op.arguments[0] if op.arguments else None
        if handle is None or handle.op != "var" or handle.value in changing:
            return {}
        if op.function != "list_length" and _kind(op) not in ELEMENTS:
            return {}
        found.setdefault(str(handle.value), []).append(op)
    return {name: reads for name, reads in found.items() if len(_kinds(reads)) == 1}


def _kind(op: InvokeOp) -> str:
    """`list_get_i64` -> "i64"; empty for anything else."""
    return op.function.removeprefix("list_get_") if op.function.startswith("list_get_") else ""


def _kinds(reads: list[InvokeOp]) -> set[str]:
    return {kind for op in reads if (kind := _kind(op))}


def _bind(loop: WhileOp, found: dict[str, list[InvokeOp]], names: Names) -> None:
    block = loop.parent
    assert block is not None
    made: list[Operation] = []
    for name, reads in found.items():
        own, length = names.fresh(f"{name}_h"), names.fresh(f"{name}_n")
        (kind,) = _kinds(reads)
        buffer = Buffer(names.fresh(f"{name}_b"), ELEMENTS[kind], (var(length),))
        made += [
            LetOp(own, var(name)),
            InvokeOp("list_length", [var(own)], length),
            BindOp(buffer, var(own)),
        ]
        for op in reads:
            _replace(op, length, buffer)
    guard = IfOp(loop.condition, made)
    for one in (guard, *made):
        one.location = loop.location
    block.insert_op_before(guard, loop)
    loop.detach()
    guard.then_body.block.add_op(loop)


def _replace(op: InvokeOp, length: str, buffer: Buffer) -> None:
    block = op.parent
    assert block is not None
    value = var(length)
    if op.function != "list_length":
        value = load(buffer.name, (op.arguments[1],), buffer.dtype)
    made = LetOp(op.var, value)
    made.location = op.location
    block.insert_op_before(made, op)
    detach(op)
