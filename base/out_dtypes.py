"""Operators whose `out=` must have the dtype of the result, and those whose result has the dtype
of `out=`; others convert into it.

A row names operators, or one overload, under the words of PyTorch's refusal. Rows were taken from
PyTorch 2.13 by handing every operator of its database an `out` of another dtype.
"""

from __future__ import annotations

from functools import cache

from .cpp_names import cpp_name
from .dtypes import DType, bfloat16, float16, float32, int32
from .errors import ArgumentError, OperatorError

_BY_WORDS: dict[str, tuple[str, ...]] = {
    "Expected out tensor to have dtype {wanted_cpp}, but got {found_cpp} instead": (
        "addmm", "addmv", "alias_copy", "aminmax", "argmax", "argmin", "as_strided_copy",
        "avg_pool2d", "avg_pool3d", "baddbmm", "bmm", "cross", "cumprod", "cumsum", "diag",
        "diagonal_copy",
        "expand_copy", "gather", "index_add", "index_copy", "index_reduce", "isin",
        "linalg_cholesky", "linalg_cholesky_ex", "linalg_cross", "linalg_det", "linalg_eigh",
        "linalg_eigvalsh", "linalg_inv", "linalg_inv_ex", "linalg_ldl_factor",
        "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lu", "linalg_lu_factor",
        "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_qr", "linalg_slogdet", "linalg_solve",
        "linalg_solve_ex", "linalg_svd", "linalg_svdvals", "linalg_vector_norm", "linear",
        "log_softmax", "lu_solve", "lu_unpack", "matmul", "max.dim_max",
        "mean", "min.dim_min", "mm", "msort", "norm", "prod",
        "permute_copy", "qr", "renorm", "scatter", "scatter_add", "scatter_reduce",
        "slice_scatter", "softmax", "sort", "split_with_sizes_copy", "squeeze_copy", "sum", "svd",
        "t_copy", "take_along_dim", "topk", "transpose_copy", "triangular_solve", "tril", "triu",
        "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_copy",
    ),
    "Found dtype {found} but expected {wanted}": (
        "abs", "absolute", "bitwise_not", "ceil", "clamp.out", "clamp_max.out", "clamp_min.out",
        "conj_physical", "elu", "fix", "floor", "frac", "gelu", "hardshrink", "hardsigmoid",
        "hardswish", "hardtanh", "leaky_relu", "mish", "neg", "negative", "round", "sgn", "sign",
        "silu", "softplus", "softshrink", "trunc",
    ),
    "Expected the dtype for input and out to match, but got {wanted} for input's dtype and {found} "
    "for out's dtype.": ("amax", "amin"),
    "expected scalar_type {wanted} but found {found}": ("cummax", "cummin", "logcumsumexp"),
    "result dtype {found} does not match input dtype {wanted}": ("dot", "vdot"),
    "Expected object of scalar type {wanted} but got scalar type {found} for argument 'out'": (
        "complex", "polar",
    ),
    "index_select(): self and result must have the same scalar type": ("index_select",),
    "output values must be of same type as input": ("kthvalue",),
    "expected scalar type '{wanted}' but got '{found}' for values output": ("mode",),
    "torch.frexp() expects mantissa to have dtype {wanted_cpp} but got {found_cpp}": ("frexp",),
    "quantile() out tensor must be same dtype as the input tensor": ("nanquantile", "quantile"),
    "heaviside is not yet implemented for tensors with different dtypes.": ("heaviside",),
    "signbit does not support non-boolean outputs.": ("signbit",),
    "nan_to_num: dtype of out: {found} should be same as input: {wanted}": ("nan_to_num",),
    "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and "
    "out.dtype = {found}": ("take",),
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{wanted} "
    "and result has dtype {found}": ("ormqr",),
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{wanted_cpp} and hist {found_cpp}": ("histc", "histogram"),
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{found} and out_int32 flag is {is_int32}": ("bucketize", "searchsorted"),
    "tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with "
    "dtype {found}": ("inner", "tensordot"),
    "Expected out type to be {wanted} but got {found}": ("where",),
    "linalg.matrix_norm expected out tensor dtype {wanted} but got: {found}": (
        "linalg_matrix_norm",
    ),
    "linalg.norm expected out tensor dtype {wanted} but got: {found}": ("linalg_norm",),
    "linalg.vecdot: Expected out of dtype{wanted} but found {found}": ("linalg_vecdot",),
    "multi_dot(): expected out tensor to have dtype {wanted_cpp} but got {found_cpp}": (
        "chain_matmul", "linalg_multi_dot",
    ),
    "Expected result to be of dtype uint64, but got {found}": ("hash_tensor",),
    "expected scalar type {wanted} but found {found}": ("linalg_solve_triangular",),
    "addmv input tensors must have the same dtype, but got {found}, {wanted}, and {wanted}": (
        "mv",
    ),
    "self and mat2 must have the same dtype, but got {found} and {wanted}": ("addbmm",),
    "masked_select(): self and result must have the same scalar type": ("masked_select",),
    "multinomial expects {wanted} tensor out, got: {found}": ("multinomial",),
}  # fmt: skip
COMPUTES_IN = frozenset(("cumprod", "cumsum", "mean", "nansum", "prod", "sum"))
"""Operators that compute in the dtype of `out=` unless another is asked for."""
_JOINED = frozenset((
    "_chunk_cat", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack",
    "stack", "vstack",
))  # fmt: skip
"""Operators that have words of their own for a result that cannot be converted."""
_WORDS = {name: words for words, names in _BY_WORDS.items() for name in names}


@cache
def _words_of(full_name: str) -> str | None:
    name = full_name.partition("::")[2]
    return _WORDS.get(name) or _WORDS.get(name.partition(".")[0])


_LENGTHS = frozenset(("abs", "absolute"))
"""Operators that make real numbers of complex ones, and convert them into a real `out=`."""


def check_out(full_name: str, wanted: DType, found: DType, given: DType | None = None) -> None:
    """Refuse an `out=` of dtype `found` for a result of dtype `wanted`, made of elements of dtype
    `given`.

    Raises:
        OperatorError: the operator does not convert into it.
        ArgumentError: neither does any, and the operator joins tensors.
    """
    name = full_name.partition("::")[2].partition(".")[0]
    if wanted.category > found.category and name in _JOINED:
        raise ArgumentError(
            f"torch.cat(): input types can't be cast to the desired output type {found.word}"
        )
    if name in _LENGTHS and given is not None and given.is_complex:
        if not found.is_complex:
            return
        wanted = given
    if wanted is found or (words := _words_of(full_name)) is None:
        return
    raise OperatorError(
        words.format(
            wanted=wanted.word, found=found.word,
            wanted_cpp=cpp_name(wanted), found_cpp=cpp_name(found), is_int32=wanted is int32,
        )
    )  # fmt: skip


def check_product_dtype(given: DType, asked: DType) -> None:
    """Refuse a dtype that a product of matrices of `given` elements is not made in.

    Raises:
        OperatorError: neither the same nor, of half types, float32.
    """
    if asked is not given and not (asked is float32 and given in (float16, bfloat16)):
        raise OperatorError(
            "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs"
        )
