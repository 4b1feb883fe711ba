"""Addresses of a kernel whose sizes the program finds: what stays the same in all turns of an
innermost loop is computed before it.

```
for k { .. x[row, kb * 160 + k] .. }  -->  p = &x + (row * 784 + kb * 160)
                                           for k { .. p[k] .. }
```
No pass moves anything out of loops (`optimize.py`); where all sizes are numbers, the code generator
finds these sums by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import (
    AllocOp,
    CallOp,
    ForOp,
    LetOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.polynomial import Polynomial, expression, polynomial
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops

from .emit_scope import Bound, Place, Scope, flat_index

LEAST_TERMS = 2
"""Of the sum that is computed before the loop, beside its constant: one is a register anyway."""


@dataclass(frozen=True)
class Ahead:
    """Pointers before the loop at hand.

    Attributes:
        changing: the names that have another value in each turn, or are numbers where the turns
            are written out.
        pointers: by buffer and by what they lie from its start.
        mixed: monomials that such a number is multiplied with somewhere: of them there are other
            multiples in each copy.
    """

    changing: frozenset[str]
    pointers: dict[tuple[str, Expr], str]
    mixed: set[tuple[Expr, ...]]

    def split(self, index: Expr) -> tuple[Expr, Expr]:
        """What an index is in all turns, constants apart, and the rest."""
        steady: Polynomial = {}
        rest: Polynomial = {}
        for monomial, coefficient in polynomial(index).items():
            (steady if monomial and self._stays(monomial) else rest)[monomial] = coefficient
        return expression(steady), expression(rest)

    def _stays(self, monomial: tuple[Expr, ...]) -> bool:
        return monomial not in self.mixed and all(map(self._is_steady, monomial))

    def _is_steady(self, atom: Expr) -> bool:
        return self.changing.isdisjoint(atom.free) and not loads(atom)

    def mix(self, index: Expr) -> None:
        """Note what changing numbers are multiplied with in an index."""
        for monomial in polynomial(index):
            kept = tuple(a for a in monomial if self._is_steady(a))
            if kept and len(kept) < len(monomial):
                self.mixed.add(kept)


def ahead_of(
    scope: Scope, op: ForOp, is_flat: bool, resolve: Callable[[Expr], Expr],
    point: Callable[[Place, Expr], str],
) -> Ahead | None:  # fmt: skip
    """What is computed before an innermost loop; None for another one, or for nothing.

    Args:
        point: emits the address of an index.
    """
    inside = list(walk_ops(op))
    if any(isinstance(i, CallOp | WhileOp) or _is_loop(i) for i in inside):
        return None
    names = {i.var for i in inside if isinstance(i, ForOp | LetOp | ScanOp | VarOp)} | {op.var}
    local = {i.buffer.name for i in inside if isinstance(i, AllocOp)}
    found = Ahead(frozenset(names), {}, set())
    reads: list[tuple[str, Place, Expr]] = []
    for buffer, indices in _accesses(inside):
        place = scope.places.get(buffer)
        if buffer in local or place is None or place.per_lane or place.in_registers:
            continue
        index = resolve(flat_index(place.buffer, indices, is_flat))
        found.mix(index)
        reads.append((buffer, place, index))
    for buffer, place, index in reads:
        steady, _ = found.split(index)
        terms = [m for m in polynomial(steady) if m]
        if (buffer, steady) in found.pointers or len(terms) < LEAST_TERMS:
            continue
        if all(isinstance(scope.values.get(name), Bound) for name in steady.free):
            found.pointers[buffer, steady] = point(place, steady)
    return found if found.pointers else None


def _is_loop(op: Operation) -> bool:
    return isinstance(op, ForOp) and op.kind.data not in ("unroll", "vector")


def _accesses(inside: list[Operation]) -> Iterator[tuple[str, tuple[Expr, ...]]]:
    for op in inside:
        if isinstance(op, StoreOp | UpdateOp):
            yield op.buffer, op.indices
        for attribute in op.properties.values():
            held: tuple[Expr, ...] = ()
            if isinstance(attribute, ExprAttr | ExprsAttr):
                data = attribute.data
                held = data if isinstance(data, tuple) else (data,)
            for e in held:
                yield from ((str(n.value), n.args) for n in loads(e))
