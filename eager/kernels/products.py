"""Products of vectors, matrices and stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.dtypes import float32, int8, int32, uint8
from tensorscript.base.errors import OperatorError
from tensorscript.base.out_dtypes import check_product_dtype

from ..storage import Array, array, cast, compute, promoted, wrap
from .shapes import check_broadcast, normal_dim
from .strided import resize_

Kernel = Callable[..., Any]


def same_dtype(a: Any, b: Any, words: str = "expected m1 and m2 to have the same dtype") -> None:
    if a.dtype is not b.dtype:
        raise OperatorError(f"{words}, but got: {cpp_name(a.dtype)} != {cpp_name(b.dtype)}")


def same_scalar_type(a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise OperatorError(f"expected scalar type {a.dtype.word} but found {b.dtype.word}")


def _product(a: Array, b: Array) -> Array:
    return np.asarray(np.matmul(a, b))


def mm(self: Any, mat2: Any, *_: Any) -> Any:
    a, b = compute(self), compute(mat2)
    if a.ndim != 2:
        raise OperatorError("self must be a matrix")
    if b.ndim != 2:
        raise OperatorError("mat2 must be a matrix")
    _check_inner(a, b)
    same_dtype(self, mat2)
    return wrap(_product(a, b), self.dtype)


def int_mm(self: Any, mat2: Any, *_: Any) -> Any:
    """An exact product of bytes, in int32."""
    if self.dtype not in (int8, uint8):
        raise OperatorError(
            "int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got "
            f"{cpp_name(self.dtype)}"
        )
    if mat2.dtype is not int8:
        raise OperatorError(
            f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {cpp_name(mat2.dtype)}"
        )
    for name, t in (("self", self), ("mat2", mat2)):
        if t.dim() != 2:
            raise OperatorError(
                f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {t.dim()}"
            )
    a, b = (compute(t).astype(np.int32) for t in (self, mat2))
    if a.shape[1] != b.shape[0]:
        raise OperatorError(
            "int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got "
            f"{a.shape[1]} and {b.shape[0]}"
        )
    return wrap(a @ b, int32)


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
    same_scalar_type(self, mat2)
    return wrap(_product(a, b), self.dtype)


def matmul(self: Any, other: Any) -> Any:
    a, b = compute(self), compute(other)
    if a.ndim == 0 or b.ndim == 0:
        raise OperatorError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    if a.ndim > 2 and b.ndim > 2:
        same_scalar_type(self, other)
    same_dtype(self, other)
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


def addbmm(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    total = wrap(compute(bmm(batch1, batch2)).sum(0), batch1.dtype)
    return _blend(self, total, beta, alpha)


def addbmm_(self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """The sum in place of `self`, which takes its shape."""
    made = array(addbmm(self, batch1, batch2, beta, alpha))
    if made.shape != array(self).shape:
        resize_(self, made.shape)
    array(self)[...] = made
    return self


def mv(self: Any, vec: Any) -> Any:
    return matmul(self, vec)


def _blended(product: Callable[[Any, Any], Any]) -> Kernel:
    """beta * self + alpha * product; of half types the product is rounded with the sum, once."""

    def run(self: Any, left: Any, right: Any, beta: Any = 1, alpha: Any = 1) -> Any:
        is_half = left.dtype.is_floating_point and left.dtype.bits == 16
        if not is_half or left.dtype is not right.dtype:
            return _blend(self, product(left, right), beta, alpha)
        wide = [wrap(compute(t), float32) for t in (left, right)]
        return wrap(array(_blend(self, product(*wide), beta, alpha)), left.dtype)

    return run


def _into_dtype(fn: Kernel, tensors: int) -> Kernel:
    """The overload that also says the dtype of the result, to which half types are widened."""

    def run(*bound: Any) -> Any:
        given, asked, rest = bound[:tensors], bound[tensors], bound[tensors + 1 :]
        check_product_dtype(given[-1].dtype, asked)
        same_dtype(*given[-2:])
        return fn(*(wrap(cast(t, asked), asked) for t in given), *rest)

    return run


def _vectors(name: str, **given: Any) -> None:
    for word, x in given.items():
        if array(x).ndim != 1:
            raise OperatorError(f"{name}: Expected 1-D argument {word}, but got {array(x).ndim}-D")


def inner(self: Any, other: Any) -> Any:
    if array(self).ndim == 0 or array(other).ndim == 0:
        dtype = promoted(self, other)
        return wrap(np.multiply(cast(self, dtype), cast(other, dtype)), dtype)
    same_dtype(self, other, "both inputs should have same dtype")
    return wrap(np.inner(compute(self), compute(other)), self.dtype)


def vdot(self: Any, other: Any) -> Any:
    if array(self).ndim != 1 or array(other).ndim != 1:
        raise OperatorError(
            f"1D tensors expected, but got {array(self).ndim}D and {array(other).ndim}D tensors"
        )
    return wrap(np.vdot(compute(self), compute(other)), self.dtype)


def outer(self: Any, vec2: Any) -> Any:
    dtype = promoted(self, vec2)
    return wrap(np.multiply.outer(cast(self, dtype), cast(vec2, dtype)), dtype)


def addr(self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    _vectors("addr", vec1=vec1, vec2=vec2)
    return _blend(self, outer(vec1, vec2), beta, alpha)


def linear(self: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias; x (*, in), weight (out, in)."""
    same_dtype(self, weight)
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


def tensordot(self: Any, other: Any, dims_self: Sequence[int], dims_other: Sequence[int]) -> Any:
    """Sums over pairs of dimensions; a pair in which one has size 1 broadcasts."""
    a, b = compute(self), compute(other)
    first = [normal_dim(d, a.ndim) for d in dims_self]
    second = [normal_dim(d, b.ndim) for d in dims_other]
    if len(first) != len(second):
        raise OperatorError("both dimension lists should have same length")
    for at, (i, j) in enumerate(zip(first, second, strict=True)):
        m, n = a.shape[i], b.shape[j]
        if m == 1 != n:
            b = b.sum(j, keepdims=True, dtype=b.dtype)
        elif n == 1 != m:
            a = a.sum(i, keepdims=True, dtype=a.dtype)
        elif m != n:
            raise OperatorError(
                f"contracted dimensions need to match, but first has size {m} in dim "
                f"{dims_self[at]} and second has size {n} in dim {dims_other[at]}"
            )
    return wrap(np.tensordot(a, b, (first, second)), self.dtype)


def multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of several matrices; the first and the last may be vectors."""
    if len(tensors) < 2:
        raise OperatorError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    arrays = [compute(x) for x in tensors]
    for k, a in enumerate(arrays):
        edge = k in (0, len(arrays) - 1)
        if a.ndim != 2 and not (edge and a.ndim == 1):
            wanted = "1D or 2D" if edge else "2D"
            raise OperatorError(f"multi_dot(): tensor {k} must be {wanted} but got {a.ndim}D")
    out = arrays[0]
    for a in arrays[1:]:
        _check_inner(out if out.ndim == 2 else out[None], a if a.ndim == 2 else a[:, None])
        out = _product(out, a)
    return wrap(out, tensors[0].dtype)


KERNELS: dict[str, Kernel] = {
    "aten::mm": mm,
    "aten::mm.dtype": _into_dtype(mm, 2),
    "aten::bmm.dtype": _into_dtype(bmm, 2),
    "aten::addmm.dtype": _into_dtype(_blended(mm), 3),
    "aten::baddbmm.dtype": _into_dtype(_blended(bmm), 3),
    "aten::_int_mm": int_mm,
    "aten::bmm": bmm,
    "aten::matmul": matmul,
    "aten::dot": dot,
    "aten::vdot": vdot,
    "aten::inner": inner,
    "aten::mv": mv,
    "aten::addmm": _blended(mm),
    "aten::addmv": _blended(mv),
    "aten::addbmm": addbmm,
    "aten::addbmm_": addbmm_,
    "aten::baddbmm": _blended(bmm),
    "aten::addr": addr,
    "aten::outer": outer,
    "aten::ger": outer,
    "aten::linear": linear,
    "aten::bilinear": bilinear,
    "aten::tensordot": tensordot,
    "aten::chain_matmul": lambda ts: (
        wrap(np.linalg.multi_dot([compute(x) for x in ts]), ts[0].dtype) if ts[1:] else ts[0]
    ),
    "aten::linalg_matmul": matmul,
    "aten::linalg_multi_dot": multi_dot,
}
