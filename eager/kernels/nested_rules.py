"""Which operators nested tensors have, and how each is computed.

As in PyTorch most operators refuse them. What works does so on the rows that there are, laid end to
end (R, E), on each entry alone, or on the padded form where rows do not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tensorscript.base.dtypes import bool_
from tensorscript.base.errors import MissingKernelError, OperatorError, ValueRangeError
from tensorscript.base.quantization import ASKED
from tensorscript.base.schema import Schema

from ..storage import TensorBase, array, make
from ..tracking import shares
from .nested import KERNELS, as_nested, lengths_of, rows_of, shown_rows
from .shapes import normal_dim

Kernel = Callable[..., Any]

NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
NO_STRIDES = "Internal error: NestedTensorImpl doesn't support strides. Please file an issue."

_KNOWING = frozenset((*KERNELS, "aten::_transformer_encoder_layer_fwd"))
"""Kernels that take nested tensors themselves."""
_WHOLE = frozenset(
    f"aten::{name}"
    for name in (
        "alias", "clone", "conj", "contiguous", "cpu", "detach", "empty_like", "ones_like",
        "positive", "real", "requires_grad", "resolve_conj", "resolve_neg", "zeros_like",
    )
) | {"prim::data"}  # fmt: skip
"""Operators that give the padded form of their result for the padded form."""
_BY_ROW = frozenset(
    f"aten::{name}"
    for name in (
        "abs", "abs_", "cos", "double", "fill_", "float", "gelu", "gelu_", "isinf", "isnan",
        "isneginf", "isposinf", "isreal", "logical_not", "logical_not_", "neg", "neg_", "negative",
        "negative_", "normal_", "randn_like", "relu", "relu_", "sgn", "sgn_", "silu", "silu_",
        "sin", "sqrt", "tanh", "tanh_", "to", "zero_",
    )
)  # fmt: skip
"""Operators of single elements, and those that draw for one after the other; no `out=` forms."""
_BY_ROW_FORMS = frozenset(
    f"aten::{name}" for name in ("eq.Scalar", "ge.Scalar", "gt.Scalar", "masked_fill.Scalar")
)
_TOGETHER = frozenset(
    f"aten::{name}"
    for name in (
        "add.Scalar", "add.Tensor", "add_.Scalar", "add_.Tensor", "copy_", "div.Scalar",
        "div.Tensor", "mul.Scalar", "mul.Tensor", "mul_.Scalar", "mul_.Tensor", "sub.Scalar",
        "sub.Tensor", "true_divide.Scalar", "true_divide.Tensor",
    )
)  # fmt: skip
"""Operators of two tensors, both nested or one of them a number."""


def is_nested(x: Any) -> bool:
    """Whether an argument is a nested tensor, or a list with one in it."""
    if isinstance(x, TensorBase):
        return x._lengths is not None
    return type(x) is list and any(map(is_nested, x))


def kernel_of_nested(declared: Schema, plain: Kernel | None) -> Kernel:
    """What computes an overload where an argument is nested; `plain` is the kernel of ordinary
    tensors, if there is one.

    Raises:
        MissingKernelError: nothing does.
    """
    name, form = declared.name, declared.full_name
    if declared.is_out:
        plain = None
    elif (own := _OWN.get(form) or _OWN.get(name)) is not None:
        return lambda *bound: own(plain, *bound)
    if plain is not None:
        if name in _KNOWING or (name in ASKED and name not in _WHOLE):
            return plain
        if name in _WHOLE:
            return lambda *bound: _whole(plain, *bound)
        if name in _BY_ROW or form in _BY_ROW_FORMS:
            return lambda *bound: _by_row(plain, *bound)
        if form in _TOGETHER:
            return lambda *bound: _together(declared.base_name, plain, *bound)
    raise MissingKernelError(
        f"Could not run '{form}' with arguments from the 'NestedTensorCPU' backend. This could be "
        "because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build)."
    )


def _held(values: Sequence[Any]) -> Iterator[TensorBase]:
    return (x for x in values if isinstance(x, TensorBase) and x._lengths is not None)


def _whole(run: Kernel, self: Any, *rest: Any) -> Any:
    made = run(self, *rest)
    for part in made if isinstance(made, list | tuple) else [made]:
        if part is not self:
            as_nested(part, lengths_of(self))
    return made


def _by_row(run: Kernel, *bound: Any) -> Any:
    """Run on rows end to end; what is written to goes back to where it is from.

    Raises:
        OperatorError: one tensor is nested and another with dimensions is not, or their rows are
            not as many.
    """
    like = next(_held(bound))
    lengths = lengths_of(like)
    if any(not np.array_equal(lengths_of(x), lengths) for x in _held(bound)):
        raise OperatorError("nested tensors of different sizes do not broadcast")
    if any(isinstance(x, TensorBase) and x._lengths is None and x._array.ndim for x in bound):
        raise OperatorError("Expected all tensors with dimensions to be nested")
    packed = [rows_of(x) if isinstance(x, TensorBase) and x._lengths is not None else x
              for x in bound]  # fmt: skip
    made = run(*packed)
    for at, rows in enumerate(packed):
        if rows is made:  # written to, or given back as it is
            held = array(bound[at])
            held[shown_rows(lengths, held.shape[1])] = array(rows)
            return bound[at]
    if isinstance(made, tuple):
        return tuple(_padded(part, like) for part in made)
    return _padded(made, like)


def _padded(rows: Any, like: TensorBase) -> Any:
    """Rows end to end (R, ..) as a nested tensor of the lengths of `like`."""
    most, lengths = array(like).shape[1], lengths_of(like)
    found = array(rows)
    held = np.zeros((len(lengths), most, *found.shape[1:]), found.dtype)
    held[shown_rows(lengths, most)] = found
    return as_nested(make(held, rows.dtype), lengths)


def _is_number(x: Any) -> bool:
    return isinstance(x, TensorBase) and x._lengths is None and x._array.ndim == 0


def _together(name: str, run: Kernel, self: Any, other: Any, *rest: Any) -> Any:
    are = [not isinstance(x, TensorBase) or x._lengths is not None for x in (self, other)]
    fits = are[0] and _is_number(other) and not name.startswith("copy")
    if not (all(are) or fits or (_is_number(self) and not name.endswith("_"))):
        words = ["a nested" if nested else "a non-nested" for nested in are]
        told = f"{words[0]} self and {words[1].removeprefix('a ')} other"
        raise OperatorError(f"Expected both self and other to be nested, but got {told}")
    sizes = [lengths_of(x).tolist() for x in _held((self, other))]
    widths = {array(x).shape[2:] for x in _held((self, other))}
    if len(widths) > 1 or any(a != b for a, b in pairwise(sizes)):
        raise OperatorError(f"{name} does not support broadcasting when given a NestedTensor")
    return _by_row(run, self, other, *rest)


def _equals(run: Kernel, self: Any, other: Any) -> Any:
    if is_nested(other):
        raise OperatorError("eq does not support nested tensor as other value.")
    if not _is_number(other):
        raise OperatorError(
            "Expected both self and other to be nested, but got a nested self and non-nested other"
        )
    return _by_row(run, self, other)


def _dropout(run: Kernel, self: Any, p: float, train: bool | None) -> Any:
    if train is not False and not self.dtype.is_floating_point:
        raise OperatorError(
            f"result type Float can't be cast to the desired output type {self.dtype.word}"
        )
    return _by_row(run, self, 0.0 if train is False else p, train)


def _entry(self: Any, at: int) -> Any:
    """The rows of one entry, a view."""
    view = make(array(self)[at, : int(lengths_of(self)[at])], self.dtype)
    shares(view, self)
    return view


def _size(run: Kernel, self: Any, dim: int | None = None) -> int:
    if dim is None:
        raise OperatorError(NO_SIZES)
    at = normal_dim(dim, array(self).ndim)
    if at == 1 and len(set(lengths_of(self).tolist())) != 1:
        raise OperatorError(f"Given dimension {dim} is irregular and does not have a size.")
    return int(lengths_of(self)[0]) if at == 1 else int(array(self).shape[at])


def _refused(reason: str) -> Kernel:
    def refuse(*_: Any) -> Any:
        raise OperatorError(reason)

    return refuse


def _to_other(run: Kernel, self: Any, other: Any, *rest: Any) -> Any:
    """`other` tells its dtype alone."""
    like = make(np.zeros((), array(other).dtype), other.dtype)
    return _by_row(run, self, like, *rest) if is_nested(self) else run(self, like, *rest)


def _unbind(run: Kernel, self: Any, dim: int = 0) -> list[Any]:
    if dim:
        raise OperatorError(
            f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
        )
    return [_entry(self, at) for at in range(len(lengths_of(self)))]


def _select(run: Kernel, self: Any, dim: int, index: int) -> Any:
    if normal_dim(dim, array(self).ndim):
        raise MissingKernelError("select(): of nested tensors entries alone (dim=0) are selected")
    run(self, dim, index)  # which refuses places out of range
    return _entry(self, index)


def _softmax(run: Kernel, self: Any, dim: int, *rest: Any) -> Any:
    """Over rows each entry alone."""
    if (at := normal_dim(dim, array(self).ndim)) == 0:
        raise OperatorError("Cannot apply softmax across nested dimension 0")
    entries = [array(run(_entry(self, k), at - 1, *rest)) for k in range(len(lengths_of(self)))]
    like = run(rows_of(self), -1, *rest)
    return _padded(make(np.concatenate(entries), like.dtype), self)


def _sum(run: Kernel, self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None or len(dim) != 1:
        raise OperatorError("NestedTensor only allows reduction of a single dimension for now.")
    if normal_dim(dim[0], array(self).ndim) != array(self).ndim - 1:
        raise OperatorError(
            "NestedTensor can only be reduced across the last dimension for now got dimension "
            f"{dim[0]} instead."
        )
    if not keepdim:
        raise OperatorError("NestedTensor always requires keepdim=True for now.")
    if dtype is not None:
        raise OperatorError("NestedTensor does not support dtype argument for now.")
    if self.dtype is bool_:
        raise MissingKernelError("\"nested_sum_dim_cpu\" not implemented for 'Bool'")
    return _padded(run(rows_of(self), [-1], True, None), self)


def _linear(run: Kernel, self: Any, weight: Any, bias: Any = None) -> Any:
    if self._lengths is None or any(_held((weight, bias))):
        raise OperatorError("linear(): of nested tensors the input alone may be one")
    width = array(self).shape[-1]
    if array(weight).ndim != 2:
        raise OperatorError(
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{array(self).ndim}. Dense tensor dim: {array(weight).ndim}"
        )
    if array(weight).shape[-1] != width:
        raise OperatorError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' "
            f"to equal 'weight.size(1), but got: last_dim = {width}, and weight.size(1) = "
            f"{array(weight).shape[-1]}"
        )
    return _padded(run(rows_of(self), weight, bias), self)


def _layer_norm(
    run: Kernel, self: Any, shape: Sequence[int], weight: Any = None, bias: Any = None, *rest: Any
) -> Any:
    if weight is None or bias is None:
        raise ValueRangeError("NestedTensor layer_norm requires weight and bias")
    if len(shape) > array(self).ndim - 2:
        raise OperatorError(
            "normalized_shape extends into irregular dimensions for the nested tensor"
        )
    if shape[0] != array(self).shape[-1]:
        raise OperatorError("The shape at dimension 0of normalized_shape doesn't match the input")
    if any(t.dtype is not self.dtype for t in (weight, bias)):
        raise OperatorError(
            f"expected scalar type {weight.dtype.word} but found {self.dtype.word}: nested tensors "
            "are normalized with weights of their dtype"
        )
    return _padded(run(rows_of(self), shape, weight, bias, *rest), self)


def _last_only(name: str) -> Kernel:
    def run_last(run: Kernel, self: Any, count: Any, dim: int = 0) -> Any:
        if normal_dim(dim, array(self).ndim) != array(self).ndim - 1:
            raise OperatorError(
                f"{name} for nested tensors is currently only supported for the last dimension."
            )
        width = array(self).shape[-1]
        if isinstance(count, int) and count > 0 and width % count:
            raise OperatorError(
                f"{name} for nested tensors is only supported for nested tensors with trailing "
                f"dimension divisible by chunks. Got: {width} % {count} != 0"
            )
        return _whole(run, self, count, dim)

    return run_last


def _values(run: Kernel, self: Any) -> Any:
    return make(array(rows_of(self)).reshape(-1), self.dtype)


def _is_same_size(run: Kernel, self: Any, other: Any) -> bool:
    if len(list(_held((self, other)))) < 2:
        raise OperatorError("Expected both self and other to be nested")
    widths = array(self).shape[2:] == array(other).shape[2:]
    return widths and np.array_equal(lengths_of(self), lengths_of(other))


_OWN: dict[str, Kernel] = {
    "aten::size": _size,
    "aten::sym_size": _size,
    "aten::stride": _refused(NO_STRIDES),
    "aten::len": _refused(NO_SIZES),
    "aten::numel": lambda run, self: int(array(rows_of(self)).size),
    "aten::unbind": _unbind,
    "aten::select.int": _select,
    "aten::softmax": _softmax,
    "aten::_softmax": _softmax,
    "aten::_safe_softmax": _softmax,
    "aten::sum.dim_IntList": _sum,
    "aten::linear": _linear,
    "aten::layer_norm": _layer_norm,
    "aten::eq.Tensor": _equals,
    "aten::dropout": _dropout,
    "aten::native_dropout": _dropout,
    "aten::to.other": _to_other,
    "aten::to.prim_other": _to_other,
    "aten::type_as": _to_other,
    "aten::chunk": _last_only("Chunk"),
    "aten::split_with_sizes": _last_only("split_with_sizes"),
    "aten::values": _values,
    "aten::is_same_size": _is_same_size,
}

HANDLED = frozenset((*_WHOLE, *_BY_ROW, *_BY_ROW_FORMS, *_TOGETHER, *_OWN))
"""The operators and overloads with a rule here."""
