"""inline: a buffer that one store fills disappears into the expressions that read it.

```
inline("t"):
for i { t[i] = f(x[i]) }  for j { y[j] = t[j] + 1 }   -->   for j { y[j] = f(x[j]) + 1 }
```

The buffer must be an allocation of the function, filled by exactly one unguarded te.store whose
indices are distinct loop variables over the whole dimension (or constants of size-one dimensions),
and what the store reads must not change before the last reader.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import Buffer, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp, FuncOp, StoreOp
from tensorscript.dialects.te.polynomial import equal
from tensorscript.dialects.te.rewriting import replace_loads, substitute
from tensorscript.dialects.walks import walk_ops

from .dependence import Access, accesses, loads_of
from .nest import Nest, detach, only_child


def producer(nest: Nest, target: str) -> StoreOp | str:
    """The one store that fills a buffer, or why there is none."""
    writes = [a for a in everything(nest) if a.buffer == target and a.writes]
    if len(writes) != 1 or not isinstance(writes[0].op, StoreOp):
        return f"{target} is not written by exactly one te.store"
    return writes[0].op


def everything(nest: Nest) -> list[Access]:
    """All accesses of the function."""
    return [a for op in nest.func.block.ops for a in accesses(nest, op)]


def check(nest: Nest, target: str) -> str | None:
    if target not in nest.allocs:
        return f"{target} is a parameter"
    if any(a.indices is None for a in everything(nest) if a.buffer == target):
        return f"{target} is passed to a function"
    store = producer(nest, target)
    if isinstance(store, str):
        return store
    if any(n.value == target for n in loads_of(store.value)):
        return f"{target} is computed from itself"
    buffer = nest.buffers[target]
    if reason := _covers(nest, store, buffer):
        return reason
    inputs = {str(n.value) for n in loads_of(store.value)} | (store.value.free & nest.mutable)
    if store.value.free & nest.lets.keys():
        return "the value uses a te.let"
    for a in everything(nest):
        if a.writes and a.buffer in inputs and not _before(a.op, store):
            return f"{a.buffer}, which {target} is computed from, changes later"
    return None


def _before(op: Operation, store: StoreOp) -> bool:
    """Whether `op` stands in an earlier top-level statement than the store."""
    return _root(op) is not _root(store) and _position(op) < _position(store)


def _root(op: Operation) -> Operation:
    while (above := op.parent_op()) is not None and not isinstance(above, FuncOp):
        op = above
    return op


def _position(op: Operation) -> int:
    root = _root(op)
    block = root.parent_block()
    return -1 if block is None else block.get_operation_index(root)


def _covers(nest: Nest, store: StoreOp, buffer: Buffer) -> str | None:
    loops = {loop.var: loop for loop in nest.enclosing(store)}
    used: set[str] = set()
    for index, size in zip(store.indices, buffer.shape, strict=True):
        if index.is_int(0) and size.is_int(1):
            continue
        loop = loops.get(str(index.value)) if index.op == "var" else None
        if loop is None or loop.var in used:
            return f"the index {index} is not a loop variable of its own"
        if not loop.start.is_int(0) or not equal(loop.extent, size):
            return f"loop {loop.var} does not run over all of its dimension"
        used.add(loop.var)
    above: Operation = store
    while isinstance(parent := above.parent_op(), ForOp):
        if parent.var not in used and parent.var in store.value.free:
            return f"the value depends on loop {parent.var}"
        above = parent
    return None if isinstance(parent, FuncOp) else "the store is guarded"


def apply(nest: Nest, target: str) -> None:
    store = producer(nest, target)
    assert not isinstance(store, str)  # check passed
    names = [str(e.value) if e.op == "var" else None for e in store.indices]
    value = store.value
    detach(nest.allocs[target])
    remove_statement(store)

    def read(n: Expr) -> Expr | None:
        if n.value != target:
            return None
        places = {name: e for name, e in zip(names, n.args, strict=True) if name is not None}
        return substitute(value, places)

    for op in walk_ops(nest.func):
        for key, attribute in op.properties.items():
            if isinstance(attribute, ExprAttr) and loads_of(attribute.data):
                op.properties[key] = ExprAttr(replace_loads(attribute.data, read))
            elif isinstance(attribute, ExprsAttr) and any(map(loads_of, attribute.data)):
                items = tuple(replace_loads(e, read) for e in attribute.data)
                op.properties[key] = ExprsAttr(items)


def remove_statement(op: Operation) -> None:
    """Detach a statement and the loops that it was the last statement of."""
    while True:
        parent, block = op.parent_op(), op.parent_block()
        alone = block is not None and only_child(block) is op and isinstance(parent, ForOp)
        if not alone or parent is None:
            detach(op)
            return
        op = parent
