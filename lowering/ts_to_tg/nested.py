"""Nested tensors, as PyTorch's transformer encoder makes them for texts of several lengths.

As in eager mode (`eager/kernels/nested.py`) one of entries (t_b, E) is its padded form (B, T, E)
and which rows there are. Whether an encoder makes one its mask decides when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorscript.base.quantization import ASKED
from tensorscript.dialects.te.expr import binary

from .attention import encoder_layer
from .builder import Builder, Row, Rows
from .elements import as_expr
from .sizes import same_size
from .values import NestedTensor, Tensor, Value
from .view import unsqueeze


def has_nested(values: Sequence[Value]) -> bool:
    """Whether there is a nested tensor among the values."""
    return any(isinstance(v, NestedTensor) for v in values)


def call_nested(b: Builder, name: str, arguments: list[Value], rows: Mapping[str, Row]) -> Value:
    """The result of an operator of which an argument is nested.

    Raises:
        NotCompilable: it has no native form there.
    """
    x, *rest = arguments
    if isinstance(x, NestedTensor) and not has_nested(rest):
        if (own := _OWN.get(name.partition(".")[0])) is not None:
            return own(b, x, *rest)
        if (base := name.partition(".")[0]) in ASKED and (row := rows.get(name) or rows.get(base)):
            return row(b, x.padded, *rest)
    return b.cannot("has no native form on nested tensors")


def _left_aligned(b: Builder, x: Tensor, shown: Tensor) -> Value:
    """Whether each entry's rows stand before those that are hidden."""
    if x.rank != 3 or shown.rank != 2 or not all(map(same_size, x.shape[:2], shown.shape)):
        b.error("Input tensor should be padded and the mask (N, L) should match it")
    lengths = b.call("aten::sum.dim_IntList", shown, [1], True)
    places = b.call("aten::arange", shown.shape[1])
    same = b.call("aten::eq", b.apply("aten::lt", places, lengths), shown)
    return binary("ne", as_expr(b.item(b.call("aten::all", same))), 0)


def _from_mask(b: Builder, x: Tensor, shown: Tensor, check: Value = True, *_: Value) -> Value:
    if check:
        return b.cannot("a mask of a nested tensor that has to be checked")
    return NestedTensor(b.copied(x), shown)


def _encoder_layer(b: Builder, x: NestedTensor, *rest: Value) -> Value:
    shown = unsqueeze(b, unsqueeze(b, x.shown, 1), 1)
    return NestedTensor(encoder_layer(b, x.padded, *rest, shown=shown), x.shown)


def _padded(b: Builder, x: NestedTensor, padding: Value, size: Value = None, *_: Value) -> Value:
    held = x.padded
    if size is None or not all(map(same_size, held.shape, map(as_expr, size))):
        return b.cannot("padding of a nested tensor to another size")
    kept = unsqueeze(b, x.shown, 2)
    return b.apply("aten::where", kept, held, b.full((), padding, held.dtype))


_OWN: dict[str, Row] = {
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
    "aten::to_padded_tensor": _padded,
}

NESTED: Rows = {
    "aten::_nested_tensor_from_mask": _from_mask,
    "aten::_nested_tensor_from_mask_left_aligned": _left_aligned,
}
"""What ordinary tensors are handed to."""
