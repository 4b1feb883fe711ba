"""stream: a result is written past the caches.

```
te.func @k (x, out y) { ... }   -->   te.func @k (x, out y) streams y { ... }
```

A store to a line that no cache holds reads the line first, and then has another one written back.
Whole vectors that begin at a line need not: what they hold goes to memory as it is. It pays where
nobody reads the result before it would have left the caches anyway (`schedules/streamed.py`).

Legal for a result that the function stores and neither reads nor updates.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.ops import CallOp, StoreOp
from tensorscript.dialects.walks import walk_ops

from .affine import accesses
from .nest import Nest


def check(nest: Nest, target: str) -> str | None:
    results = {p.name for p in nest.func.params if isinstance(p, Buffer) and p.mode == "out"}
    if target not in results:
        return f"{target} is no result"
    if target in nest.func.streamed:
        return f"{target} is streamed already"
    ops = list(walk_ops(nest.func))
    if any(isinstance(op, CallOp) and any(target in a.free for a in op.arguments) for op in ops):
        return f"{target} is passed to a function"
    stores = sum(isinstance(op, StoreOp) and op.buffer == target for op in ops)
    touched = sum(name == target for name, _ in accesses(nest.func))
    return None if stores == touched else f"{target} is read"


def apply(nest: Nest, target: str) -> None:
    names = (*nest.func.streamed, target)
    nest.func.properties["streamed_attr"] = ArrayAttr([StringAttr(name) for name in names])
