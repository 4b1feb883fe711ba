"""share: what several statements of a loop's body compute or read is named, and computed once.

```
share("i"):
for i { y[0, i] = x[i] + x[i + 9]   -->  for i { let i_a = x[i]; let i_b = x[i + 9]
        y[1, i] = x[i] - x[i + 9] }              y[0, i] = i_a + i_b; y[1, i] = i_a - i_b }
```
The body is stores, into buffers that it does not read: what it reads is then the same before all of
them. Names stand before the first statement that needs them. Indices stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.ops import ForOp, LetOp, StoreOp
from tensorscript.dialects.te.rewriting import loads, rebuild

from .affine import expressions
from .nest import Nest, detach


def check(nest: Nest, target: str) -> str | None:
    loop = nest.loops[target]
    if not all(isinstance(op, StoreOp) for op in loop.block.ops):
        return f"{target} holds more than stores"
    stored = {op.buffer for op in _stores(loop)}
    read = {str(n.value) for op in _stores(loop) for e in expressions(op) for n in loads(e)}
    if both := sorted(stored & read):
        return f"{both[0]} is stored and read"
    return None


def _stores(loop: ForOp) -> Iterator[StoreOp]:
    return (op for op in loop.block.ops if isinstance(op, StoreOp))


def apply(nest: Nest, target: str) -> None:
    loop = nest.loops[target]
    stores = list(_stores(loop))
    naming = _Naming(nest, loop, _used_again(stores))
    for op in stores:
        detach(op)
        value = naming.named(op.value)
        made = StoreOp(op.buffer, op.indices, value)
        made.location = op.location
        for one in (*naming.take(), made):
            one.location = op.location
            loop.block.add_op(one)


def _parts(e: Expr) -> tuple[Expr, ...]:
    """What a value is computed from; a read is one whole."""
    return () if e.op == "load" else e.args


def _used_again(stores: list[StoreOp]) -> set[Expr]:
    """The parts of the values, and the values, that stand at several places."""
    uses: Counter[Expr] = Counter()
    left = [op.value for op in stores]
    uses.update(left)
    seen = set(left)
    while left:
        parts = _parts(left.pop())
        uses.update(parts)
        left += (new := [p for p in dict.fromkeys(parts) if p not in seen])
        seen.update(new)
    return {e for e, count in uses.items() if count > 1 and (e.args or e.op == "load")}


class _Naming:
    """Values with names in the place of what is used again."""

    def __init__(self, nest: Nest, loop: ForOp, again: set[Expr]) -> None:
        self.nest, self.loop, self.again = nest, loop, again
        self.made: dict[Expr, Expr] = {}
        self.names: list[LetOp] = []

    def take(self) -> list[Operation]:
        """The names that were made since the last time."""
        found: list[Operation] = [*self.names]
        self.names = []
        return found

    def named(self, e: Expr) -> Expr:
        """`e` by the names of its parts; those come first."""
        stack = [e]
        while stack:
            top = stack[-1]
            if top in self.made:
                stack.pop()
            elif left := [p for p in _parts(top) if p not in self.made]:
                stack += reversed(left)
            else:
                self.made[stack.pop()] = self._made(top)
        return self.made[e]

    def _made(self, e: Expr) -> Expr:
        value = e if e.op == "load" else rebuild(e, tuple(self.made[p] for p in e.args))
        if e not in self.again:
            return value
        name = self.nest.fresh(f"{self.loop.var}_v")
        self.names.append(LetOp(name, value))
        return var(name, value.dtype)
