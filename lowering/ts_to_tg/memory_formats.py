"""Rows that ask for the order of elements in memory, or for another one.

Native results lie row by row whatever the program asks for; what it sees are the strides, which are
those that PyTorch's tensors have. What PyTorch computes from tensors in other orders keeps the
order or does not: what is asked of it then is left to the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tensorscript.base.schema import schema
from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr

from .builder import Builder, Rows
from .creation import CREATION
from .dims import dimension
from .sizes import same_size
from .values import Tensor, Value
from .view import is_contiguous, require_known_order, strides_of

_ORDERS = {2: (0, 2, 3, 1), 3: (0, 2, 3, 4, 1)}
"""The dimensions from the slowest to the fastest, by the number of a channels-last format."""

_NAMES = {2: "channels_last", 3: "channels_last_3d"}


def _strides(x: Tensor, wanted: int) -> tuple[Expr, ...] | None:
    """The strides of a channels-last format; None for tensors of other ranks."""
    order = _ORDERS[wanted]
    if len(order) != x.rank:
        return None
    steps = contiguous_strides([x.shape[d] for d in order])
    return tuple(steps[order.index(d)] for d in range(x.rank))


def _has(x: Tensor, strides: tuple[Expr, ...]) -> bool:
    """Whether a tensor lies that way; steps over one element may be any."""
    found = zip(x.shape, strides_of(x), strides, strict=True)
    return all(extent.is_int(1) or same_size(have, want) for extent, have, want in found)


def _known_strides(b: Builder, x: Tensor) -> tuple[Expr, ...]:
    """The strides that PyTorch's tensor has."""
    require_known_order(b, x)
    return strides_of(x)


def _stride(b: Builder, x: Tensor, dim: Value = None, *_: Value) -> Value:
    strides = list(_known_strides(b, x))
    return strides if dim is None else strides[dimension(b, dim, x.rank)]


def _is_contiguous(b: Builder, x: Tensor, wanted: Value = 0) -> bool:
    _known_strides(b, x)
    if wanted not in _ORDERS:
        return is_contiguous(x)
    strides = _strides(x, cast(int, wanted))
    return strides is not None and _has(x, strides)


def _laid_out(b: Builder, x: Tensor, wanted: int) -> Tensor:
    """A copy that the program sees in a channels-last format."""
    if (strides := _strides(x, wanted)) is None:
        rank = len(_ORDERS[wanted])
        b.error(f"required rank {rank} tensor to use {_NAMES[wanted]} format")
    made = b.copied(x)
    made.storage.strides = strides
    return Tensor(made.storage, made.shape, None, strides)


def _in_format(b: Builder, x: Tensor, wanted: Value, has: Callable[..., bool]) -> Tensor:
    """`x` as a program sees it in a format; itself if it `has` those strides, or none is asked."""
    if wanted not in _ORDERS:
        return x
    strides = _strides(x, cast(int, wanted))
    return x if strides and has(x, strides) else _laid_out(b, x, cast(int, wanted))


def _contiguous(b: Builder, x: Tensor, wanted: Value = 0) -> Tensor:
    if wanted in _ORDERS:
        return _in_format(b, x, wanted, _has)
    if is_contiguous(x):
        return x
    made = b.copied(x)
    return Tensor(made.storage, made.shape, None, contiguous_strides(made.shape))


def _exactly(x: Tensor, strides: tuple[Expr, ...]) -> bool:
    return x.strides is not None and all(map(same_size, x.strides, strides))


def _converted(name: str) -> Callable[..., Tensor]:
    """A row of `to`: behind its flags stands the format."""
    row = CREATION[name]

    def run(b: Builder, x: Tensor, *arguments: Value) -> Tensor:
        made = cast(Tensor, row(b, x, *arguments))
        *_, flag, last = (None, None, *arguments)
        return _in_format(b, made, last if isinstance(flag, bool) else None, _exactly)

    return run


def _made(name: str) -> Callable[..., Tensor]:
    """A row whose last argument is the format of the new tensor."""
    row = CREATION[name]
    places = [argument.name for argument in schema(name).arguments]
    at = places.index("memory_format")

    def run(b: Builder, *arguments: Value) -> Tensor:
        made = cast(Tensor, row(b, *arguments))
        wanted = arguments[at] if at < len(arguments) else None
        return _in_format(b, made, wanted, lambda x, strides: False)

    return run


_MAKING = ("clone", "zeros_like", "ones_like", "empty_like", "full_like")

MEMORY_FORMAT: Rows = {
    "aten::stride": _stride,
    "aten::is_contiguous": _is_contiguous,
    "aten::contiguous": _contiguous,
    **{name: _converted(name) for name in ("aten::to", "aten::to.dtype_layout", "aten::_to_copy")},
    **{f"aten::{name}": _made(f"aten::{name}") for name in _MAKING},
}
