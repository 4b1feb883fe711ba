"""Memory that is written and read: what PyTorch refuses of in-place operators and of `out=`.

Most operators write element by element while they read. They refuse a tensor to write to whose
elements share memory (a stride of 0), and one that shares a part of its memory with a tensor that
they read; the very same elements are read before they are written. Rows were taken from PyTorch
2.13 by calling each operator of its database with such tensors.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(f"aten::{name}" for name in text.split())


_VIEWS = _names(
    "as_strided_ detach_ rename_ requires_grad_ resize_ resize_as_ set_ set_data squeeze_ "
    "swapaxes_ swapdims_ t_ transpose_ unsqueeze_ _resize_output_"
)
"""They change what the tensor is, and no element."""

OVERLAP_ALLOWED = _VIEWS | _names(
    "_index_put_impl_ _no_grad_fill_ _no_grad_zero_ addmv_ baddbmm_ conj_physical_ fill_.Scalar "
    "fill_diagonal_ index_fill_ index_put_ masked_fill_ threshold_ tril_ triu_ zero_"
)
"""In-place operators, or an overload, that may write to elements that share memory."""

UNIFORM = _VIEWS | _names(
    "_no_grad_fill_ _no_grad_zero_ addmv_ baddbmm_ conj_physical_ fill_ threshold_ zero_"
)
"""Those of which each element has what it held before, so that the order does not matter."""

_EXPANDED = (
    "Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing"
    " this operation. This also applies to advanced indexing e.g. tensor[{written}"
)
DEPRECATED = {
    f"aten::{name}": _EXPANDED.format(name=name, written=written)
    for name, written in (
        ("index_fill_", "mask] = scalar"),
        ("index_put_", "indices] = tensor"),
        ("masked_fill_", "mask] = scalar"),
    )
}
"""In-place operators that may, and warn."""

_COMPOSED = _names(
    "alias_copy as_strided_copy diag diagonal_copy expand_copy log_softmax logsumexp "
    "mvlgamma norm permute_copy slice_scatter softmax special_ndtr squeeze_copy t_copy "
    "transpose_copy tril triu unfold_copy unsqueeze_copy view_copy"
)
_REDUCTIONS = _names(
    "all amax amin aminmax any argmax argmin count_nonzero histc mean median min max mode "
    "nanmean nanmedian nanquantile nansum prod quantile std sum var"
)
_MATRICES = _names(
    "addbmm addmm addmv baddbmm bmm cholesky cholesky_inverse cholesky_solve fft_hfft fft_hfft2 "
    "fft_hfftn fft_irfft fft_irfft2 fft_irfftn inverse linear lu_solve matmul mm mv ormqr tensordot"
)
PARTLY_ALLOWED = (
    _VIEWS
    | _COMPOSED
    | _REDUCTIONS
    | _MATRICES
    | _names(
        "addbmm_ addmm_ addmv_ baddbmm_ fill_ fill_diagonal_ index_fill_ ldexp_ masked_fill_ "
        "masked_scatter_ zero_"
    )
)
"""Operators that may share a part of what they write with what they read."""

APART = _names(
    "bernoulli cat gather index_add_ index_copy_ index_put_ index_select kthvalue masked_select "
    "put_ scatter_ scatter_add_ scatter_reduce_ take"
)
"""Operators that may not share memory at all with what they read; without the underscore by
`out=`."""

COPIES = _names("copy_")
"""They do nothing, and refuse nothing, where they would write elements to themselves."""

SHARED = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a"
    " single memory location. Please clone() the tensor before performing the operation."
)
MESSAGE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single"
    " memory location. Please clone() the tensor before performing the operation."
)


def may_repeat(full_name: str) -> bool:
    """Whether the in-place overload `full_name` may write to elements that share memory."""
    return full_name in OVERLAP_ALLOWED or full_name.partition(".")[0] in OVERLAP_ALLOWED


def may_share_partly(full_name: str) -> bool:
    """Whether the overload may write to a part of what it reads."""
    name = full_name.partition(".")[0]
    whole = name.startswith(("aten::linalg_", "aten::_linalg_", "aten::_foreach_"))
    return whole or name in PARTLY_ALLOWED
