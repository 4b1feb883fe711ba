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


Refuse = Callable[[str, list[Any]], None]
"""Is given an overload and its arguments in schema order, tensors as TensorFacts; raises
OperatorError for those that the operator does not take."""


def facts_of(values: Sequence[Value]) -> list[Any] | None:
    """The arguments as Refuse takes them; None if a number is known only at run time."""
    found: list[Any] = []
    for v in values:
        if isinstance(v, Tensor | ComplexTensor):
            found.append(_facts(v))
        elif isinstance(v, list | tuple):
            parts = facts_of(v)
            if parts is None:
                return None
            found.append(parts)
        elif isinstance(v, Expr):
            return None
        else:
            found.append(v)
    return found


def _facts(x: Tensor | ComplexTensor) -> TensorFacts:
    known = all(n.is_const for n in x.shape)
    return TensorFacts(x.dtype, len(x.shape), tuple(map(int, x.shape)) if known else None)
