"""What numbers a distribution takes: `check` says which elements a constraint holds for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import namespace as ts


@dataclass(frozen=True)
class Constraint:
    """A condition on values.

    Attributes:
        text: as it is shown in errors.
        check: values (..., *event) to bools (...), True where the condition holds.
        event_dim: how many dimensions are one value.
        is_discrete: whether the values are whole numbers.
    """

    text: str
    check: Callable[[Any], Any] = field(compare=False)
    event_dim: int = 0
    is_discrete: bool = False

    def __repr__(self) -> str:
        return self.text


def _is_lower_cholesky(value: Any) -> Any:
    is_lower = (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]
    positive = (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]
    return is_lower & positive


def _is_positive_definite(value: Any) -> Any:
    symmetric = ts.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)
    return symmetric & (ts.linalg_cholesky_ex(value)[1] == 0)


def independent(base: Constraint, dims: int) -> Constraint:
    """The constraint of each element of a value of `dims` dimensions more."""

    def check(value: Any) -> Any:
        found = base.check(value)
        return found.reshape((*found.shape[: found.dim() - dims], -1)).all(-1)

    text = f"IndependentConstraint({base}, {dims})"
    return Constraint(text, check, base.event_dim + dims, base.is_discrete)


def greater_than(bound: Any) -> Constraint:
    return Constraint(f"GreaterThan(lower_bound={bound})", lambda v: bound < v)


def less_than(bound: Any) -> Constraint:
    return Constraint(f"LessThan(upper_bound={bound})", lambda v: v < bound)


def interval(low: Any, high: Any) -> Constraint:
    text = f"Interval(lower_bound={low}, upper_bound={high})"
    return Constraint(text, lambda v: (low <= v) & (v <= high))


def integer_interval(low: Any, high: Any) -> Constraint:
    text = f"IntegerInterval(lower_bound={low}, upper_bound={high})"
    return Constraint(text, lambda v: (v % 1 == 0) & (low <= v) & (v <= high), is_discrete=True)


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
