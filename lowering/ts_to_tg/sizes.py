"""Canonical forms of i64 expressions: what makes two symbolic sizes equal.

An expression becomes a polynomial with integer coefficients over atoms (variables and whatever is
not a polynomial: floor division, min, max, select). Divisions cancel where they divide exactly:

```
(N * 2 + 4) // 2     -->  N + 2            (H * W) // W     -->  H
(i0 * 8 + i1) % 8    -->  i1               where 0 <= i1 < 8
((H + 1) // 2 + 1) // 2  -->  (H + 3) // 4
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, add, binary, const, mul, sub
from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.rewriting import rebuild

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, int]


def _scaled(p: Polynomial, factor: int) -> Polynomial:
    return {m: c * factor for m, c in p.items()} if factor else {}


def _plus(a: Polynomial, b: Polynomial) -> Polynomial:
    out = dict(a)
    for m, c in b.items():
        total = out.get(m, 0) + c
        if total:
            out[m] = total
        else:
            out.pop(m, None)
    return out


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            out = _plus(out, {tuple(sorted((*m, *n), key=text)): c * d})
    return out


def _expression(p: Polynomial) -> Expr:
    """The polynomial as an expression, positive terms first, in a fixed order."""
    terms = sorted(p.items(), key=lambda t: (t[1] < 0, -len(t[0]), [text(a) for a in t[0]]))
    out: Expr | None = None
    for monomial, coefficient in terms:
        size = coefficient if out is None else abs(coefficient)
        term = const(1)
        for atom in monomial:
            term = mul(term, atom)
        term = mul(term, const(size))
        if out is None:
            out = term
            continue
        out = add(out, term) if coefficient > 0 else sub(out, term)
    return out if out is not None else const(0)


def _divided(p: Polynomial, monomial: Monomial, coefficient: int) -> Polynomial | None:
    """p / (coefficient * monomial) where it divides every term, else None."""
    out: Polynomial = {}
    for m, c in p.items():
        left = list(m)
        for atom in monomial:
            if atom not in left:
                return None
            left.remove(atom)
        if c % coefficient:
            return None
        out[tuple(left)] = c // coefficient
    return out


class _Canonical:
    """One simplification; `bounds` gives exclusive upper ends of variables that start at 0."""

    def __init__(self, bounds: Mapping[str, Expr]) -> None:
        self.bounds = bounds
        self.done: dict[Expr, Polynomial] = {}

    def polynomial(self, e: Expr) -> Polynomial:
        if (found := self.done.get(e)) is None:
            found = self.done[e] = self._polynomial(e)
        return found

    def _polynomial(self, e: Expr) -> Polynomial:
        match e.op:
            case "const":
                return {(): int(e.value)} if e.value else {}  # type: ignore[call-overload]  # i64
            case "add":
                return _plus(self.polynomial(e.args[0]), self.polynomial(e.args[1]))
            case "sub":
                return _plus(self.polynomial(e.args[0]), _scaled(self.polynomial(e.args[1]), -1))
            case "neg":
                return _scaled(self.polynomial(e.args[0]), -1)
            case "mul":
                return _times(self.polynomial(e.args[0]), self.polynomial(e.args[1]))
            case "floordiv" | "mod":
                return self._division(e)
        fresh = self.inner(e)
        if fresh.op == "const":
            return {(): int(fresh.value)} if fresh.value else {}  # type: ignore[call-overload]
        return {(fresh,): 1}

    def inner(self, e: Expr) -> Expr:
        """`e`, not a polynomial itself, with its i64 operands canonical."""
        fresh = rebuild(e, tuple(self.expression(a) for a in e.args)) if e.args else e
        if fresh.op in ("min", "max") and fresh.dtype is int64:
            gap = self.constant(sub(fresh.args[0], fresh.args[1]))
            if gap is not None:
                first = gap <= 0 if fresh.op == "min" else gap >= 0
                return fresh.args[0 if first else 1]
        return fresh

    def constant(self, e: Expr) -> int | None:
        p = self.polynomial(e)
        return p.get((), 0) if not p or set(p) == {()} else None

    def expression(self, e: Expr) -> Expr:
        if e.dtype is int64:
            return _expression(self.polynomial(e))
        if e.dtype is bool_ and e.args:
            return self.boolean(e)
        return rebuild(e, tuple(self.expression(a) for a in e.args)) if e.args else e

    def boolean(self, e: Expr) -> Expr:
        fresh = rebuild(e, tuple(self.expression(a) for a in e.args))
        if fresh.op in ("lt", "le", "gt", "ge", "eq", "ne") and fresh.args[0].dtype is int64:
            gap = self.constant(sub(fresh.args[0], fresh.args[1]))
            if gap is not None:
                return binary(fresh.op, const(gap), const(0))
        return fresh

    def _division(self, e: Expr) -> Polynomial:
        top, bottom = self.polynomial(e.args[0]), self.polynomial(e.args[1])
        is_floor = e.op == "floordiv"
        if len(bottom) != 1:
            return self._opaque(e.op, top, bottom)
        ((monomial, coefficient),) = bottom.items()
        exact: Polynomial = {}
        rest: Polynomial = {}
        for m, c in top.items():
            part = _divided({m: c}, monomial, coefficient)
            if part is None:
                rest[m] = c
            else:
                exact = _plus(exact, part)
        if not rest or self._below(rest, bottom):
            return exact if is_floor else rest
        if coefficient > 0 and not monomial and () in rest:
            whole, remainder = divmod(rest.pop(()), coefficient)
            exact = _plus(exact, {(): whole})
            rest = _plus(rest, {(): remainder})
            if not rest or self._below(rest, bottom):
                return exact if is_floor else rest
        small = (self._nested(rest, bottom) if is_floor else None) or self._opaque(
            e.op, rest, bottom
        )
        return _plus(exact, small) if is_floor else small

    def _nested(self, top: Polynomial, bottom: Polynomial) -> Polynomial | None:
        """`(x // a + c) // n` as one division, of `x + c * a` by `a * n`."""
        n, rest = bottom.get((), 0), {m: c for m, c in top.items() if m}
        if n <= 0 or len(rest) != 1:
            return None
        ((monomial, count),) = rest.items()
        if count != 1 or len(monomial) != 1 or monomial[0].op != "floordiv":
            return None
        x, a = monomial[0].args
        if (step := self.constant(a)) is None or step <= 0:
            return None
        return self.polynomial((x + top.get((), 0) * step) // (step * n))

    def _opaque(self, op: str, top: Polynomial, bottom: Polynomial) -> Polynomial:
        made = binary(op, _expression(top), _expression(bottom))
        if made.op == "const":
            return {(): int(made.value)} if made.value else {}  # type: ignore[call-overload]
        return {(made,): 1}

    def _below(self, p: Polynomial, bottom: Polynomial) -> bool:
        """Whether 0 <= p < bottom for all values of the bounded variables."""
        largest: Polynomial = {}
        for m, c in p.items():
            if c < 0:
                return False
            if not m:
                largest = _plus(largest, {(): c})
                continue
            bound = self.bounds.get(str(m[-1].value)) if m[-1].op == "var" else None
            if bound is None:
                for k, atom in enumerate(m):
                    found = self.bounds.get(str(atom.value)) if atom.op == "var" else None
                    if found is not None:
                        bound, m = found, (*m[:k], *m[k + 1 :], atom)
                        break
            if bound is None:
                return False
            top = _plus(self.polynomial(bound), {(): -1})
            largest = _plus(largest, _times({m[:-1]: c}, top))
        gap = _plus(bottom, _scaled(largest, -1))
        if any(m for m in gap):
            # Symbolic: certain only if what is left over is a sum of non-negative terms plus >= 1.
            return all(c > 0 for m, c in gap.items() if m) and gap.get((), 0) >= 1
        return gap.get((), 0) >= 1


def simplify(e: Expr, bounds: Mapping[str, Expr] | None = None) -> Expr:
    """The canonical form of an i64 or bool expression.

    Args:
        bounds: exclusive upper ends of variables that range from 0 (loop indices).
    """
    if not e.args:
        return e
    return _Canonical(bounds or {}).expression(e)


def sizes_text(sizes: Sequence[Expr]) -> str:
    """Sizes as messages show them."""
    return f"[{', '.join(map(str, sizes))}]"


def same_size(a: Expr, b: Expr) -> bool:
    """Whether two sizes are equal for every value of their symbols (False: not known)."""
    return a is b or simplify(sub(a, b)).is_int(0)


def product(sizes: tuple[Expr, ...]) -> Expr:
    """How many elements a shape has."""
    out = const(1)
    for size in sizes:
        out = mul(out, size)
    return simplify(out)
