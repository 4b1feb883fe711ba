"""Public functions that are no operator, or whose Python face takes other arguments than it.

Each is made of dispatched operators, so a tracer sees its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.errors import ArgumentError, OperatorError, ValueRangeError
from tensorscript.base.out_dtypes import check_out
from tensorscript.base.schema import schema

from .dispatch import call, call_overload, store
from .storage import TensorBase
from .tracing import active_tracer
from .tracking import written

Face = Callable[..., Any]


def op(name: str, *args: Any, **kwargs: Any) -> Any:
    return call(f"aten::{name}", args, kwargs)


def variadic(name: str) -> Face:
    """`f(a, b)` and `f([a, b])` are the same."""

    def run(*tensors: Any, **options: Any) -> Any:
        one = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        given = tensors[0] if one else tensors
        found = op(name, list(given), **options)
        return tuple(found) if isinstance(found, list) else found

    run.__name__ = name
    return run


def with_out(face: Face, name: str) -> Face:
    """`face` with `out=`, a tensor that takes the result as that of operator `name` is taken."""

    def run(*args: Any, out: Any = None, **options: Any) -> Any:
        found = face(*args, **options)
        if out is None:
            return found
        written(out)
        check_out(f"aten::{name}", found.dtype, out.dtype)
        held = out._array.shape
        store(out, found)
        record_write(out, found, held)
        return out

    run.__name__ = face.__name__
    return run


def record_write(out: TensorBase, found: TensorBase, held: tuple[int, ...]) -> None:
    """Tell a tracer that `out`, which had shape `held`, was given the elements of `found`."""
    if (tracer := active_tracer()) is None:
        return
    if held == found._array.shape:
        tracer.ran(schema("aten::copy_"), (out, found, False), out)
    else:
        tracer.ran(schema("aten::alias"), (found,), out)


def atleast(ndim: int) -> Face:
    """One tensor, or each of several."""
    name = f"atleast_{ndim}d"

    def run(*tensors: Any) -> Any:
        several = len(tensors) != 1 or isinstance(tensors[0], (list, tuple))
        given = tensors[0] if several and len(tensors) == 1 else tensors
        return tuple(op(name, list(given))) if several else op(name, tensors[0])

    return run


def only_tensors(*tensors: Any) -> Any:
    """`block_diag(*tensors)`: numbers and lists are refused."""
    for x in tensors:
        if not isinstance(x, TensorBase):
            raise ArgumentError(f"torch.block_diag: expected Tensors but found {type(x).__name__}")
    return op("block_diag", list(tensors))


_CDIST_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}  # fmt: skip


def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    if compute_mode not in _CDIST_MODES:
        raise ValueRangeError(f"{compute_mode} is not a valid value for compute_mode")
    return op("cdist", x1, x2, float(p), _CDIST_MODES[compute_mode])


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """`dims`: a number of trailing/leading dimensions or a pair of lists; or a tensor of either."""
    if isinstance(dims, TensorBase):
        dims = _contracted(dims)
    if isinstance(dims, int):
        if dims < 0:
            raise OperatorError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise OperatorError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(-dims, 0)), list(range(dims)))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    return op("tensordot", a, b, first, second)


def _contracted(dims: Any) -> Any:
    """What a tensor of dimensions says: their number, or (2, n) the lists of both operands."""
    if dims.numel() <= 1:
        return int(dims.item())
    if dims.size(0) != 2:
        raise AssertionError(f"dims tensor must have size 2 in first dimension, got {dims.size(0)}")
    return dims[0].tolist(), dims[1].tolist()


def nonzero(input: Any, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The places of what is not 0, a row each, or with `as_tuple` a tensor a dimension."""
    if out is not None:
        if as_tuple:
            raise OperatorError("nonzero does not support the out kwarg when as_tuple is True")
        return op("nonzero", input, out=out)
    return tuple(op("nonzero_numpy", input)) if as_tuple else op("nonzero", input)


def norm(input: Any, *args: Any, **kwargs: Any) -> Any:
    return input.norm(*args, **kwargs)


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The windows' spectra; with `center` the signal is padded by half a window on both sides."""
    if center:
        dims, half = input.dim(), int(n_fft // 2)
        input = op("pad", input.view([1] * (3 - dims) + list(input.size())), [half] * 2, pad_mode)
        input = input.view(input.shape[-dims:])
    return call_overload("aten::stft", (
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
        align_to_window,
    ))  # fmt: skip


def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:
    """Central differences; `spacing` a number, or one number or coordinate vector a dimension."""
    given = list(spacing) if isinstance(spacing, tuple) else spacing
    dims = [dim] if isinstance(dim, int) and isinstance(given, list) else dim
    dims = list(dims) if isinstance(dims, tuple) else dims
    return tuple(op("gradient", input, spacing=given, dim=dims, edge_order=edge_order))


def unique(
    x: Any, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False, dim: int | None = None,
) -> Any:  # fmt: skip
    if dim is None:
        found = call("aten::_unique2", (x, sorted, return_inverse, return_counts))
    else:
        found = call("aten::unique_dim", (x, dim, sorted, return_inverse, return_counts))
    kept = [found[0], *(f for f, asked in ((found[1], return_inverse), (found[2], return_counts))
                        if asked)]  # fmt: skip
    return kept[0] if len(kept) == 1 else tuple(kept)


def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    found = call("aten::unique_consecutive", (x, return_inverse, return_counts, dim))
    asked = (True, return_inverse, return_counts)
    kept = [f for f, wanted in zip(found, asked, strict=True) if wanted]
    return kept[0] if len(kept) == 1 else tuple(kept)


def lu(input: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The packed LU factorisation and its pivots; with `get_infos` also where it is singular."""
    found = op("_lu_with_info", input, pivot, not get_infos)
    kept = tuple(found) if get_infos else tuple(found[:2])
    if out is None:
        return kept
    if len(out) != len(kept):
        raise ArgumentError(f"expected tuple of {len(kept)} elements but got {len(out)}")
    if not isinstance(out, (tuple, list)):
        raise ArgumentError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    for target, result in zip(out, kept, strict=True):
        target.resize_as_(result).copy_(result)
    return out


def _basis(a: Any, count: int, rounds: int, centre: Any) -> Any:
    """An orthonormal basis of about the range of `a` (Halko and others, 2011, algorithm 4.4)."""

    def product(x: Any, turned: bool = False) -> Any:
        left = a if centre is None else a - centre
        return op("matmul", left.mH if turned else left, x)

    columns = op("randn", [a.shape[-1], count], dtype=a.dtype, device=a.device)
    found = op("linalg_qr", product(columns))[0]
    for _ in range(rounds):
        found = op("linalg_qr", product(found, turned=True))[0]
        found = op("linalg_qr", product(found))[0]
    return found


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """The leading singular vectors and values of `A` (less `M`) by a random range finder."""
    count = 6 if q is None else q
    m, n = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.shape)
    if m < n:
        A, M = A.mH, None if M is None else M.mH
    basis = _basis(A, count, niter or 0, M)
    small = op("matmul", basis.mH, A if M is None else A - M)
    u, s, vh = op("linalg_svd", small, False)
    left, right = op("matmul", basis, u), vh.mH
    return (right, s, left) if m < n else (left, s, right)  # asked again, as traces are told


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """`svd_lowrank` of the rows of `A` less their mean."""
    m, n = A.shape[-2:]
    count = min(6, m, n) if q is None else q
    if not 0 <= count <= min(m, n):
        raise ValueRangeError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueRangeError(f"niter(={niter}) must be non-negative integer")
    centred = A - op("mean", A, [-2], True) if center else A
    return svd_lowrank(centred, count, niter)


def segment_reduce(data: Any, reduce: str, **options: Any) -> Any:
    return op("segment_reduce", data, reduce, **options)


FACES: dict[str, Face] = {
    "atleast_1d": atleast(1),
    "atleast_2d": atleast(2),
    "atleast_3d": atleast(3),
    "meshgrid": variadic("meshgrid"),
    "broadcast_tensors": variadic("broadcast_tensors"),
    "block_diag": only_tensors,
    "cartesian_prod": variadic("cartesian_prod"),
    "chain_matmul": variadic("chain_matmul"),
    "cdist": cdist,
    "tensordot": with_out(tensordot, "tensordot"),
    "nonzero": nonzero,
    "norm": with_out(norm, "norm"),
    "stft": stft,
    "gradient": gradient,
    "unique": unique,
    "unique_consecutive": unique_consecutive,
    "lu": lu,
    "svd_lowrank": svd_lowrank,
    "pca_lowrank": pca_lowrank,
    "_segment_reduce": segment_reduce,
}


METHODS: dict[str, Face] = {
    **{name: FACES[name] for name in ("stft", "lu", "unique", "unique_consecutive", "nonzero")},
    "polygamma": lambda self, n: op("polygamma", n, self),
}
"""Methods of tensors that are no operator on the same arguments."""
