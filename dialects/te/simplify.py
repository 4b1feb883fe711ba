"""The expression simplifier.

Index arithmetic (i64) becomes a canonical sum of products; floor division and remainder by the
rules below; comparisons, min, max and select are settled where ranges allow. Other dtypes only fold
constants (in the dtype's own arithmetic) and exact identities: floats are never reassociated.

Rules, for `0 <= s < n` (each proven from the ranges) and `n > 0`:

| before | after |
|---|---|
| `(n*q + r) // n`, `(n*q + r) % n` | `q + r // n`, `r % n` |
| `s // n`, `s % n` | `0`, `s` |
| `(g*p + s) // (g*m)`, `% (g*m)` with `0 <= s < g` | `p // m`, `g * (p % m) + s` |
| `(x // a + c) // n` | `(x + c*a) // (a*n)` |
| `(x % a) % n` where n divides a | `x % n` |
| `(x // n) * n + x % n` | `x` |
| `((x // n) % z) * n + x % n` | `x % (n*z)` |
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tensorscript.base.dtypes import bool_, int64

from .expr import Expr, binary, const, select, unary
from .folding import NEGATED, fold, fold_logic
from .polynomial import (
    Monomial,
    Polynomial,
    as_constant,
    combine,
    constant,
    divided,
    expression,
    fits,
    polynomial,
    product,
    times,
)
from .ranges import Prover, Ranges
from .rewriting import rebuild
from .vocabulary import COMPARISONS


class Simplifier:
    """Simplifies expressions of one place (fixed ranges and facts); memoised per node."""

    def __init__(self, ranges: Ranges, facts: Iterable[Expr] = ()) -> None:
        self.prover = Prover(ranges, facts)
        self._done: dict[Expr, Expr] = {}

    def __call__(self, e: Expr) -> Expr:
        done = self._done
        found = done.get(e)
        if found is not None:
            return found
        stack = [(e, False)]
        while stack:
            current, ready = stack.pop()
            if current in done:
                continue
            if not current.args:
                done[current] = current
            elif ready:
                fresh = rebuild(current, tuple(done[a] for a in current.args))
                done[current] = self._step(fresh)
            else:
                stack.append((current, True))
                stack.extend((a, False) for a in current.args if a not in done)
        return done[e]

    def _step(self, e: Expr) -> Expr:
        if not e.args or e.op == "load":
            return e
        if e.op in COMPARISONS:
            return self._comparison(e) if e.args[0].dtype is int64 else fold(e)
        if e.op == "select":
            return self._select(e)
        if e.dtype is int64:
            return self._index(e)
        if e.dtype is bool_ and e.op in ("and", "or", "xor", "not"):
            flat = fold_logic(e)
            turned = flat is not e and flat.op in NEGATED and flat.args[0].dtype is int64
            return self._comparison(flat) if turned else flat
        return fold(e)

    # --- i64

    def _index(self, e: Expr) -> Expr:
        match e.op:
            case "add" | "sub" | "mul" | "neg":
                return self._sum(e)
            case "floordiv":
                return self._sum(self._divide(*e.args)[0])
            case "mod":
                return self._sum(self._divide(*e.args)[1])
            case "min" | "max":
                return self._extreme(e)
        return fold(e)

    def _sum(self, e: Expr) -> Expr:
        p = polynomial(e)
        joined = self._rejoin(p)
        return expression(joined) if fits(joined) else e

    def _rejoin(self, p: Polynomial) -> Polynomial:
        """Undo quotient-and-remainder splits: `(x//n)*n + x%n`, `((x//n)%z)*n + x%n`."""
        found: tuple[Monomial, Expr] | None
        while (found := self._pair(p)) is not None:
            monomial, atom = found
            x, n = atom.args
            rest = _without(monomial, atom)
            quotient = self._divide(x, n)[0]
            scale = product({rest: p[monomial]}, polynomial(n))
            # p - c*rest*(x%n) - c*rest*n*(other) + c*rest*joined
            part = {rest: p[monomial]}
            out = combine(p, product(part, polynomial(atom)), -1)
            whole = combine(out, product(scale, polynomial(quotient)), -1)
            if len(whole) < len(out):
                p = combine(whole, product(part, polynomial(x)))
                continue
            longer = self._remainder_of(out, scale, quotient)
            assert longer is not None  # _pair found it
            outer = self._divide(x, expression(product(polynomial(n), polynomial(longer.args[1]))))
            p = combine(out, product(scale, polynomial(longer)), -1)
            p = combine(p, product(part, polynomial(outer[1])))
        return p

    def _pair(self, p: Polynomial) -> tuple[Monomial, Expr] | None:
        """A monomial with a remainder atom whose quotient is in `p` with the matching factor."""
        for monomial, coefficient in p.items():
            for atom in monomial:
                if atom.op != "mod" or monomial.count(atom) > 1 or not self._divisible(atom):
                    continue
                part = {_without(monomial, atom): coefficient}
                scale = product(part, polynomial(atom.args[1]))
                quotient = self._divide(*atom.args)[0]
                needed = product(scale, polynomial(quotient))
                if needed and () not in needed and all(p.get(m) == c for m, c in needed.items()):
                    return monomial, atom
                if self._remainder_of(p, scale, quotient) is not None:
                    return monomial, atom
        return None

    def _divisible(self, atom: Expr) -> bool:
        return self.prover.tame(atom.args[0]) and self.prover.tame(atom.args[1])

    def _remainder_of(self, p: Polynomial, scale: Polynomial, quotient: Expr) -> Expr | None:
        """The atom `quotient % z` that occurs in `p` multiplied by `scale`."""
        if len(scale) != 1:
            return None
        ((factor, coefficient),) = scale.items()
        for monomial, c in p.items():
            if c != coefficient:
                continue
            for atom in monomial:
                if (
                    atom.op == "mod"
                    and polynomial(atom.args[0]) == polynomial(quotient)
                    and times(_without(monomial, atom), ()) == factor
                    and self._positive(atom.args[1])
                ):
                    return atom
        return None

    def _positive(self, e: Expr) -> bool:
        return self.prover.positive(polynomial(e))

    def _divide(self, x: Expr, n: Expr) -> tuple[Expr, Expr]:
        """Simplified `x // n` and `x % n`."""
        divisor = polynomial(n)
        step = as_constant(divisor)
        plain = binary("floordiv", x, n), binary("mod", x, n)
        if step == 0 or not (self.prover.tame(x) and self.prover.tame(n)):
            return plain
        if step == 1:
            return x, const(0)
        if step is not None and step < 0:
            return plain
        quotient, rest = divided(polynomial(x), divisor)
        if (whole := self._whole(rest, divisor)) is not None:
            quotient = combine(quotient, constant(whole))
            rest = combine(rest, divisor, -whole)
            return expression(quotient), expression(rest)
        if step is None and (parts := self._by_multiple(rest, divisor)) is not None:
            return expression(combine(quotient, parts[0])), expression(parts[1])
        if step is None:
            r = expression(rest)
            return (
                expression(combine(quotient, polynomial(binary("floordiv", r, n)))),
                binary("mod", r, n),
            )
        left, right = self._by_constant(rest, step)
        return expression(combine(quotient, left)), expression(right)

    def _whole(self, rest: Polynomial, divisor: Polynomial) -> int | None:
        """k with `k*divisor <= rest < (k+1)*divisor`, if certain; the divisor is positive then."""
        step = as_constant(divisor)
        low, high = self.prover.polynomial_bounds(rest)
        bounded = step is not None and low is not None and high is not None
        if bounded and low // step == high // step:  # type: ignore[operator]  # tested above
            return low // step  # type: ignore[operator]  # tested above
        for k in (0, -1):
            above = combine(rest, divisor, -k)
            if self.prover.nonnegative(above) and self.prover.positive(combine(divisor, above, -1)):
                return k
        return None

    def _by_constant(self, rest: Polynomial, n: int) -> tuple[Polynomial, Polynomial]:
        """Quotient and remainder of an irreducible `rest` by a literal n > 1."""
        for g in sorted({math.gcd(c, n) for m, c in rest.items() if m} - {1}, reverse=True):
            major = {m: c // g for m, c in rest.items() if c % g == 0 and m}
            minor = {m: c for m, c in rest.items() if c % g or not m}
            offset = minor.get((), 0)
            small = combine(minor, constant(offset - offset % g), -1)
            low, high = self.prover.polynomial_bounds(small)
            if low is not None and low >= 0 and high is not None and high < g:
                major = combine(major, constant(offset // g))
                quotient, remainder = self._divide(expression(major), const(n // g))
                scaled = product(polynomial(remainder), constant(g))
                return polynomial(quotient), combine(scaled, small)
        return self._nested_quotient(rest, n), self._nested_remainder(rest, n)

    def _by_multiple(
        self, rest: Polynomial, divisor: Polynomial
    ) -> tuple[Polynomial, Polynomial] | None:
        """Quotient and remainder of `g * p + s` by `g * m`, of a literal m and a size g."""
        if len(divisor) != 1:
            return None
        ((monomial, count),) = divisor.items()
        if count < 0:
            return None
        for whole in sorted({math.gcd(c, count) for m, c in rest.items() if m}, reverse=True):
            g = {monomial: whole}
            major, small = divided(rest, g)
            if not major or whole == count:
                continue
            p = expression(major)
            if self.prover.nonnegative(small) and self.prover.positive(combine(g, small, -1)):
                quotient, remainder = self._divide(p, const(count // whole))
                return polynomial(quotient), combine(product(polynomial(remainder), g), small)
        return None

    def _nested_quotient(self, rest: Polynomial, n: int) -> Polynomial:
        variable = [m for m in rest if m]
        if len(variable) == 1 and rest[variable[0]] == 1 and len(variable[0]) == 1:
            atom = variable[0][0]
            if atom.op == "floordiv" and (a := as_constant(polynomial(atom.args[1]))) and a > 0:
                inner = combine(polynomial(atom.args[0]), constant(rest.get((), 0) * a))
                return polynomial(self._divide(expression(inner), const(a * n))[0])
        return polynomial(binary("floordiv", expression(rest), const(n)))

    def _nested_remainder(self, rest: Polynomial, n: int) -> Polynomial:
        out: Polynomial = {}
        changed = False
        for m, c in rest.items():
            atom = m[0] if len(m) == 1 else None
            if atom is not None and atom.op == "mod" and self._divisible(atom):
                a = as_constant(polynomial(atom.args[1]))
                if a and a > 0 and (c * a) % n == 0:
                    out = combine(out, polynomial(atom.args[0]), c)
                    changed = True
                    continue
            out = combine(out, {m: c})
        if changed:
            return polynomial(self._divide(expression(out), const(n))[1])
        return polynomial(binary("mod", expression(rest), const(n)))

    def _extreme(self, e: Expr) -> Expr:
        a, b = e.args
        ordered = self.prover.decide(binary("le", a, b))
        if ordered is None:
            ordered = None if (back := self.prover.decide(binary("le", b, a))) is None else not back
        if ordered is None:
            return e
        return a if ordered == (e.op == "min") else b

    # --- comparisons and select

    def _comparison(self, e: Expr) -> Expr:
        known = self.prover.decide(e)
        if known is not None:
            return const(known, bool_)
        a, b = e.args
        if not (self.prover.tame(a) and self.prover.tame(b)):
            return e
        op = e.op
        if op in ("gt", "ge"):
            a, b, op = b, a, {"gt": "lt", "ge": "le"}[op]
        gap = combine(polynomial(a), polynomial(b), -1)
        if op == "le":
            gap, op = combine(gap, constant(1), -1), "lt"
        fixed = gap.get((), 0)
        g = math.gcd(*(c for m, c in gap.items() if m))
        if op != "lt" and fixed % g:
            return const(op == "ne", bool_)
        # g*p + fixed < 0  is  p < ceil(-fixed / g)
        left = {m: c // g for m, c in gap.items() if m and c > 0}
        right = {m: -c // g for m, c in gap.items() if m and c < 0}
        limit = -(fixed // g)
        if not left or (limit < 0 and right):
            left = combine(left, constant(limit), -1)
        else:
            right = combine(right, constant(limit))
        return binary(op, expression(left), expression(right))

    def _select(self, e: Expr) -> Expr:
        condition, yes, no = e.args
        known = self.prover.decide(condition)
        if known is not None:
            return yes if known else no
        if condition.op == "not":
            return select(condition.args[0], no, yes)
        if e.dtype is bool_ and yes.is_const and no.is_const:
            return condition if yes.value else fold_logic(unary("not", condition))
        return e


def _without(monomial: Monomial, atom: Expr) -> Monomial:
    place = monomial.index(atom)
    return monomial[:place] + monomial[place + 1 :]


# --- literals of any dtype


def simplify(e: Expr, ranges: Ranges, facts: Iterable[Expr] = ()) -> Expr:
    """`e` simplified under the ranges of its variables and conditions known to hold."""
    return Simplifier(ranges, facts)(e)
