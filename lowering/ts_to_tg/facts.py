"""What is known of an operator's arguments before the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr

from .values import ComplexTensor, Tensor, Value


@dataclass(frozen=True)
class TensorFacts:
    """Attributes:
    shape: None where a size is named or found.
    """

    dtype: DType
    rank: int
    shape: tuple[int, ...] | None


@dataclass(frozen=True)
class RunTimeNumber:
    """A number that only the running program knows."""


Refuse = Callable[[str, list[Any]], None]
"""Is given an overload and its arguments in schema order, tensors as TensorFacts, numbers that are
not known as RunTimeNumber; raises OperatorError for those that the operator does not take."""


def facts_of(values: Sequence[Value]) -> list[Any]:
    """The arguments as Refuse takes them."""
    return [_fact(v) for v in values]


def _fact(v: Value) -> Any:
    if isinstance(v, Tensor | ComplexTensor):
        return _facts(v)
    if isinstance(v, list | tuple):
        return facts_of(v)
    if isinstance(v, Expr):
        return v.value if v.is_const else RunTimeNumber()
    return v


def _facts(x: Tensor | ComplexTensor) -> TensorFacts:
    known = all(n.is_const for n in x.shape)
    return TensorFacts(x.dtype, len(x.shape), tuple(map(int, x.shape)) if known else None)
