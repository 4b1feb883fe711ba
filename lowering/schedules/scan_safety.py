"""What lets iterations of a counting loop read before the ones ahead of them have stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, conjuncts, const, sub, var
from tensorscript.dialects.te.ops import StoreOp
from tensorscript.dialects.te.polynomial import combine, polynomial
from tensorscript.dialects.te.rewriting import loads, substitute

from ..te.affine import coefficient, known


def same(a: Expr, b: Expr) -> bool:
    """Whether two indices are certainly equal."""
    return not combine(polynomial(a), polynomial(b), -1)


@dataclass(frozen=True)
class Read:
    """An element that an iteration reads after it has made `stores` of its stores."""

    element: Expr
    stores: int

    @property
    def buffer(self) -> str:
        return str(self.element.value)


def facts_apart(
    read: Read, stores: Sequence[StoreOp], counter: str, varying: set[str]
) -> list[Expr] | None:
    """What must hold for a read to give the same before the stores of all iterations that run in
    one vector; None if nothing makes it so. It may read what a later iteration stores, or this one
    does later, if there is no other store that the vector makes before. `varying`: the names that
    are not the same in all iterations."""
    found: list[Expr] = []
    for store in stores:
        if store.buffer != read.buffer:
            continue
        ahead = _iterations_ahead(read.element.args, store.indices, counter)
        alone = len(stores) == 1
        if ahead is not None and alone and (ahead > 0 or (ahead == 0 and not read.stores)):
            continue
        fact = _rows_differ(read.element.args, store.indices, varying)
        if fact is None:
            return None
        found.append(fact)
    return found


def _iterations_ahead(read: tuple[Expr, ...], stored: tuple[Expr, ...], counter: str) -> int | None:
    """How many iterations later the element is stored; None where that is not known."""
    found: int | None = None
    for i, k in zip(read, stored, strict=True):
        slopes = [coefficient(e, counter) for e in (i, k)]
        gap, slope = _gap(i, k), None if slopes[1] is None else known(slopes[1])
        if gap is None or slope is None or slopes[0] is not slopes[1]:
            return None
        if slope == 0 and gap == 0:
            continue
        if slope == 0 or gap % slope or found not in (None, gap // slope):
            return None
        found = gap // slope
    return found


def _gap(i: Expr, k: Expr) -> int | None:
    """`i - k` where that is a number."""
    p = combine(polynomial(i), polynomial(k), -1)
    return p.get((), 0) if not p.keys() - {()} else None


def _rows_differ(
    read: tuple[Expr, ...], stored: tuple[Expr, ...], varying: set[str]
) -> Expr | None:
    """That the two never meet: an index that all iterations share is another one."""
    asked: Expr | None = None
    for i, k in zip(read, stored, strict=True):
        if not varying.isdisjoint(i.free | k.free) or loads(i) or loads(k) or same(i, k):
            continue
        if _gap(i, k) is not None:
            return const(True, bool_)
        asked = binary("ne", i, k)
    return asked


@dataclass(frozen=True)
class Facts:
    """Conditions for a vector of iterations: before the first vector, and before each."""

    once: tuple[Expr, ...]
    each: tuple[Expr, ...]


def throughout(conditions: Iterable[Expr], counter: str, lanes: int) -> Facts | None:
    """What must hold for each condition to hold in `lanes` iterations; None where that is not
    known without a look at all of them. Comparisons of what grows steadily hold in all if they
    hold in the first and in the last one."""
    once: dict[Expr, None] = {}
    each: dict[Expr, None] = {}
    last = {counter: var(counter) + (lanes - 1)}
    for condition in (c for whole in conditions for c in conjuncts(whole)):
        if loads(condition):
            return None
        if counter not in condition.free:
            once[condition] = None
            continue
        if (growth := _growth(condition, counter)) is None:
            return None
        if growth >= 0:
            once[condition] = None
        else:
            each[substitute(condition, last)] = None
    return Facts(tuple(once), tuple(each))


def _growth(condition: Expr, counter: str) -> int | None:
    """How much more a comparison holds as the counter grows, less if negative; None: unknown."""
    if condition.op not in ("lt", "le", "gt", "ge") or condition.args[0].dtype is not int64:
        return None
    less, greater = condition.args if condition.op in ("lt", "le") else condition.args[::-1]
    slope = coefficient(sub(greater, less), counter)
    return None if slope is None else known(slope)
