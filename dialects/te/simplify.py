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
from collections.abc import Callable, Iterable

import numpy as np

from tensorscript.base.dtypes import bool_, float32, float64, int64

from .expr import COMPARISONS, Expr, Number, binary, cast, const, rebuild, select, unary
from .polynomial import (
    Monomial,
    Polynomial,
    as_constant,
    combine,
    constant,
    expression,
    fits,
    polynomial,
    product,
    times,
)
from .ranges import Prover, Ranges

_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


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
            flat = _logic(e)
            turned = flat is not e and flat.op in _NEGATED and flat.args[0].dtype is int64
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
        quotient, rest = _reduce(polynomial(x), divisor)
        positive = step is not None or self.prover.positive(divisor)
        if positive and (whole := self._whole(rest, divisor)) is not None:
            quotient = combine(quotient, constant(whole))
            rest = combine(rest, divisor, -whole)
            return expression(quotient), expression(rest)
        if step is None:
            r = expression(rest)
            return (
                expression(combine(quotient, polynomial(binary("floordiv", r, n)))),
                binary("mod", r, n),
            )
        left, right = self._by_constant(rest, step)
        return expression(combine(quotient, left)), expression(right)

    def _whole(self, rest: Polynomial, divisor: Polynomial) -> int | None:
        """k with `k*divisor <= rest < (k+1)*divisor`, if certain."""
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
            return condition if yes.value else _logic(unary("not", condition))
        return e


def _without(monomial: Monomial, atom: Expr) -> Monomial:
    place = monomial.index(atom)
    return monomial[:place] + monomial[place + 1 :]


def _reduce(p: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Polynomial division: `p = quotient * divisor + rest`, terms of `rest` irreducible."""
    lead = max(divisor, key=lambda m: (len(m), abs(divisor[m])))
    by = divisor[lead]
    quotient: Polynomial = {}
    rest = p
    for monomial, coefficient in p.items():
        factor = _quotient(monomial, lead)
        if factor is None:
            continue
        # Of the constant only whole multiples move; of a product all or nothing.
        share = coefficient // by if (not monomial or coefficient % by == 0) else 0
        if share:
            quotient = combine(quotient, {factor: share})
    if quotient:
        rest = combine(p, product(quotient, divisor), -1)
        if len(divisor) > 1 and len(rest) > len(p):
            return {}, p
    return quotient, rest


def _quotient(monomial: Monomial, by: Monomial) -> Monomial | None:
    if not by:
        return monomial
    left = list(monomial)
    for atom in by:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _logic(e: Expr) -> Expr:
    """Boolean identities; integer comparisons are negated in place."""
    if e.op == "not":
        (a,) = e.args
        if a.is_const:
            return const(not a.value, bool_)
        if a.op == "not":
            return a.args[0]
        if a.op in _NEGATED and not a.args[0].dtype.is_floating_point:
            return binary(_NEGATED[a.op], *a.args)
        return e
    a, b = e.args
    if a.is_const:
        a, b = b, a
    if b.is_const:
        if e.op == "xor":
            return _logic(unary("not", a)) if b.value else a
        return a if bool(b.value) == (e.op == "and") else b
    if a is b:
        return const(False, bool_) if e.op == "xor" else a
    return e


# --- literals of any dtype

_FOLD: dict[str, Callable[[Number, Number], Number]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: int(a) & int(b), "or": lambda a, b: int(a) | int(b),
    "xor": lambda a, b: int(a) ^ int(b),
}  # fmt: skip
_FLOAT_FOLD: dict[str, Callable[[np.floating, np.floating], np.floating]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
}  # fmt: skip


_EXACT_CALLS: dict[str, Callable[[np.floating], np.floating]] = {
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint,
    "abs": np.abs,
}  # fmt: skip
"""Functions that IEEE 754 rounds exactly: every target computes what NumPy does."""
_EXACT_DTYPES = (float32, float64)


def _wrapped(value: int, e: Expr) -> Expr:
    bits = e.dtype.bits
    value &= (1 << bits) - 1
    if e.dtype.signed and value >> (bits - 1):
        value -= 1 << bits
    return const(value, e.dtype)


def _is_float(e: Expr, value: float) -> bool:
    return (
        e.op == "const"
        and e.value == value
        and math.copysign(1.0, float(str(e.value))) == math.copysign(1.0, value)
    )


def fold(e: Expr) -> Expr:
    """One node over literal operands, or an identity that holds for every value of the dtype."""
    if e.op == "cast":
        return _fold_cast(e)
    if e.op == "call":
        return _fold_call(e)
    if len(e.args) != 2:
        return e
    a, b = e.args
    if a.is_const and b.is_const:
        return _fold_literals(e, a, b)
    if a.dtype.is_floating_point:
        if e.op in ("mul", "div") and _is_float(b, 1.0):
            return a
        if e.op == "mul" and _is_float(a, 1.0):
            return b
        if (e.op == "add" and _is_float(b, -0.0)) or (e.op == "sub" and _is_float(b, 0.0)):
            return a
        return b if e.op == "add" and _is_float(a, -0.0) else e
    if e.op in ("add", "sub", "or", "xor", "shl", "shr") and b.is_int(0):
        return a
    if e.op in ("mul", "floordiv", "truncdiv") and b.is_int(1):
        return a
    return e


def _fold_literals(e: Expr, a: Expr, b: Expr) -> Expr:
    x, y = a.value, b.value
    if a.dtype.is_floating_point:
        if e.op in COMPARISONS:
            return const(bool(_FOLD[e.op](x, y)), bool_)  # type: ignore[arg-type]  # literals
        if e.op in _FLOAT_FOLD and e.dtype in (float32, float64):
            kind = e.dtype.numpy.type
            with np.errstate(all="ignore"):
                return const(float(_FLOAT_FOLD[e.op](kind(x), kind(y))), e.dtype)
        return e
    if e.op not in _FOLD or (e.op in ("floordiv", "mod") and y == 0):
        return e
    value = _FOLD[e.op](x, y)  # type: ignore[arg-type]  # literals hold numbers
    return const(value, bool_) if e.dtype is bool_ else _wrapped(int(value), e)


def _fold_call(e: Expr) -> Expr:
    exact = _EXACT_CALLS.get(str(e.value))
    a = e.args[0]
    if exact is None or not a.is_const or a.dtype is not e.dtype or a.dtype not in _EXACT_DTYPES:
        return e
    with np.errstate(all="ignore"):
        return const(float(exact(a.dtype.numpy.type(a.value))), e.dtype)


def _fold_cast(e: Expr) -> Expr:
    (a,) = e.args
    if not a.is_const:
        return e
    value = a.value
    if a.dtype.is_floating_point and e.dtype.is_integral:
        if not math.isfinite(value) or abs(value) >= 2.0**62:  # type: ignore[arg-type]
            return e
        whole = int(value)  # type: ignore[call-overload]  # a float literal
        folded = _wrapped(whole, e)
        return folded if folded.value == whole else e
    return cast(a, e.dtype)


def simplify(e: Expr, ranges: Ranges, facts: Iterable[Expr] = ()) -> Expr:
    """`e` simplified under the ranges of its variables and conditions known to hold."""
    return Simplifier(ranges, facts)(e)
