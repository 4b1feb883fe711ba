"""Matrix products and small linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import float32, float64
from tensorscript.base.errors import OperatorError

from ..storage import Array, array, cast, compute, make, promoted, sum_dtype, wrap
from .shapes import check_broadcast

Kernel = Callable[..., Any]


def _same_dtype(a: Any, b: Any, words: str = "expected m1 and m2 to have the same dtype") -> None:
    if a.dtype is not b.dtype:
        raise OperatorError(f"{words}, but got: {_c_name(a.dtype.word)} != {_c_name(b.dtype.word)}")


def _c_name(word: str) -> str:
    names = {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long long"}
    return names.get(word, word.lower())


def _product(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a, b))


def mm(self: Any, mat2: Any, *_: Any) -> Any:
    a, b = compute(self), compute(mat2)
    if a.ndim != 2:
        raise OperatorError("self must be a matrix")
    if b.ndim != 2:
        raise OperatorError("mat2 must be a matrix")
    _check_inner(a, b)
    _same_dtype(self, mat2)
    return wrap(_product(a, b), self.dtype)


def _check_inner(a: Array, b: Array) -> None:
    if a.shape[-1] != b.shape[-2]:
        m, k = a.shape[-2:]
        raise OperatorError(
            f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {b.shape[-2]}x{b.shape[-1]})"
        )


def bmm(self: Any, mat2: Any) -> Any:
    a, b = compute(self), compute(mat2)
    for found, name in ((a, "batch1"), (b, "batch2")):
        if found.ndim != 3:
            raise OperatorError(f"{name} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise OperatorError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, "
            f"{a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    _same_dtype(self, mat2)
    return wrap(_product(a, b), self.dtype)


def matmul(self: Any, other: Any) -> Any:
    a, b = compute(self), compute(other)
    if a.ndim == 0 or b.ndim == 0:
        raise OperatorError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    _same_dtype(self, other)
    if a.ndim == 1 and b.ndim == 1:
        return dot(self, other)
    left = a if a.ndim > 1 else a[None]
    right = b if b.ndim > 1 else b[:, None]
    if b.ndim == 1 and left.shape[-1] != b.shape[0]:
        raise OperatorError(
            f"size mismatch, got input ({left.shape[-2]}), mat ({left.shape[-2]}x"
            f"{left.shape[-1]}), vec ({b.shape[0]})"
        )
    _check_inner(left, right)
    if left.ndim > 2 or right.ndim > 2:
        check_broadcast(np.empty(left.shape[:-2]), np.empty(right.shape[:-2]))
    return wrap(np.matmul(a, b), self.dtype)


def dot(self: Any, tensor: Any) -> Any:
    a, b = compute(self), compute(tensor)
    if a.ndim != 1 or b.ndim != 1:
        raise OperatorError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        raise OperatorError(
            "inconsistent tensor size, expected tensor "
            f"[{a.size}] and src [{b.size}] to have the same number of elements, but got "
            f"{a.size} and {b.size} elements respectively"
        )
    return wrap(np.dot(a, b), self.dtype)


def _blend(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * self + alpha * product; a zero beta ignores self, NaN included."""
    x = compute(product)
    scaled = x if alpha == 1 else x * np.asarray(alpha, x.dtype)
    if beta == 0:
        return wrap(scaled, product.dtype)
    bias = cast(self, product.dtype)
    check_broadcast(bias, scaled)
    return wrap(scaled + (bias if beta == 1 else bias * np.asarray(beta, x.dtype)), product.dtype)


def addmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _blend(self, mm(mat1, mat2), beta, alpha)


def baddbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _blend(self, bmm(batch1, batch2), beta, alpha)


def addbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    total = wrap(compute(bmm(batch1, batch2)).sum(0), batch1.dtype)
    return _blend(self, total, beta, alpha)


def mv(self: Any, vec: Any) -> Any:
    return matmul(self, vec)


def addmv(self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _blend(self, mv(mat, vec), beta, alpha)


def _vectors(name: str, **given: Any) -> None:
    for word, x in given.items():
        if array(x).ndim != 1:
            raise OperatorError(f"{name}: Expected 1-D argument {word}, but got {array(x).ndim}-D")


def inner(self: Any, other: Any) -> Any:
    if array(self).ndim == 0 or array(other).ndim == 0:
        dtype = promoted(self, other)
        return wrap(np.multiply(cast(self, dtype), cast(other, dtype)), dtype)
    _same_dtype(self, other, "both inputs should have same dtype")
    return wrap(np.inner(compute(self), compute(other)), self.dtype)


def vdot(self: Any, other: Any) -> Any:
    if array(self).ndim != 1 or array(other).ndim != 1:
        raise OperatorError(
            f"1D tensors expected, but got {array(self).ndim}D and {array(other).ndim}D tensors"
        )
    return wrap(np.vdot(compute(self), compute(other)), self.dtype)


def outer(self: Any, vec2: Any) -> Any:
    _vectors("outer", self=self, vec2=vec2)
    dtype = promoted(self, vec2)
    return wrap(np.multiply.outer(cast(self, dtype), cast(vec2, dtype)), dtype)


def addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    _vectors("addr", vec1=vec1, vec2=vec2)
    return _blend(self, outer(vec1, vec2), beta, alpha)


def linear(self: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias; x (*, in), weight (out, in)."""
    _same_dtype(self, weight, "mat1 and mat2 must have the same dtype")
    x, w = compute(self), compute(weight)
    if x.shape[-1:] != w.shape[-1:]:
        rows = int(np.prod(x.shape[:-1], dtype=np.int64))
        raise OperatorError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
            f"{w.shape[-1]}x{w.shape[0]})"
        )
    out = np.matmul(x, w.T)
    return wrap(out if bias is None else out + compute(bias), self.dtype)


def bilinear(first: Any, second: Any, weight: Any, bias: Any = None) -> Any:
    out = np.einsum("...i,oij,...j->...o", compute(first), compute(weight), compute(second))
    return wrap(out if bias is None else out + compute(bias), first.dtype)


def einsum(equation: str, tensors: Sequence[Any], path: Any = None) -> Any:
    dtype = promoted(*tensors)
    try:
        out = np.einsum(equation.replace(" ", ""), *(cast(x, dtype) for x in tensors),
                        optimize=len(tensors) > 2)  # fmt: skip
    except ValueError as error:
        raise OperatorError(f"einsum(): {error}") from error
    return wrap(out, dtype)


def tensordot(self: Any, other: Any, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    return wrap(
        np.tensordot(compute(self), compute(other), (tuple(dims_self), tuple(dims_other))),
        self.dtype,
    )


def triangle(fn: Callable[..., Any]) -> Kernel:
    def run(self: Any, diagonal: int = 0) -> Any:
        if array(self).ndim < 2:
            raise OperatorError(f"{fn.__name__}: input tensor must have at least 2 dimensions")
        return make(fn(array(self), diagonal), self.dtype)

    return run


def diag(self: Any, diagonal: int = 0) -> Any:
    return make(np.array(np.diag(array(self), diagonal)), self.dtype)


def diag_embed(self: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    a = array(self)
    n = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], n, n), a.dtype)
    k = np.arange(a.shape[-1])
    out[..., k + max(0, -offset), k + max(0, offset)] = a
    return make(np.moveaxis(out, (-2, -1), (dim1, dim2)), self.dtype)


def trace(self: Any) -> Any:
    if array(self).ndim != 2:
        raise OperatorError(f"trace: expected a matrix, but got tensor with dim {array(self).ndim}")
    out = sum_dtype(self.dtype)
    return wrap(np.trace(cast(self, out)), out)


def cdist(first: Any, second: Any, p: float = 2.0, mode: Any = None) -> Any:
    difference = np.abs(compute(first)[..., :, None, :] - compute(second)[..., None, :, :])
    if p == float("inf"):
        return wrap(difference.max(-1), first.dtype)
    if p == 0:
        return wrap((difference != 0).sum(-1), first.dtype)
    return wrap((difference**p).sum(-1) ** (1 / p), first.dtype)


def kron(self: Any, other: Any) -> Any:
    dtype = promoted(self, other)
    return wrap(np.kron(cast(self, dtype), cast(other, dtype)), dtype)


def cross(self: Any, other: Any, dim: int | None = None) -> Any:
    shape = array(self).shape
    if dim is None and 3 not in shape:
        raise OperatorError("no dimension of size 3 in input")
    axis = shape.index(3) if dim is None else dim
    if self.dtype is not other.dtype:
        raise OperatorError(f"expected scalar type {self.dtype.word} but found {other.dtype.word}")
    a, b = np.moveaxis(compute(self), axis, -1), np.moveaxis(compute(other), axis, -1)
    out = np.roll(a, -1, -1) * np.roll(b, 1, -1) - np.roll(a, 1, -1) * np.roll(b, -1, -1)
    return wrap(np.moveaxis(out, -1, axis), self.dtype)


def lapack(fn: Callable[..., Any]) -> Kernel:
    """A NumPy linear algebra function; singular inputs are refused in its words."""

    def run(*operands: Any) -> Any:
        try:
            out = fn(*(compute(x) for x in operands))
        except np.linalg.LinAlgError as error:
            raise OperatorError(f"linalg: {error}") from error
        if isinstance(out, tuple):
            return tuple(_at_precision(o, operands[0].dtype) for o in out)
        return wrap(out, operands[0].dtype)

    return run


def _at_precision(out: Array, dtype: Any) -> Any:
    real = out.dtype.kind == "f" and dtype.is_complex
    return wrap(out, (float64 if dtype.bits == 128 else float32) if real else dtype)


def matrix_power(self: Any, n: int) -> Any:
    return wrap(np.linalg.matrix_power(compute(self), n), self.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::mm": mm,
    "aten::bmm": bmm,
    "aten::matmul": matmul,
    "aten::dot": dot,
    "aten::vdot": vdot,
    "aten::inner": inner,
    "aten::mv": mv,
    "aten::addmm": addmm,
    "aten::addmv": addmv,
    "aten::addbmm": addbmm,
    "aten::baddbmm": baddbmm,
    "aten::addr": addr,
    "aten::outer": outer,
    "aten::ger": outer,
    "aten::linear": linear,
    "aten::bilinear": bilinear,
    "aten::einsum": einsum,
    "aten::tensordot": tensordot,
    "aten::tril": triangle(np.tril),
    "aten::triu": triangle(np.triu),
    "aten::diag": diag,
    "aten::diag_embed": diag_embed,
    "aten::trace": trace,
    "aten::cdist": cdist,
    "aten::kron": kron,
    "aten::cross": cross,
    "aten::linalg_cross": lambda a, b, dim=-1: cross(a, b, dim),
    "aten::chain_matmul": lambda ts: wrap(
        np.linalg.multi_dot([compute(x) for x in ts]), ts[0].dtype
    ),
    "aten::inverse": lapack(np.linalg.inv),
    "aten::linalg_inv": lapack(np.linalg.inv),
    "aten::det": lapack(np.linalg.det),
    "aten::linalg_det": lapack(np.linalg.det),
    "aten::slogdet": lapack(lambda x: tuple(np.linalg.slogdet(x))),
    "aten::linalg_eigh": lambda self, uplo="L": lapack(lambda x: tuple(np.linalg.eigh(x, uplo)))(
        self
    ),
    "aten::matrix_power": matrix_power,
    "aten::linalg_matrix_power": matrix_power,
}
