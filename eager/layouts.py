"""Which strides an operator's results have: one row an operator.

Kernels give their elements in any strides; where PyTorch promises some, or programs rely on it
(`x.softmax(0).view(-1)`), the row of the operator says which and `laid_out_kernel` puts the result
into them, in memory of its own. Operators without a row keep what their kernel gives: views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorscript.base.schema import Schema, SchemaType

from .device import channels_last, channels_last_3d, contiguous_format, preserve_format
from .kernels.table import POINTWISE, REDUCTIONS
from .memory_format import (
    in_format,
    in_order,
    is_in_format,
    kept_strides,
    known_format,
    laid_out,
    preserved_strides,
    row_order,
    suggested_format,
)
from .storage import Array, TensorBase

Kernel = Callable[..., Any]
Rule = Callable[[Sequence[Array], Array], Array]
"""The tensors among the arguments and one result to the result in its strides."""


def rows(inputs: Sequence[Array], made: Array) -> Array:
    """Row-major, whatever the inputs are."""
    return in_order(made, row_order(made.ndim))


def elementwise(inputs: Sequence[Array], made: Array) -> Array:
    """As all inputs together ask for."""
    if made.flags.c_contiguous and all(_asks_for_rows(a, made.shape) for a in inputs):
        return made
    fitting = [a for a in inputs if a.ndim <= made.ndim]
    return laid_out(made, preserved_strides(fitting, made.shape)) if fitting else made


def _asks_for_rows(a: Array, shape: tuple[int, ...]) -> bool:
    """Whether `a` alone, or beside others that do so, gives results of `shape` row by row. Without
    dimensions it leaves it to the others, which beside it keep the strides of sizes of 1."""
    return a.flags.c_contiguous and a.shape == shape if a.ndim else 1 not in shape


def like_first(inputs: Sequence[Array], made: Array) -> Array:
    """As the first input, if the shape is its own."""
    return elementwise(inputs[:1], made) if inputs[0].shape == made.shape else rows(inputs, made)


def kept(inputs: Sequence[Array], made: Array) -> Array:
    """As the first input, to the strides of dimensions of size 1."""
    return laid_out(made, kept_strides(inputs[0]))


def attended(inputs: Sequence[Array], made: Array) -> Array:
    """As the queries, where PyTorch works by tiles: batches of heads of one width."""
    by_tiles = all(
        x.ndim == 4 and x.size and x.strides[-1] == x.itemsize and x.shape[-1] == made.shape[-1]
        for x in inputs[:3]
    )
    return like_first(inputs, made) if by_tiles else rows(inputs, made)


def image(inputs: Sequence[Array], made: Array) -> Array:
    """Channels-last if the first input is, else row-major."""
    return in_format(made, suggested_format(inputs[0])) if made.ndim == inputs[0].ndim else made


def batch_normalized(inputs: Sequence[Array], made: Array) -> Array:
    """As the first input where that is dense; channels-last only if it cannot be row-major."""
    for wanted in (contiguous_format, channels_last, channels_last_3d):
        if is_in_format(inputs[0], wanted):
            return in_format(made, wanted)
    return image(inputs, made)


def image_or_filter(inputs: Sequence[Array], made: Array) -> Array:
    """Channels-last if the image or the filter is, else row-major."""
    formats = [suggested_format(a) for a in inputs[:2] if a.ndim == made.ndim]
    chosen = next((f for f in formats if f.code), None)
    return rows(inputs, made) if chosen is None else in_format(made, chosen)


def joined(inputs: Sequence[Array], made: Array) -> Array:
    """Channels-last if all inputs are, else row-major."""
    formats = {suggested_format(a) for a in inputs if a.ndim == made.ndim}
    return in_format(made, formats.pop()) if len(formats) == 1 else rows(inputs, made)


def in_first_order(inputs: Sequence[Array], made: Array) -> Array:
    """Dense, the dimensions in the order of the first input's strides."""
    strides = preserved_strides(inputs[:1], inputs[0].shape)
    return in_order(made, sorted(row_order(made.ndim), key=strides.__getitem__))


def columns(inputs: Sequence[Array], made: Array) -> Array:
    """Matrices by columns, as LAPACK writes them; what has fewer dimensions than the first input
    (eigenvalues, pivots) is row-major."""
    if made.ndim < max(inputs[0].ndim, 2):
        return rows(inputs, made)
    return np.swapaxes(np.ascontiguousarray(np.swapaxes(made, -1, -2)), -1, -2)


def signal(inputs: Sequence[Array], made: Array) -> Array:
    """Of a batch of signals (N, C, L): channels last if the input is, else row-major."""
    turned = np.swapaxes(inputs[0], -1, -2)
    is_last = inputs[0].ndim == 3 and turned.flags.c_contiguous and inputs[0].shape[1] > 1
    return columns(inputs, made) if is_last and made.ndim == 3 else rows(inputs, made)


def last_first(inputs: Sequence[Array], made: Array) -> Array:
    """As `elementwise`, of an operator that reads its operands in the other order."""
    return elementwise(inputs[::-1], made)


def _names(text: str) -> Iterator[str]:
    return (f"aten::{name}" for name in text.split())


RULES: dict[str, Rule] = {
    "aten::scaled_dot_product_attention": attended,
    **dict.fromkeys({name.partition(".")[0] for name in POINTWISE}, elementwise),
    **dict.fromkeys({name.partition(".")[0] for name in REDUCTIONS}, rows),
    **dict.fromkeys(_names(
        "softmax log_softmax softmin _softmax _log_softmax _safe_softmax _softmax_backward_data "
        "_log_softmax_backward_data cumsum cumprod cummax cummin logcumsumexp roll tril triu "
        "gather take_along_dim cross linalg_cross layer_norm native_layer_norm rms_norm "
        "instance_norm bilinear conv_transpose3d hash_tensor linalg_vander linalg_lu "
        "lu_unpack grid_sampler grid_sampler_2d grid_sampler_3d cdist diag_embed "
        "masked_scatter renorm nll_loss_nd nll_loss nll_loss2d multinomial vander gradient "
        "fft_fftshift fft_ifftshift repeat tile unfold_copy take isin "
        "adaptive_avg_pool3d matmul cosine_similarity stack "
        "column_stack mvlgamma linalg_matrix_power cumulative_trapezoid gelu_backward im2col "
        "col2im masked_fill adaptive_max_pool3d avg_pool3d index_copy index_add scatter "
        "scatter_add scatter_reduce nonzero_numpy linalg_matrix_norm linalg_norm nuclear_norm"
    ), rows),
    **dict.fromkeys(_names(
        "sort msort argsort flip fliplr flipud index_fill index_put put select_scatter "
        "slice_scatter diagonal_scatter dropout feature_dropout alpha_dropout "
        "feature_alpha_dropout _unsafe_masked_index_put_accumulate polygamma"
    ), like_first),
    **dict.fromkeys(_names(
        "zeros_like ones_like full_like empty_like rand_like randn_like randint_like clone _to_copy"
    ), kept),
    **dict.fromkeys(_names(
        "max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices avg_pool2d "
        "adaptive_avg_pool2d adaptive_max_pool2d _upsample_bilinear2d_aa "
        "group_norm upsample_nearest2d upsample_nearest3d "
        "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bilinear2d "
        "upsample_bicubic2d _upsample_bicubic2d_aa _upsample_lanczos2d_aa "
        "upsample_trilinear3d reflection_pad2d "
        "reflection_pad3d replication_pad2d replication_pad3d constant_pad_nd pad channel_shuffle "
        "local_response_norm max_pool2d_with_indices_backward max_unpool2d "
        "pixel_shuffle pixel_unshuffle"
    ), image),
    **dict.fromkeys(_names(
        "batch_norm native_batch_norm _native_batch_norm_legit _batch_norm_with_update"
    ), batch_normalized),
    **dict.fromkeys(_names(
        "conv2d conv3d conv_transpose2d convolution _convolution "
        "_convolution_mode conv1d conv_transpose1d"
    ), image_or_filter),
    "aten::glu": in_first_order,
    **dict.fromkeys(_names(
        "avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d max_pool1d max_pool1d_with_indices"
    ), signal),
    **dict.fromkeys(_names(
        "linalg_inv inverse linalg_inv_ex linalg_cholesky linalg_cholesky_ex cholesky "
        "cholesky_inverse cholesky_solve linalg_solve linalg_solve_ex linalg_solve_triangular "
        "triangular_solve "
        "linalg_lu_factor linalg_lu_factor_ex _lu_with_info linalg_lu_solve "
        "lu_solve linalg_qr qr linalg_eigh linalg_eig linalg_ldl_factor linalg_ldl_factor_ex "
        "linalg_ldl_solve linalg_householder_product orgqr geqrf ormqr linalg_lstsq"
    ), columns),
    "aten::max.other": elementwise,
    "aten::min.other": elementwise,
    "aten::rsub": last_first,
    "aten::pow.Scalar": rows,
    "aten::float_power.Scalar": rows,
    "aten::addr": like_first,
    **dict.fromkeys(_names("binary_cross_entropy huber_loss poisson_nll_loss"), elementwise),
    **dict.fromkeys(_names("cat concat concatenate hstack vstack dstack row_stack"), joined),
}  # fmt: skip


def laid_out_kernel(declared: Schema, row: str, run: Kernel) -> Kernel:
    """The kernel of an overload, its results in the strides of the operator `row` in the table
    and of its argument `memory_format`."""
    names = [a.name for a in declared.arguments]
    at = names.index("memory_format") if "memory_format" in names else None
    rule = RULES.get(declared.full_name) or RULES.get(row)
    numbers = [k for k, name in enumerate(names) if name in _OPERANDS] if rule in _JOINT else []
    if declared.is_mutable or (rule is None and at is None) or declared.base_name == "contiguous":
        return run
    if not any(_is_of_tensors(returned.type) for returned in declared.returns):
        return run  # `aten::add.t` joins lists: what they hold stays what it is

    def placed(*bound: Any) -> Any:
        made = run(*bound)
        wanted = None if at is None else known_format(bound[at])
        if wanted is not None and wanted is not preserve_format:
            return _changed(made, lambda _, a: in_format(a, wanted), bound)
        if rule is None:
            return made
        given = list(bound)
        for k in numbers:
            if type(bound[k]) in _NUMBERS:
                given[k] = _POINT
        return _changed(made, rule, given)

    return placed


_JOINT = (elementwise, last_first)
_OPERANDS = ("self", "other")
_NUMBERS = (bool, int, float, complex)
_POINT = np.zeros(())
"""Stands for a number among operands."""


def _is_of_tensors(type_: SchemaType) -> bool:
    return type_.kind == "Tensor" or any(map(_is_of_tensors, type_.args))


def _changed(made: Any, rule: Rule, bound: Sequence[Any]) -> Any:
    if isinstance(made, TensorBase):
        if not any(made is x for x in bound):
            inputs, a = list(_arrays(bound)), made._array
            shares = a.base is not None and any(np.may_share_memory(a, x) for x in inputs)
            made._array = rule(inputs, a.copy() if shares else a)
    elif isinstance(made, (tuple, list)):
        for part in made:
            _changed(part, rule, bound)
    return made


def _arrays(bound: Sequence[Any]) -> Iterator[Array]:
    for x in bound:
        if isinstance(x, TensorBase):
            yield x._array
        elif x is _POINT:
            yield x
        elif isinstance(x, (list, tuple)):
            yield from _arrays(x)
