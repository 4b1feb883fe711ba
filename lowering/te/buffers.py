"""set_scope and compress_buffer: where a local buffer lives, and how large it is.

```
set_scope("t", "stack"):      alloc arena t[16]   -->   alloc stack t[16]
compress_buffer("t"):         alloc t[N, 4]                        alloc t[1, 4]
                              for i { for j { t[i, j] = ... }      for i { for j { t[0, j] = ... }
                                      for k { ... t[i, k] } }  -->         for k { ... t[0, k] } }
```

A dimension shrinks to one where every access has the same loop variable as its index there, and
the loops around all accesses are such index variables down to it: each iteration then uses its own
elements only.
"""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects.builtin import StringAttr

from tensorscript.dialects.te.buffers import SCOPES, Buffer, BufferAttr
from tensorscript.dialects.te.expr import Expr, const
from tensorscript.dialects.te.ops import AllocOp, CallOp, ForOp
from tensorscript.dialects.walks import walk_ops

from .bounds import Region
from .cache import redirect
from .dependence import Access, body_accesses
from .nest import Nest

_LARGEST_REGISTER_BUFFER = 1024


def check_scope(nest: Nest, target: str, scope: str) -> str | None:
    alloc = nest.allocs.get(target)
    if alloc is None:
        return f"{target} is a parameter"
    if scope not in SCOPES or scope in ("param", "const"):
        return f"there is no local scope {scope}"
    if scope in ("reg", "stack"):
        if not all(size.is_const for size in alloc.buffer.shape):
            return f"the shape of {alloc.buffer} is not constant"
        if any(_passes(op, target) for op in walk_ops(nest.func)) and scope == "reg":
            return f"{target} is passed to a function"
    total = 1
    for size in alloc.buffer.shape:
        total *= int(str(size)) if scope == "reg" else 1
    return None if total <= _LARGEST_REGISTER_BUFFER else f"{target} is too large for registers"


def _passes(op: object, name: str) -> bool:
    return isinstance(op, CallOp) and any(a.op == "var" and a.value == name for a in op.arguments)


def apply_scope(nest: Nest, target: str, scope: str) -> None:
    alloc = nest.allocs[target]
    alloc.properties["scope"] = StringAttr(scope)
    alloc.properties.pop("offset_attr", None)


def _touches(nest: Nest, target: str) -> list[Access]:
    everything = body_accesses(nest, list(nest.func.block.ops))
    return [a for a in everything if a.buffer == target]


def _shared_loops(nest: Nest, touches: list[Access]) -> list[ForOp]:
    """The loops around all accesses that the allocation is outside of."""
    alloc = nest.allocs[touches[0].buffer]
    outside = set(nest.enclosing(alloc))
    common = [loop for loop in touches[0].loops if all(loop in a.loops for a in touches)]
    return [loop for loop in common if loop not in outside]


def _dimensions(nest: Nest, target: str) -> dict[int, Expr] | str:
    """Dimensions that shrink, with the index all accesses have there."""
    touches = _touches(nest, target)
    if not touches:
        return f"nothing touches {target}"
    shared = _shared_loops(nest, touches)
    threads = {loop.var for loop in shared if loop.kind.data not in ("serial", "unroll")}
    found: dict[int, Expr] = {}
    if any(a.indices is None for a in touches):
        return f"{target} is passed to a function"
    for d, size in enumerate(nest.buffers[target].shape):
        indices = {a.indices[d] for a in touches if a.indices is not None}
        (index, *more) = indices
        if not more and index.op == "var" and not size.is_int(1):
            found[d] = index
    indexed = {str(e.value) for e in found.values()}
    prefix = {loop.var for loop in takewhile(lambda loop: loop.var in indexed, shared)}
    found = {d: e for d, e in found.items() if e.value in prefix}
    if threads:
        return f"{target} is shared by the iterations of {', '.join(sorted(threads))}"
    return found or f"no dimension of {target} is private to an iteration"


def check_compress(nest: Nest, target: str) -> str | None:
    if target not in nest.allocs:
        return f"{target} is a parameter"
    found = _dimensions(nest, target)
    if isinstance(found, str):
        return found
    return _first_is_store(nest, target)


def _first_is_store(nest: Nest, target: str) -> str | None:
    """An iteration must fill what it reads: elements of earlier iterations are gone."""
    first = _touches(nest, target)[0]
    return None if first.mode == "write" else f"{target} is read before it is stored"


def apply_compress(nest: Nest, target: str) -> None:
    found = _dimensions(nest, target)
    assert not isinstance(found, str)  # check passed
    alloc: AllocOp = nest.allocs[target]
    b = alloc.buffer
    zero, one = const(0), const(1)
    shape = tuple(one if d in found else size for d, size in enumerate(b.shape))
    region = Region(tuple(found.get(d, zero) for d in range(len(shape))), (), False)
    for op in walk_ops(nest.func):
        redirect(op, target, target, region)
    alloc.properties["buffer_attr"] = BufferAttr(Buffer(b.name, b.dtype, shape, None, b.mode))
