"""What follows a convolution or linear layer is folded into its constant weights.

    %c = aten::conv2d(%x, %w, %b, ...)
    %n = aten::batch_norm(%c, %g, %h, %mean, %var, %false, ...)
      -->
    %n = aten::conv2d(%x, %w_fused_bn, %b_fused_bn, ...)

Folded are batch norms with constant statistics (when freezing, also those that were traced in
training mode, as TorchScript does), and additions, subtractions, products and
quotients with a constant number or one number a channel; into linear layers, batch norms of one
number a feature. The result of the layer must have no other reader than of its shape and dtype.
Numerics change by roundings. As in TorchScript, the features of a linear layer are taken to be
dimension 1 where a batch norm follows: its input is a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.types import TENSOR
from tensorscript.dialects.ts.value_names import hint_of, set_hint
from tensorscript.dialects.walks import walk_ops

from .constant_types import constant_type
from .fold_constants import is_constant

Array = NDArray[np.floating]

_TRANSPOSABLE = ("aten::_convolution", "aten::_convolution.deprecated", "aten::convolution")
"""Layers that are transposed if operand 6 says so; then the channels do not come first."""

_LAYERS = frozenset({
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::linear", "aten::conv1d.padding",
    "aten::conv2d.padding", "aten::conv3d.padding", *_TRANSPOSABLE,
})  # fmt: skip
"""The layers; the channels of the result come first in their weights."""


@dataclass(frozen=True)
class _Layer:
    """A layer with constant weights whose result has one reader."""

    op: ts.OperatorOp
    weight: Array
    bias: Array
    dtype: DType

    @property
    def rank(self) -> int:
        """Of the result; of a linear layer it is not known."""
        return 0 if self.op.schema.data == "aten::linear" else self.weight.ndim

    @property
    def kind(self) -> Layers:
        """Which kind of layer it is."""
        return Layers.CONVOLUTIONS if self.rank else Layers.LINEAR

    def per_channel(self, factor: Array) -> Array:
        """A number a channel, shaped to multiply the weights."""
        return factor.reshape(-1, *[1] * (self.weight.ndim - 1))


class Layers(Flag):
    """Kinds of layers that something may be folded into."""

    CONVOLUTIONS = auto()
    LINEAR = auto()


class Readers(Flag):
    """Kinds of operators that may be folded into the layer before them."""

    NORMS = auto()
    SUMS = auto()
    PRODUCTS = auto()


ANY_LAYER, ANY_READER = ~Layers(0), ~Readers(0)


def fold_into_layers(
    function: ts.FuncOp,
    for_native: bool = True,
    readers: Readers = ANY_READER,
    layers: Layers = ANY_LAYER,
) -> bool:
    """Fold what follows layers; whether anything was folded.

    Args:
        for_native: also sums and products behind linear layers, and behind a convolution whose
            shape is asked for elsewhere; else what PyTorch's freezing folds.
        readers: what is folded.
        layers: what it is folded into.
    """
    changed = False
    for op in list(walk_ops(function)):
        if not isinstance(op, ts.OperatorOp) or op.parent is None:
            continue
        kind, fold = _FOLDS.get(op.schema.data, (Readers(0), None))
        layer = _layer(op.arguments[0], for_native) if kind & readers else None
        if fold is None or layer is None or not layer.kind & layers:
            continue
        if not for_native and not layer.rank and fold is not _batch_norm:
            continue
        if for_native and fold is _batch_norm and not is_constant(op.arguments[5], False):
            continue
        found = fold(op, layer)
        if found is not None:
            _rewrite(op, layer, *found, _SUFFIX.get(op.schema.data, "_fused"))
            changed = True
    return changed


def _layer(value: SSAValue, shape_may_be_read: bool) -> _Layer | None:
    op = value.owner
    if not isinstance(op, ts.OperatorOp) or op.schema.data not in _LAYERS:
        return None
    may_read = shape_may_be_read or op.schema.data == "aten::linear"
    if sum(not (may_read and _reads_shape(use.operation)) for use in value.uses) != 1:
        return None
    if op.schema.data in _TRANSPOSABLE and not is_constant(op.arguments[6], False):
        return None
    weight, bias = _tensor(op.arguments[1]), _tensor(op.arguments[2])
    if weight is None or weight.array.dtype.kind != "f":
        return None
    if bias is None and not is_constant(op.arguments[2], None):
        return None
    given = np.zeros(weight.array.shape[0], weight.array.dtype) if bias is None else bias.array
    return _Layer(op, weight.array, given, weight.dtype)


def _reads_shape(op: Operation) -> bool:
    return isinstance(op, ts.OperatorOp) and op.node_kind in _SHAPE


_SHAPE = frozenset({
    "aten::dim", "aten::size", "aten::numel", "aten::is_floating_point", "prim::dtype",
    "prim::device", "prim::shape", "prim::requires_grad",
})  # fmt: skip
"""What a fold changes nothing of."""


def _tensor(value: SSAValue) -> TensorLiteral | None:
    owner = value.owner
    held = owner.value.data if isinstance(owner, ts.ConstantOp) else None
    return held if isinstance(held, TensorLiteral) else None


Folded = tuple[Array, Array]
"""The new weights and bias."""


def _batch_norm(op: ts.OperatorOp, layer: _Layer) -> Folded | None:
    _, scale, shift, mean, var, _, _, eps, *_ = op.arguments
    mean_of, var_of = _tensor(mean), _tensor(var)
    eps_of = eps.owner.value.data if isinstance(eps.owner, ts.ConstantOp) else None
    if mean_of is None or var_of is None or not isinstance(eps_of, float):
        return None
    by, plus = _tensor(scale), _tensor(shift)
    if (by is None and not is_constant(scale, None)) or (
        plus is None and not is_constant(shift, None)
    ):
        return None
    features, channels = mean_of.array.size, layer.weight.shape[0]
    if features != channels and not (features == 1 and layer.kind is Layers.LINEAR):
        return None
    factor = 1 / np.sqrt(var_of.array + eps_of)
    if by is not None:
        factor = factor * by.array
    bias = (layer.bias - mean_of.array) * factor
    if plus is not None:
        bias = bias + plus.array
    return layer.weight * layer.per_channel(factor), bias


def _operand(op: ts.OperatorOp, layer: _Layer) -> Array | None:
    """The constant other operand as one number a channel; None if it is something else."""
    owner = op.arguments[1].owner
    held = owner.value.data if isinstance(owner, ts.ConstantOp) else None
    channels = layer.weight.shape[0]
    if isinstance(held, int | float) and not isinstance(held, bool):
        return np.full(channels, held, layer.weight.dtype)
    if not isinstance(held, TensorLiteral):
        return None
    given = held.array
    if not given.ndim and given.dtype.kind in "iuf":
        # Does not take part in promotion beyond its category.
        return np.full(channels, given.item(), layer.weight.dtype)
    if given.dtype != layer.weight.dtype and given.dtype.kind not in "iub":
        return None
    if given.size == 1 and given.ndim <= max(layer.rank, 1):
        return np.full(channels, given.reshape(()).item(), layer.weight.dtype)
    # Aligned from the right, the channels of an image stand before its `rank - 2` dimensions.
    wanted = (channels, *[1] * (layer.rank - 2)) if layer.rank else (channels,)
    if given.shape[-len(wanted) :] != wanted or given.size != channels:
        return None
    return given.reshape(channels) if given.ndim <= max(layer.rank, 1) else None


def _times(op: ts.OperatorOp) -> float | None:
    """The constant `alpha` of an addition."""
    owner = op.arguments[2].owner
    held = owner.value.data if isinstance(owner, ts.ConstantOp) else None
    return held if isinstance(held, int | float) else None


def _sum(sign: int) -> Callable[[ts.OperatorOp, _Layer], Folded | None]:
    def fold(op: ts.OperatorOp, layer: _Layer) -> Folded | None:
        other, alpha = _operand(op, layer), _times(op)
        if other is None or alpha is None:
            return None
        return layer.weight, layer.bias + other * (sign * alpha)

    return fold


def _product(op: ts.OperatorOp, layer: _Layer) -> Folded | None:
    other = _operand(op, layer)
    if other is None:
        return None
    return layer.weight * layer.per_channel(other), layer.bias * other


def _quotient(op: ts.OperatorOp, layer: _Layer) -> Folded | None:
    other = _operand(op, layer)
    if other is None:
        return None
    return layer.weight / layer.per_channel(other), layer.bias / other


_FOLDS: dict[str, tuple[Readers, Callable[[ts.OperatorOp, _Layer], Folded | None]]] = {
    "aten::batch_norm": (Readers.NORMS, _batch_norm),
    **{f"aten::add.{kind}": (Readers.SUMS, _sum(1)) for kind in ("Tensor", "Scalar")},
    **{f"aten::sub.{kind}": (Readers.SUMS, _sum(-1)) for kind in ("Tensor", "Scalar")},
    **{f"aten::mul.{kind}": (Readers.PRODUCTS, _product) for kind in ("Tensor", "Scalar")},
    **{f"aten::div.{kind}": (Readers.PRODUCTS, _quotient) for kind in ("Tensor", "Scalar")},
}
_SUFFIX = {"aten::batch_norm": "_fused_bn"}


def _rewrite(op: Operation, layer: _Layer, weight: Array, bias: Array, suffix: str) -> None:
    """Put the layer with other weights in its place, and drop what followed it."""
    place = InsertPoint.before(layer.op)
    arguments = list(layer.op.arguments)
    hints = [hint_of(arguments[1]), hint_of(arguments[2])]
    for at, array, hint in zip((1, 2), (weight, bias), hints, strict=True):
        held = TensorLiteral(np.ascontiguousarray(array, layer.weight.dtype), layer.dtype)
        made = ts.ConstantOp(held, constant_type(held, TENSOR))
        set_hint(made.result, f"{hint}{suffix}" if hint else None)
        Rewriter.insert_op(made, place)
        arguments[at] = made.result
    fused = ts.OperatorOp(layer.op.schema.data, arguments, [op.results[0].type])
    fused.location = layer.op.location
    fused.outputs[0].name_hint = op.results[0].name_hint
    Rewriter.insert_op(fused, place)
    for done in (op, layer.op):
        done.results[0].replace_all_uses_with(fused.outputs[0])
        Rewriter.erase_op(done)
