"""What the operators of layers ask of sizes: cells, shuffles, folds, embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name, legacy_name
from tensorscript.base.dtypes import WIDE_UNSIGNED, DType, bool_, float32, int32, int64
from tensorscript.base.errors import DimensionError, OperatorError
from tensorscript.base.operand_dtypes import unimplemented

from ..kernels.shapes import normal_dim
from ..kernels.window import spread
from ..storage import array
from .words import Demand, Ints, each, one_dtype_in_product, require, size_of, sizes_of


# -- cells ----------------------------------------------------------------------------------------
def _cell(self: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> None:
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    if len(sizes_of(self)) == 2:
        _cell_sizes(self, states, w_ih, w_hh)
    one_dtype_in_product(self, w_ih, b_ih is not None)
    one_dtype_in_product(states[0], w_hh, b_hh is not None)


def _cell_sizes(x: Any, states: Sequence[Any], w_ih: Any, w_hh: Any) -> None:
    rows, width = sizes_of(x)
    wanted = size_of(w_ih, 1)
    require(width == wanted, f"input has inconsistent input_size: got {width} expected {wanted}")
    hidden = size_of(w_hh, 1)
    for at, state in enumerate(states):
        count, size = size_of(state, 0), size_of(state, 1)
        require(
            count == rows, f"Input batch size {rows} doesn't match hidden{at} batch size {count}"
        )
        require(
            size == hidden,
            f"hidden{at} has inconsistent hidden_size: got {size}, expected {hidden}",
        )


def _network(x: Any, hx: Any, weights: Any, has_biases: bool, *_: Any) -> None:
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    if weights:
        one_dtype_in_product(x, weights[0], has_biases)
        one_dtype_in_product(states[0], weights[0], has_biases)


# -- shuffles and folds ---------------------------------------------------------------------------
def _image(name: str, sizes: Sequence[int]) -> None:
    require(
        len(sizes) > 2,
        f"{name} expects input to have at least 3 dimensions, but got input with {len(sizes)} "
        "dimension(s)",
    )


def _pixel_shuffle(self: Any, upscale_factor: int) -> None:
    sizes = sizes_of(self)
    _image("pixel_shuffle", sizes)
    require(
        upscale_factor > 0,
        f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}",
    )
    square = upscale_factor**2
    require(
        sizes[-3] % square == 0,
        "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
        f"upscale_factor, but input.size(-3)={sizes[-3]} is not divisible by {square}",
    )


def _pixel_unshuffle(self: Any, downscale_factor: int) -> None:
    sizes = sizes_of(self)
    _image("pixel_unshuffle", sizes)
    require(
        downscale_factor > 0,
        f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}",
    )
    for name, dim in (("height", -2), ("width", -1)):
        require(
            sizes[dim] % downscale_factor == 0,
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
            f"input.size({dim})={sizes[dim]} is not divisible by {downscale_factor}",
        )


def _channel_shuffle(self: Any, groups: int) -> None:
    sizes = sizes_of(self)
    require(
        len(sizes) > 2,
        f"channel_shuffle expects input with > 2 dims, but got input with sizes {sizes}",
    )
    require(
        groups > 0,
        f"Number of groups to divide channels in must be positive. Value of groups:{groups}",
    )
    require(
        sizes[1] % groups == 0,
        f"Number of channels must be divisible by groups. Got {sizes[1]} channels and {groups} "
        "groups.",
    )


def _pair(numbers: Ints) -> str:
    return f"({', '.join(map(str, numbers))})"


def _col2im(
    self: Any, output_size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> None:
    sizes = sizes_of(self)
    require(
        len(sizes) in (2, 3) and 0 not in sizes[-2:],
        "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
        f"dimensions for input, but got: {sizes}",
    )
    k, s, p, d, o = (spread(v, 2) for v in (kernel, stride, padding, dilation, output_size))
    require(
        sizes[-2] % (k[0] * k[1]) == 0,
        "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
        f"got input.size(1)={sizes[-2]} and kernel_size={_pair(k)}.",
    )
    rows, columns = ((o[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2))
    require(
        sizes[-1] == rows * columns,
        f"Given output_size={_pair(o)}, kernel_size={_pair(k)}, dilation={_pair(d)}, "
        f"padding={_pair(p)}, stride={_pair(s)}, expected size of input's dimension 2 to "
        f"match the calculated number of sliding blocks {rows} * {columns} = {rows * columns}, but "
        f"got input.size(2)={sizes[-1]}.",
    )
    require(
        min(rows, columns) > 0,
        f"Given output_size={_pair(o)}, kernel_size={_pair(k)}, dilation={_pair(d)}, "
        f"padding={_pair(p)}, stride={_pair(s)}, calculated shape of the array of sliding blocks "
        f"as ({rows}, {columns}), which is too small (non-positive)",
    )


def _unflatten(self: Any, dim: int, sizes: Ints) -> None:
    at = normal_dim(dim, array(self).ndim)
    require(len(sizes) > 0, "unflatten: sizes must be non-empty")
    have = sizes_of(self)[at] if array(self).ndim else 1
    known = math.prod(n for n in sizes if n != -1)
    fits = have % known == 0 if -1 in sizes and known else known == have
    require(
        fits,
        f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} "
        f"({have}) in the input tensor",
    )


# -- products -------------------------------------------------------------------------------------
def _bilinear(first: Any, second: Any, weight: Any, bias: Any = None) -> None:
    a, b = sizes_of(first), sizes_of(second)
    require(
        len(a) == len(b), f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}"
    )
    for dim, (n, m) in enumerate(zip(a[:-1], b[:-1], strict=True)):
        require(
            n == m,
            f"bilinear(): input batch dimensions do not match at dim {dim}: got {n} and {m}",
        )
    named = {"input1": first, "input2": second, "weight": weight, "bias": bias}
    dtypes = {name: x.dtype for name, x in named.items() if x is not None}
    require(
        len(set(dtypes.values())) == 1,
        "All tensors must have the same dtype, got "
        + ", ".join(f"{name}: {cpp_name(d)}" for name, d in dtypes.items()),
    )
    for at, x in enumerate((first, second), 1):
        have, wanted = size_of(x, -1), size_of(weight, at)
        require(
            have == wanted,
            f"bilinear(): input{at} size does not match weight size: got {have} but expected "
            f"{wanted}",
        )


# -- embeddings -----------------------------------------------------------------------------------
def _renormed(self: Any, indices: Any, *_: Any) -> None:
    require(
        self.dtype.is_floating_point or self.dtype.is_complex,
        "norm(): input dtype should be either floating point or complex. Got "
        f"{self.dtype.word} instead.",
    )
    found, sizes = array(indices), sizes_of(self)
    outside = found[(found < -sizes[0]) | (found >= sizes[0])]
    if outside.size:
        raise DimensionError(
            f"select(): index {int(np.ravel(outside)[0])} out of range for tensor of size {sizes} "
            "at dimension 0"
        )


def _places(indices: Any, of: str) -> None:
    require(
        indices.dtype in (int32, int64),
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
        f"Long, Int; but got {legacy_name(indices.dtype)} instead (while checking arguments for "
        f"{of})",
    )


def _embedded(weight: Any, indices: Any, *_: Any) -> None:
    require(array(weight).ndim == 2, "'weight' must be 2-D")
    _places(indices, "embedding")


def _bags(
    weight: Any, indices: Any, offsets: Any, grad: Any = False, mode: int = 0, sparse: bool = False,
    scale: Any = None, has_last: bool = False, padding: int | None = None, *_: Any,
) -> None:  # fmt: skip
    for name, t, rank in (("input", indices, "a 1D or 2D"), ("offsets", offsets, "a 1D"),
                          ("weight", weight, "a 2D")):  # fmt: skip
        found = array(t).ndim
        require(
            f"{found}D" in rank,
            f"{name} has to be {rank} Tensor, but got Tensor of dimension {found}",
        )
    rows = sizes_of(weight)[0]
    require(
        padding is None or padding == -1 or -rows <= padding < rows,
        f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
        f"{padding}",
    )
    _places(indices, "embedding_bag")
    require(
        weight.dtype.is_floating_point,
        "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
        f"BFloat16, Float, Double; but got {legacy_name(weight.dtype)} instead (while checking "
        "arguments for embedding_bag)",
    )
    require(
        scale is None or scale.dtype is weight.dtype,
        "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
        f"'per_sample_weights'; but type {legacy_name(weight.dtype)} does not equal "
        f"{'' if scale is None else legacy_name(scale.dtype)} (while checking arguments for "
        "embedding_bag)",
    )
    starts = array(offsets)
    require(
        not starts.size or starts[0] == 0,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
        f"position 0. However, got {int(starts[0]) if starts.size else 0}",
    )
    length = sizes_of(indices)[0]
    require(
        not starts.size or starts[-1] <= length,
        f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of "
        f"{int(starts[-1]) if starts.size else 0}",
    )
    # PyTorch reads beyond its memory here.
    require(not (starts[1:] < starts[:-1]).any(), "offsets must not decrease")


def _attended(
    query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0,
    is_causal: bool = False, *_: Any,
) -> None:  # fmt: skip
    given = {"query": query, "key": key, "value": value}
    ranks = {name: array(t).ndim for name, t in given.items()}
    require(
        min(ranks.values()) > 1,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
        f"{ranks['query']} key.dim: {ranks['key']} and value.dim: {ranks['value']} instead.",
    )
    names = {name: cpp_name(t.dtype) for name, t in given.items()}
    require(
        len(set(names.values())) == 1,
        "Expected query, key, and value to have the same dtype, but got query.dtype: "
        f"{names['query']} key.dtype: {names['key']} and value.dtype: {names['value']} instead.",
    )
    count = math.prod(sizes_of(query)[:-2])
    for have, wanted in ((size_of(key, -1), size_of(query, -1)),
                         (size_of(value, -2), size_of(key, -2))):  # fmt: skip
        require(
            have == wanted,
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{count}, {wanted}] but got: [{count}, {have}].",
        )
    require(
        mask is None or mask.dtype in (bool_, float32, query.dtype),
        "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
        f"attn_mask.dtype: {'' if mask is None else cpp_name(mask.dtype)} and  query.dtype: "
        f"{names['query']} instead.",
    )
    by_tiles = set(ranks.values()) == {4} and size_of(value, -1) == size_of(query, -1)
    require(
        mask is None or not is_causal or by_tiles,  # PyTorch's tiles take both
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    )


def _dropped(bool_becomes: DType) -> Demand:
    """Elements are multiplied in place by random numbers of their own dtype, which are divided."""

    def check(input: Any, p: float, train: bool) -> None:
        if not train or p in (0.0, 1.0) or input.dtype.is_floating_point:
            return
        if input.dtype.is_complex or input.dtype in WIDE_UNSIGNED:
            raise unimplemented("bernoulli_scalar_cpu_", input.dtype)
        target = bool_becomes if input.dtype is bool_ else input.dtype
        raise OperatorError(
            f"result type Float can't be cast to the desired output type {target.word}"
        )

    return check


LAYERS: dict[str, Demand] = {
    **each(_dropped(bool_), "dropout", "feature_dropout"),
    **each(
        _dropped(int64),
        "alpha_dropout",
        "feature_alpha_dropout",
    ),
    **each(_network, "lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input"),
    **each(_cell, "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"),
    **each(_pixel_shuffle, "pixel_shuffle"),
    **each(_pixel_unshuffle, "pixel_unshuffle"),
    **each(_channel_shuffle, "channel_shuffle"),
    **each(_col2im, "col2im"),
    **each(_unflatten, "unflatten.int"),
    **each(_bilinear, "bilinear"),
    **each(_attended, "scaled_dot_product_attention"),
    **each(_embedded, "embedding"),
    **each(_renormed, "embedding_renorm_"),
    **each(
        _bags,
        "embedding_bag",
        "embedding_bag.padding_idx",
        "_embedding_bag",
        "_embedding_bag_forward_only",
    ),
}
