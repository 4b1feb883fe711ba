"""Which part of a buffer the body of a loop touches: `base .. base + size` in each dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, add, all_of, binary, const, mul, sub
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.polynomial import (
    Polynomial,
    combine,
    constant,
    expression,
    polynomial,
)
from tensorscript.dialects.te.ranges import Interval, Prover, inside_loop, prove

from .dependence import Access, fixed_names, loads_of
from .nest import Nest


@dataclass(frozen=True, slots=True)
class Region:
    """A box: `base[d] <= index[d] < base[d] + size[d]`; `dense` where writes fill it."""

    base: tuple[Expr, ...]
    size: tuple[int, ...]
    dense: bool

    def missing_guard(
        self, d: int, offset: Expr, shape: Expr, nest: Nest, loop: ForOp
    ) -> Expr | None:
        """The condition that index `base[d] + offset` is inside the buffer; None if certain."""
        ranges = dict(nest.body_ranges(loop)) | self._reach(d, offset)
        return uncertain(add(self.base[d], offset), shape, ranges)

    def guards(
        self, offsets: Sequence[Expr], buffer: Buffer, nest: Nest, loop: ForOp
    ) -> list[Expr]:
        """The conditions that `base + offsets` is inside the buffer, but for those that are
        certain."""
        found = self._by_dimension(offsets, buffer, nest, loop)
        return [guard for guard in found if guard is not None]

    def _by_dimension(
        self, offsets: Sequence[Expr], buffer: Buffer, nest: Nest, loop: ForOp
    ) -> list[Expr | None]:
        dims = enumerate(zip(offsets, buffer.shape, strict=True))
        return [self.missing_guard(d, at, shape, nest, loop) for d, (at, shape) in dims]

    def memory_guards(
        self, offsets: Sequence[Expr], buffer: Buffer, nest: Nest, loop: ForOp
    ) -> list[Expr]:
        """The same where an index may leave its dimension (`collapse`, `fold`): what lies behind
        the end of a row is the next one's beginning."""
        single = self._by_dimension(offsets, buffer, nest, loop)
        ranges = dict(nest.body_ranges(loop))
        for d, offset in enumerate(offsets):
            ranges |= self._reach(d, offset)
        found: list[Expr | None] = []
        for run in _runs(buffer):
            if all(single[d] is None for d in run[1:]):
                found.append(single[run[0]])
                continue
            at, count = const(0), const(1)
            for d in run:
                at = add(mul(at, buffer.shape[d]), add(self.base[d], offsets[d]))
                count = mul(count, buffer.shape[d])
            found.append(uncertain(at, count, ranges))
        return [guard for guard in found if guard is not None]

    def _reach(self, d: int, offset: Expr) -> dict[str, Interval]:
        return {name: Interval(0, self.size[d] - 1) for name in offset.free}


def uncertain(at: Expr, count: Expr, ranges: Mapping[str, Interval]) -> Expr | None:
    """The condition that `0 <= at < count`; None if it is certain."""
    needed = [binary("ge", at, 0), binary("lt", at, count)]
    missing = [c for c in needed if prove(c, ranges) is not True]
    return all_of(missing) if missing else None


def _runs(buffer: Buffer) -> list[list[int]]:
    """Dimensions that one stride walks together: the end of a row is followed by the next row."""
    strides = buffer.effective_strides
    runs: list[list[int]] = []
    for d, shape in enumerate(buffer.shape):
        if d and strides[d - 1] is mul(strides[d], shape):
            runs[-1].append(d)
        else:
            runs.append([d])
    return runs


def _split(p: Polynomial, fixed: frozenset[str]) -> tuple[Polynomial, Polynomial]:
    """The part of fixed variables, and the rest (the constant with it)."""
    outer: Polynomial = {}
    inner: Polynomial = {}
    for monomial, coefficient in p.items():
        free = frozenset[str]().union(*(atom.free for atom in monomial))
        read = any(loads_of(atom) for atom in monomial)
        (outer if monomial and free <= fixed and not read else inner)[monomial] = coefficient
    return outer, inner


def _is_dense(inner: Polynomial, prover: Prover, size: int) -> bool:
    """Whether the values of `inner` fill an interval of `size`."""
    reach = 0
    for monomial, c in sorted(inner.items(), key=lambda item: abs(item[1])):
        if not monomial:
            continue
        low, high = prover.polynomial_bounds({monomial: 1})
        if low is None or high is None or len(monomial) > 1 or monomial[0].op != "var":
            return False
        if abs(c) > reach + 1:
            return False
        reach += abs(c) * (high - low)
    return reach + 1 == size


def touched_region(
    nest: Nest, touches: Sequence[Access], buffer: Buffer, loop: ForOp
) -> Region | str:
    """The box around all `touches` of `buffer` in `loop`'s body, or why there is none."""
    fixed = fixed_names(nest, loop) | {loop.var}
    bases: list[Expr] = []
    sizes: list[int] = []
    dense = True
    provers = [_prover_at(nest, a) for a in touches]
    for d in range(len(buffer.shape)):
        base: Polynomial | None = None
        spans: list[tuple[int, int]] = []
        for access, prover in zip(touches, provers, strict=True):
            if access.indices is None:
                return f"{buffer.name} is passed to a function"
            outer, inner = _split(polynomial(access.indices[d]), fixed)
            if base is not None and base != outer:
                return f"accesses of {buffer.name} start at different places"
            base = outer
            low, high = prover.polynomial_bounds(inner)
            if low is None or high is None:
                return f"the index {access.indices[d]} of {buffer.name} has no constant extent"
            spans.append((low, high))
            dense = dense and _is_dense(inner, prover, high - low + 1)
        least, most = min(s[0] for s in spans), max(s[1] for s in spans)
        dense = dense and all(span == (least, most) for span in spans)
        bases.append(expression(combine(base or {}, constant(least))))
        sizes.append(most - least + 1)
    return Region(tuple(bases), tuple(sizes), dense)


def _prover_at(nest: Nest, access: Access) -> Prover:
    ranges = dict(nest.ranges(access.loops[0])) if access.loops else {}
    for loop in access.loops:
        ranges = inside_loop(loop.var, loop.start, loop.extent, ranges, loop.chunk)
    return Prover(ranges)


def rebased(indices: Sequence[Expr], region: Region) -> tuple[Expr, ...]:
    """Indices relative to the region's base."""
    return tuple(
        expression(polynomial(sub(i, b))) for i, b in zip(indices, region.base, strict=True)
    )
