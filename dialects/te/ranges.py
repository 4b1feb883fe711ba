"""Ranges of i64 expressions, and proofs of comparisons from the ranges of their variables.

A variable named in the mapping of ranges is an *index*: its arithmetic is taken not to overflow.
Anything else (an element of a tensor, a scalar of the caller) is data that may hold any value and
wraps around; nothing is concluded from arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.records import dataclass

from .expr import Expr, add, binary, sub, var
from .polynomial import (
    ONE,
    Polynomial,
    as_constant,
    atoms,
    combine,
    constant,
    polynomial,
    product,
)

Bound = int | None


@dataclass(frozen=True, slots=True)
class Interval:
    """`lo <= x <= hi` (None: unbounded), and x is >= each of `below` and <= each of `above`."""

    lo: Bound = None
    hi: Bound = None
    below: tuple[Expr, ...] = ()
    above: tuple[Expr, ...] = ()


Ranges = Mapping[str, Interval]
SIZE = Interval(0, None)
"""The range of a symbolic size."""

_ANY: tuple[Bound, Bound] = (None, None)
_BIT = (0, 1)
_FUEL = 40


def _add(a: Bound, b: Bound) -> Bound:
    return None if a is None or b is None else a + b


def _scaled(pair: tuple[Bound, Bound], by: int) -> tuple[Bound, Bound]:
    low, high = (None if b is None else b * by for b in pair)
    return (low, high) if by >= 0 else (high, low)


def _times(a: tuple[Bound, Bound], b: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    (p, q), (r, s) = a, b
    if p is not None and q is not None and r is not None and s is not None:
        corners = (p * r, p * s, q * r, q * s)
        return min(corners), max(corners)
    if p is not None and p >= 0:
        low = _most(a, _scaled(b, -1))
        return None if low is None else -low, _most(a, b)
    if r is not None and r >= 0:
        return _times(b, a)
    if q is not None and q <= 0:
        return _scaled(_times(_scaled(a, -1), b), -1)
    if s is not None and s <= 0:
        return _times(b, a)
    return _ANY


def _most(a: tuple[Bound, Bound], b: tuple[Bound, Bound]) -> Bound:
    """The upper bound of a product whose first factor is not negative."""
    (least, most), high = a, b[1]
    if high is None:
        return None
    factor = least if high < 0 else most
    return None if factor is None else factor * high


def _lowest(a: Bound, b: Bound) -> Bound:
    """A lower bound of both."""
    return None if a is None or b is None else min(a, b)


def _highest(a: Bound, b: Bound) -> Bound:
    """An upper bound of both."""
    return None if a is None or b is None else max(a, b)


def _capped(a: Bound, b: Bound) -> Bound:
    """The tighter of two upper bounds."""
    return min(a, b) if a is not None and b is not None else b if a is None else a


def _raised(a: Bound, b: Bound) -> Bound:
    """The tighter of two lower bounds."""
    return max(a, b) if a is not None and b is not None else b if a is None else a


class Prover:
    """Answers questions about expressions under fixed ranges; remembers what it found.

    `facts` are conditions known to hold (guards around the place); comparisons of indices in them
    are used.
    """

    def __init__(self, ranges: Ranges, facts: Iterable[Expr] = ()) -> None:
        self.ranges = ranges
        self._order = {name: place for place, name in enumerate(ranges)}
        self._bounds: dict[Expr, tuple[Bound, Bound]] = {}
        self._tame: dict[Expr, bool] = {}
        self._facts = [p for fact in facts for p in self._nonnegatives(fact)]

    # --- numeric bounds

    def bounds(self, e: Expr) -> tuple[Bound, Bound]:
        """Inclusive numeric bounds of an i64 expression."""
        return self.polynomial_bounds(polynomial(e))

    def polynomial_bounds(self, p: Polynomial) -> tuple[Bound, Bound]:
        low: Bound = 0
        high: Bound = 0
        for monomial, coefficient in p.items():
            part: tuple[Bound, Bound] = (1, 1)
            for atom in monomial:
                part = _times(part, self._atom(atom))
            part = _scaled(part, coefficient)
            low, high = _add(low, part[0]), _add(high, part[1])
            if low is None and high is None:
                break
        return low, high

    def _atom(self, e: Expr) -> tuple[Bound, Bound]:
        found = self._bounds.get(e)
        if found is None:
            found = self._bounds[e] = self._atom_bounds(e)
        return found

    def _atom_bounds(self, e: Expr) -> tuple[Bound, Bound]:
        match e.op:
            case "var":
                known = self.ranges.get(str(e.value))
                return _ANY if known is None else (known.lo, known.hi)
            case "floordiv" | "mod":
                return self._division(e)
            case "min" | "max":
                (p, q), (r, s) = self.bounds(e.args[0]), self.bounds(e.args[1])
                if e.op == "min":
                    return _lowest(p, r), _capped(q, s)
                return _raised(p, r), _highest(q, s)
            case "select":
                (p, q), (r, s) = self.bounds(e.args[1]), self.bounds(e.args[2])
                return _lowest(p, r), _highest(q, s)
            case "cast":
                return self._converted(e.args[0])
            case "mul":
                return _times(self.bounds(e.args[0]), self.bounds(e.args[1]))
        return _ANY

    def _converted(self, source: Expr) -> tuple[Bound, Bound]:
        if source.dtype is bool_:
            return _BIT
        if source.dtype.is_integral and source.dtype is not int64:
            bits = source.dtype.bits
            return (
                (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
                if source.dtype.signed
                else (0, 2**bits - 1)
            )
        return _ANY

    def _division(self, e: Expr) -> tuple[Bound, Bound]:
        low, high = self.bounds(e.args[0])
        least, most = self.bounds(e.args[1])
        if least is None or least <= 0:
            return _ANY
        if e.op == "mod":
            top = None if most is None else most - 1
            if low is not None and low >= 0:
                return 0, _capped(top, high)
            return 0, top
        down, up = low, high
        if low is not None:
            down = low // least if low < 0 else 0 if most is None else low // most
        if high is not None:
            up = high // least if high >= 0 else -1 if most is None else high // most
        return down, up

    # --- which arithmetic cannot wrap around

    def tame(self, e: Expr) -> bool:
        """Whether arithmetic on `e` is index arithmetic (cannot wrap around)."""
        found = self._tame.get(e)
        if found is None:
            found = self._tame[e] = self._is_tame(e)
        return found

    def _is_tame(self, e: Expr) -> bool:
        match e.op:
            case "const":
                return True
            case "var":
                return e.value in self.ranges
            case "mod" if e.args[1].is_const:
                return int(str(e.args[1].value)) > 0
            case "min" | "max":
                a, b = map(self.tame, e.args)
                if a and b:
                    return True
                other = self.bounds(e.args[0] if b else e.args[1])[0 if e.op == "min" else 1]
                return (a or b) and other is not None
            case "select":
                return self.tame(e.args[1]) and self.tame(e.args[2])
            case "cast":
                return self._converted(e.args[0]) != _ANY
            case "add" | "sub" | "mul" | "neg" | "floordiv" | "mod":
                return all(map(self.tame, e.args))
        return False

    # --- proofs

    def _nonnegatives(self, fact: Expr) -> Iterator[Polynomial]:
        if fact.op == "and":
            for part in fact.args:
                yield from self._nonnegatives(part)
        elif fact.op in ("lt", "le", "gt", "ge", "eq") and fact.args[0].dtype is int64:
            a, b = fact.args if fact.op in ("lt", "le", "eq") else reversed(fact.args)
            if b.op == "min" and fact.op != "eq":  # less than the least is less than each
                strict = "lt" if fact.op in ("lt", "gt") else "le"
                for part in b.args:
                    yield from self._nonnegatives(binary(strict, a, part))
                return
            if not (self.tame(a) and self.tame(b)):
                return
            gap = combine(polynomial(b), polynomial(a), -1)
            yield combine(gap, ONE, -1) if fact.op in ("lt", "gt") else gap
            if fact.op == "eq":
                yield combine({}, gap, -1)

    def nonnegative(self, p: Polynomial) -> bool:
        """Whether `p >= 0` is certain (`p` made of indices)."""
        by_fact = any(self._by_fact(p, fact, [_FUEL]) for fact in self._facts)
        return by_fact or self._nonnegative(p, [_FUEL])

    def _nonnegative(self, p: Polynomial, fuel: list[int]) -> bool:
        low, high = self.polynomial_bounds(p)
        if low is not None and low >= 0:
            return True
        if high is not None and high < 0:
            return False
        fuel[0] -= 1
        if fuel[0] <= 0:
            return False
        for atom in self._by_depth(p):
            slope, rest = _linear(p, atom)
            if slope is None:
                continue
            least, most = self.polynomial_bounds(slope)
            if least is not None and least >= 0:
                choices = self._bounds_of(atom, slope, rest, upper=False)
            elif most is not None and most <= 0:
                choices = self._bounds_of(atom, slope, rest, upper=True)
            else:
                continue
            tried = False
            if least is not None and least >= 0 and self._is_size(atom, fuel):
                choices = chain(choices, [{}])
            for bound in choices:
                tried = True
                if self._nonnegative(combine(rest, bound), fuel):
                    return True
            if tried:
                break
        return any(self._by_fact(p, fact, fuel) for fact in self._facts)

    def _is_size(self, atom: Expr, fuel: list[int]) -> bool:
        """Whether a compound atom whose least number is unknown or negative is 0 or more because
        its parts are."""
        low = self._atom(atom)[0]
        if atom.op not in ("min", "floordiv") or (low is not None and low >= 0):
            return False
        if atom.op == "floordiv" and (self.bounds(atom.args[1])[0] or 0) <= 0:
            return False
        parts = atom.args if atom.op == "min" else atom.args[:1]
        return all(self._nonnegative(polynomial(part), fuel) for part in parts)

    def _by_fact(self, p: Polynomial, fact: Polynomial, fuel: list[int]) -> bool:
        left = combine(p, fact, -1)
        if len(left) >= len(p) + len(fact):
            return False
        facts, self._facts = self._facts, []
        try:
            return self._nonnegative(left, fuel)
        finally:
            self._facts = facts

    def _by_depth(self, p: Polynomial) -> list[Expr]:
        """Compound atoms first (rests of divisions before their quotients), then variables, the
        last entered (innermost) loop first."""
        first = -len(self._order)
        return sorted(
            atoms(p),
            key=lambda a: (
                -self._order.get(str(a.value), -1) if a.op == "var" else first - (a.op == "mod")
            ),
        )

    def _bounds_of(
        self, atom: Expr, slope: Polynomial, rest: Polynomial, upper: bool
    ) -> Iterator[Polynomial]:
        """Polynomials that bound `slope * atom` from below, where slope has one sign; `rest` is
        what it is added to."""
        match atom.op:
            case "var":
                known = self.ranges.get(str(atom.value))
                if known is not None:
                    for e in known.above if upper else known.below:
                        yield product(slope, polynomial(e))
            case "min" | "max" if upper == (atom.op == "min"):
                for e in atom.args:
                    yield product(slope, polynomial(e))
            case "mod" if (self.bounds(atom.args[1])[0] or 0) > 0:
                quotient = binary("floordiv", *atom.args)
                if quotient in atoms(rest):  # x % n is what x // n * n lacks of x
                    whole = product(polynomial(quotient), polynomial(atom.args[1]))
                    yield product(slope, combine(polynomial(atom.args[0]), whole, -1))
                if upper:
                    yield product(slope, combine(polynomial(atom.args[1]), ONE, -1))
            case "floordiv" if (step := as_constant(polynomial(atom.args[1]))) and step > 0:
                if all(c % step == 0 for c in slope.values()):
                    part = {m: c // step for m, c in slope.items()}
                    top = polynomial(atom.args[0])
                    yield product(part, top if upper else combine(top, constant(step - 1), -1))
                for bound in self._divided_bounds(atom.args[0], step, upper):
                    yield product(slope, bound)
        known_bound = self._atom(atom)[1 if upper else 0]
        if known_bound is not None:
            yield product(slope, constant(known_bound))

    def _divided_bounds(self, x: Expr, step: int, upper: bool) -> Iterator[Polynomial]:
        """Bounds of `x // step`, of `x` with the bound of one variable that leaves multiples: if
        `i <= 2 * W - 1`, then `i // 2 <= W - 1`."""
        top = polynomial(x)
        for atom in atoms(top):
            slope, rest = _linear(top, atom)
            if atom.op != "var" or slope is None or (step_of := as_constant(slope)) is None:
                continue
            known = self.ranges.get(str(atom.value))
            if known is None:
                continue
            for e in known.above if (step_of > 0) == upper else known.below:
                bound = combine(rest, product(slope, polynomial(e)))
                if all(c % step == 0 for m, c in bound.items() if m):
                    yield {m: c // step for m, c in bound.items() if c // step}

    def decide(self, condition: Expr) -> bool | None:
        """The value of a bool expression where the ranges settle it, else None."""
        match condition.op:
            case "const":
                return bool(condition.value)
            case "not":
                inner = self.decide(condition.args[0])
                return None if inner is None else not inner
            case "and" | "or" if condition.dtype is bool_:
                short = condition.op == "or"
                a, b = self.decide(condition.args[0]), self.decide(condition.args[1])
                if a is short or b is short:
                    return short
                return (not short) if a is b is (not short) else None
            case "lt" | "le" | "gt" | "ge" | "eq" | "ne" if condition.args[0].dtype is int64:
                return self._compare(condition.op, *condition.args)
        return None

    def _compare(self, op: str, a: Expr, b: Expr) -> bool | None:
        gap = combine(polynomial(b), polynomial(a), -1)
        if op in ("eq", "ne"):
            if (value := as_constant(gap)) is not None:
                return (value == 0) == (op == "eq")
            if not (self.tame(a) and self.tame(b)):
                return None
            apart = self.positive(gap) or self.positive(combine({}, gap, -1))
            return (op == "ne") if apart else None
        if not (self.tame(a) and self.tame(b)):
            return op in ("le", "ge") if a is b else None
        if op in ("gt", "ge"):
            gap, op = combine({}, gap, -1), {"gt": "lt", "ge": "le"}[op]
        if op == "lt":
            gap = combine(gap, ONE, -1)
        if self.nonnegative(gap):
            return True
        return False if self.positive(combine({}, gap, -1)) else None

    def positive(self, p: Polynomial) -> bool:
        return self.nonnegative(combine(p, ONE, -1))


def _linear(p: Polynomial, atom: Expr) -> tuple[Polynomial | None, Polynomial]:
    """`p` as slope * atom + rest; slope None where the atom occurs in a power."""
    slope: Polynomial = {}
    rest: Polynomial = {}
    for monomial, coefficient in p.items():
        if atom not in monomial:
            rest[monomial] = coefficient
            continue
        place = monomial.index(atom)
        factor = monomial[:place] + monomial[place + 1 :]
        if atom in factor:
            return None, p
        slope[factor] = coefficient
    return slope, rest


def prove(condition: Expr, ranges: Ranges, facts: Iterable[Expr] = ()) -> bool | None:
    """The value of a bool expression where ranges (and facts) settle it, else None."""
    return Prover(ranges, facts).decide(condition)


def loop_interval(start: Expr, extent: Expr, ranges: Ranges) -> Interval:
    """The range of a loop variable inside the loop `start .. start + extent`."""
    prover = Prover(ranges)
    low, _ = prover.bounds(start)
    last = sub(add(start, extent), 1)
    _, high = prover.bounds(last)
    below = () if start.is_const else (start,)
    if last.is_const:
        return Interval(low, high, below)
    tops: tuple[Expr, ...] = (last,)
    if extent.op == "min":
        tops = tuple(sub(add(start, part), 1) for part in extent.args)
        for top in tops:
            high = _capped(high, prover.bounds(top)[1])
    return Interval(low, high, below, tuple(t for t in tops if not t.is_const))


def inside_loop(
    name: str, start: Expr, extent: Expr, ranges: Ranges, chunk: str | None = None
) -> dict[str, Interval]:
    """The ranges that hold in a loop's body: its variable's, that of the number of iterations it
    takes at once, and a size it runs over is >= 1."""
    inner = dict(ranges)
    if extent.op == "var" and (size := inner.get(str(extent.value))) is not None:
        inner[str(extent.value)] = Interval(max(size.lo or 0, 1), size.hi, size.below, size.above)
    inner[name] = loop_interval(start, extent, inner)
    if chunk is not None:
        left = sub(add(start, extent), var(name))
        most = int(str(extent)) if extent.is_const else None
        inner[chunk] = Interval(1, most, (), (left,))
    return inner
