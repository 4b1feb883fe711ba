"""Tensors whose shape is not the same on all ways through a branch or loop: how they travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.types import tensor

from .builder import Builder
from .list_actions import perform
from .sizes import same_size
from .values import Tensor, Value


@dataclass(frozen=True, eq=False)
class Boxed:
    """A tensor that travels as a list of its numbers, because its shape is not the same on all
    ways."""

    tensor: Tensor


def boxed_leaves(b: Builder, x: Tensor, free: Sequence[int]) -> list[Value]:
    """The leaves of a tensor whose sizes `free` differ between ways."""
    return [Boxed(x), *(b.unsized(x.shape[d]) for d in free)]


def unboxed(b: Builder, like: Tensor, free: Sequence[int], leaves: Iterator[SSAValue]) -> Tensor:
    """The tensor that such leaves hold; the other sizes are those of `like`."""
    box = next(leaves)
    shape = list(like.shape)
    for d in free:
        shape[d] = b.size(b.scalar_of(next(leaves)))
    return b.fresh(perform(b, "unbox", [box], tensor(like.dtype, tuple(shape))))


def visible(b: Builder, e: Expr) -> bool:
    """The sizes that an expression names are known where the builder stands."""
    unknown = e.free & b.symbols.keys()
    return not unknown or unknown <= {op.symbol for op in b.scopes.ops() if isinstance(op, SizeOp)}


def differing(b: Builder, left: Tensor, right: Tensor) -> list[int] | None:
    """The dimensions in which two tensors differ, or that only one way knows; None if their dtypes
    or ranks differ."""
    if left.dtype is not right.dtype or left.rank != right.rank:
        return None
    pairs = zip(left.shape, right.shape, strict=True)
    return [d for d, (p, q) in enumerate(pairs) if not same_size(p, q) or not visible(b, p)]
