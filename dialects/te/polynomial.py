"""Sum-of-products normal form of i64 expressions.

A polynomial maps a monomial (a sorted tuple of atoms; `()` is the constant) to its coefficient. An
atom is any i64 node that is not `add`, `sub`, `mul`, `neg` or a literal. Two expressions with the
same polynomial are equal for all values, wraparound included. Polynomials are shared through a memo
and must never be changed in place.
"""

from __future__ import annotations

from tensorscript.base.dtypes import int64

from .expr import Expr, binary, const
from .expr_text import text

Monomial = tuple[Expr, ...]
Polynomial = dict[Monomial, int]

ZERO: Polynomial = {}
ONE: Polynomial = {(): 1}
_LIMIT = 48
"""Products of more terms than this stay products."""

_memo: dict[Expr, Polynomial] = {}
_keys: dict[Expr, tuple[bool, str]] = {}


def _key(atom: Expr) -> tuple[bool, str]:
    found = _keys.get(atom)
    if found is None:
        found = _keys[atom] = (atom.op != "var", text(atom))
    return found


def constant(value: int) -> Polynomial:
    return {(): value} if value else ZERO


def combine(p: Polynomial, q: Polynomial, scale: int = 1) -> Polynomial:
    """`p + scale * q`."""
    if not q or not scale:
        return p
    out = dict(p)
    for monomial, coefficient in q.items():
        total = out.get(monomial, 0) + scale * coefficient
        if total:
            out[monomial] = total
        else:
            out.pop(monomial, None)
    return out


def times(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a or not b:
        return a or b
    return tuple(sorted(a + b, key=_key))


def product(p: Polynomial, q: Polynomial) -> Polynomial:
    """`p * q`, multiplied out."""
    out: Polynomial = {}
    for m, c in p.items():
        for n, d in q.items():
            monomial = times(m, n)
            total = out.get(monomial, 0) + c * d
            if total:
                out[monomial] = total
            else:
                out.pop(monomial, None)
    return out


def polynomial(e: Expr) -> Polynomial:
    """The normal form of an i64 expression (atoms are left as they are)."""
    found = _memo.get(e)
    if found is None:
        found = _memo[e] = _build(e)
    return found


def _build(e: Expr) -> Polynomial:
    match e.op:
        case "const":
            return constant(int(e.value))  # type: ignore[call-overload]  # an int
        case "add":
            return combine(polynomial(e.args[0]), polynomial(e.args[1]))
        case "sub":
            return combine(polynomial(e.args[0]), polynomial(e.args[1]), -1)
        case "neg":
            return combine(ZERO, polynomial(e.args[0]), -1)
        case "mul":
            p, q = polynomial(e.args[0]), polynomial(e.args[1])
            if len(p) * len(q) <= _LIMIT:
                return product(p, q)
    return {(e,): 1}


def divided(p: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
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


def atoms(p: Polynomial) -> dict[Expr, None]:
    """The distinct atoms, in order of appearance."""
    return {atom: None for monomial in p for atom in monomial}


def as_constant(p: Polynomial) -> int | None:
    """The value of a constant polynomial, else None."""
    if not p:
        return 0
    return p[()] if len(p) == 1 and () in p else None


def _order(item: tuple[Monomial, int]) -> tuple[int, int, list[tuple[bool, str]]]:
    monomial, coefficient = item
    return (-len(monomial), -abs(coefficient), [_key(a) for a in monomial])


def _term(monomial: Monomial, coefficient: int) -> Expr:
    out = monomial[0]
    for atom in monomial[1:]:
        out = binary("mul", out, atom)
    return out if coefficient == 1 else binary("mul", out, const(coefficient))


def expression(p: Polynomial) -> Expr:
    """The canonical expression of `p`: products first, large coefficients first, constant last."""
    fixed = p.get((), 0)
    terms = sorted((item for item in p.items() if item[0]), key=_order)
    positive = [item for item in terms if item[1] > 0]
    negative = [item for item in terms if item[1] < 0]
    out: Expr | None = None
    for monomial, coefficient in positive:
        term = _term(monomial, coefficient)
        out = term if out is None else binary("add", out, term)
    if out is None and (fixed > 0 or not negative):
        out, fixed = const(fixed), 0
    for monomial, coefficient in negative:
        if out is None:
            out = _term(monomial, coefficient)
        else:
            out = binary("sub", out, _term(monomial, -coefficient))
    assert out is not None  # a polynomial without terms gave its constant above
    if fixed:
        out = binary("add" if fixed > 0 else "sub", out, const(abs(fixed)))
    return out


def fits(p: Polynomial) -> bool:
    """Whether every coefficient is an i64 literal (its absolute value too)."""
    return all(-(2**63) < c < 2**63 for c in p.values())


def equal(a: Expr, b: Expr) -> bool:
    """Whether two expressions are equal for all values (i64 by normal form, others as nodes)."""
    if a is b:
        return True
    return a.dtype is int64 and b.dtype is int64 and polynomial(a) == polynomial(b)
