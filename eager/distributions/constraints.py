"""What numbers a distribution takes: `check` says which elements a constraint holds for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from tensorscript.base.dtypes import bool_
from tensorscript.base.records import dataclass

from .. import namespace as ts


@dataclass(frozen=True)
class Constraint:
    """A condition on values.

    Attributes:
        text: as it is shown in errors, with places for `bounds`.
        check: values (..., *event) to bools (...), True where the condition holds.
        event_dim: how many dimensions are one value.
        is_discrete: whether the values are whole numbers.
        bounds: what the text names; read only where it is shown, as a trace warns of that.
    """

    text: str
    check: Callable[[Any], Any] = field(compare=False)
    event_dim: int = 0
    is_discrete: bool = False
    bounds: tuple[Any, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return self.text.format(*self.bounds)


def _is_lower_cholesky(value: Any) -> Any:
    is_lower = (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]
    positive = (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]
    return is_lower & positive


def _is_positive_definite(value: Any) -> Any:
    is_square = value.shape[-2] == value.shape[-1]
    square = ts.full(value.shape[:-2], is_square, dtype=bool_, device=value.device)
    if not square.all():
        return square
    symmetric = ts.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)
    return ts.linalg_cholesky_ex(value)[1].eq(0) if symmetric.all() else symmetric


def independent(base: Constraint, dims: int) -> Constraint:
    """The constraint of each element of a value of `dims` dimensions more."""

    def check(value: Any) -> Any:
        found = base.check(value)
        return found.reshape((*found.shape[: found.dim() - dims], -1)).all(-1)

    text, rank = "IndependentConstraint({}, {})", base.event_dim + dims
    return Constraint(text, check, rank, base.is_discrete, (base, dims))


def greater_than(bound: Any) -> Constraint:
    return Constraint("GreaterThan(lower_bound={})", lambda v: bound < v, bounds=(bound,))


def less_than(bound: Any) -> Constraint:
    return Constraint("LessThan(upper_bound={})", lambda v: v < bound, bounds=(bound,))


def interval(low: Any, high: Any) -> Constraint:
    text = "Interval(lower_bound={}, upper_bound={})"
    return Constraint(text, lambda v: (low <= v) & (v <= high), bounds=(low, high))


def integer_interval(low: Any, high: Any) -> Constraint:
    text = "IntegerInterval(lower_bound={}, upper_bound={})"

    def check(v: Any) -> Any:
        return (v % 1 == 0) & (low <= v) & (v <= high)

    return Constraint(text, check, is_discrete=True, bounds=(low, high))


real = Constraint("Real()", lambda v: v == v)
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda v: v >= 0)
nonnegative_integer = Constraint(
    "IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), is_discrete=True
)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), is_discrete=True)
simplex = Constraint(
    "Simplex()", lambda v: ts.all(v >= 0, dim=-1) & ((v.sum(-1) - 1).abs() < 1e-6), 1
)
one_hot = Constraint("OneHot()", lambda v: ((v == 0) | (v == 1)).all(-1) & v.sum(-1).eq(1), 1, True)
lower_cholesky = Constraint("LowerCholesky()", _is_lower_cholesky, 2)
positive_definite = Constraint("PositiveDefinite()", _is_positive_definite, 2)
