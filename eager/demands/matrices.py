"""What products, norms and distances ask of the dtypes and sizes of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tensorscript.base.dtypes import bfloat16, float16
from tensorscript.base.operand_dtypes import unimplemented

from ..kernels.einsum import labelled
from ..kernels.products import same_dtype
from ..kernels.shapes import broadcast, normal_dim
from ..storage import array
from .words import Demand, Ints, each, one_dtype_in_product, require, size_of, sizes_of


def _linear(input: Any, weight: Any, bias: Any = None) -> None:
    ranks = array(input).ndim, array(weight).ndim
    require(
        min(ranks) > 0,
        "both arguments to linear need to be at least 1D, but they are "
        f"{ranks[0]}D and {ranks[1]}D",
    )
    require(ranks[1] <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {ranks[1]}D")
    one_dtype_in_product(input, weight, bias is not None)
    if bias is None:
        return
    require(
        bias.dtype is input.dtype,
        f"self and mat2 must have the same dtype, but got {bias.dtype.word} and {input.dtype.word}",
    )
    *batch, _ = sizes_of(input)
    out, given = sizes_of(weight)[:-1], sizes_of(bias)
    if len(out) == 1 and len(given) == 1:
        require(
            given[0] in (1, out[0]),
            f"The expanded size of the tensor ({out[0]}) must match the existing size ({given[0]}) "
            f"at non-singleton dimension 1.  Target sizes: {[math.prod(batch), *out]}.  Tensor "
            f"sizes: {given}",
        )


def _addr(self: Any, vec1: Any, vec2: Any, *_: Any) -> None:
    if array(vec1).ndim != 1 or array(vec2).ndim != 1:
        return  # the kernel names the argument
    _expands(self, [array(vec1).size, array(vec2).size])


def _expands(self: Any, wanted: list[int]) -> None:
    """A product is what `self` broadcasts to, never the reverse."""
    sizes, rank = sizes_of(self), len(wanted)
    for at, n in enumerate(sizes[::-1], 1):
        target = wanted[-at] if at <= rank else n
        require(
            n in (1, target),
            f"The expanded size of the tensor ({target}) must match the existing size ({n}) at "
            f"non-singleton dimension {rank - at}.  Target sizes: {wanted}.  Tensor sizes: {sizes}",
        )


def _addmm(self: Any, mat1: Any, mat2: Any, *_: Any) -> None:
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        n = array(x).ndim
        require(n == 2, f"{name} must be a matrix, got {n}-D tensor")
    require(
        self.dtype is mat2.dtype,
        f"self and mat2 must have the same dtype, but got {self.dtype.word} and {mat2.dtype.word}",
    )
    (n, k), (m, p) = sizes_of(mat1), sizes_of(mat2)
    require(k == m, f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")
    _expands(self, [n, p])


def _addbmm(self: Any, batch1: Any, batch2: Any, *_: Any) -> None:
    if array(batch1).ndim == array(batch2).ndim == 3:
        (n, k), (m, p) = sizes_of(batch1)[1:], sizes_of(batch2)[1:]
        require(k == m, f"Incompatible matrix sizes for bmm ({n}x{k} and {m}x{p})")
        a, b = batch1.dtype, batch2.dtype
        require(a is b, f"mat1 and mat2 must have the same dtype, but got {a.word} and {b.word}")


def _baddbmm(self: Any, batch1: Any, batch2: Any, *_: Any) -> None:
    if array(batch1).ndim == array(batch2).ndim == 3:
        (b, n, k), (c, m, p) = sizes_of(batch1), sizes_of(batch2)
        if (b, k) == (c, m):  # the kernel words what does not fit
            _expands(self, [b, n, p])


def _inner(self: Any, other: Any) -> None:
    a, b = sizes_of(self), sizes_of(other)
    require(
        not (a and b) or a[-1] == b[-1],
        f"inner() the last dimension must match on both input tensors but got shapes {a} and {b}",
    )


def _chain(matrices: Sequence[Any]) -> None:
    for x in matrices:
        n = array(x).ndim
        require(n == 2, f"Tensor dimension is {n}, expected 2 instead.")


def _multi_dot(tensors: Sequence[Any]) -> None:
    count = len(tensors)
    require(count >= 2, f"multi_dot(): expected at least 2 tensors but got {count}")
    for k, x in enumerate(tensors):
        inner = 0 < k < count - 1
        name = f"tensor {k}" if inner else f"the {'last' if k else 'first'} tensor"
        n, wanted = array(x).ndim, [2] if inner else [1, 2]
        words = "2D" if inner else "1D or 2D"
        require(n in wanted, f"multi_dot(): {name} must be {words} but got {n}D")
    for k in range(count - 1):
        a, b = sizes_of(tensors[k]), sizes_of(tensors[k + 1])
        require(
            a[-1] == b[0],
            f"multi_dot(): tensors {k} and {k + 1} with shapes {a} and {b} cannot be multiplied",
        )


def _matrix_norm(self: Any, ord: Any, dim: Ints = (-2, -1), *_: Any) -> None:
    n = array(self).ndim
    require(n >= 2, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    require(len(dim) == 2, f"linalg.matrix_norm: dim must be a 2-tuple. Got {_listed(dim)}")
    require(
        normal_dim(dim[0], n) != normal_dim(dim[1], n),
        f"linalg.matrix_norm: dims must be different. Got ({_listed(dim)})",
    )


def _norm_by_word(self: Any, ord: str, dim: Ints | None = None, *_: Any) -> None:
    if dim is not None:
        _matrix_norm(self, ord, dim)


def _listed(dims: Ints) -> str:
    return ", ".join(map(str, dims))


def _vector_norm(
    self: Any, ord: Any = 2, dim: Ints | None = None, keepdim: bool = False, dtype: Any = None
) -> None:
    if dtype is not None:
        require(
            dtype.is_floating_point or dtype.is_complex,
            f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.word}",
        )
    if not (float(ord) < 0 or float(ord) == math.inf):
        return
    start = f"linalg.vector_norm cannot compute the {float(ord):g} norm on"
    if not dim:
        require(
            array(self).size > 0,
            f"{start} an empty tensor because the operation does not have an identity",
        )
    for d in dim or ():
        require(
            not array(self).ndim or size_of(self, d) > 0,
            f"{start} the dimension {d} because this dimension is empty and the operation does not "
            "have an identity",
        )


def _norm(self: Any, ord: Any = None, dim: Ints | None = None, *rest: Any) -> None:
    """Along one dimension it is that of vectors."""
    if ord is not None and (array(self).ndim if dim is None else len(dim)) == 1:
        _vector_norm(self, ord, dim, *rest)


def _dot(self: Any, tensor: Any) -> None:
    require(
        self.dtype is tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {self.dtype.word} and "
        f"{tensor.dtype.word}",
    )
    ranks = array(self).ndim, array(tensor).ndim
    require(ranks == (1, 1), f"1D tensors expected, but got {ranks[0]}D and {ranks[1]}D tensors")
    n, m = array(self).size, array(tensor).size
    require(
        n == m,
        f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
        f"of elements, but got {n} and {m} elements respectively",
    )


def _addmv(self: Any, mat: Any, vec: Any, *_: Any) -> None:
    ranks = array(mat).ndim, array(vec).ndim, array(self).ndim
    require(
        ranks[:2] == (2, 1) and ranks[2] <= 1,
        "vector + matrix @ vector expected, got {2}, {0}, {1}".format(*ranks),
    )


def _mv(self: Any, vec: Any) -> None:
    ranks = array(self).ndim, array(vec).ndim
    require(ranks == (2, 1), f"vector + matrix @ vector expected, got 1, {ranks[0]}, {ranks[1]}")


def _cross(self: Any, other: Any, dim: int | None = -1) -> None:
    if dim is not None:
        normal_dim(dim, array(self).ndim)
    require(
        array(self).ndim == array(other).ndim,
        "linalg.cross: inputs must have the same number of dimensions.",
    )
    require(
        self.dtype is other.dtype,
        f"expected scalar type {self.dtype.word} but found {other.dtype.word}",
    )


# -- distances ------------------------------------------------------------------------------------
def _cdist(x1: Any, x2: Any, p: float = 2.0, *_: Any) -> None:
    for at, x in enumerate((x1, x2), 1):
        require(
            x.dtype.is_floating_point,
            f"cdist only supports floating-point dtypes, X{at} got: {x.dtype.word}",
        )
    _exponent("cdist", p)
    for at, x in enumerate((x1, x2), 1):
        rank = array(x).ndim
        require(rank >= 2, f"X{at} must have at least two dimensions.")
        if x.dtype in (bfloat16, float16):
            raise unimplemented("cdist", x.dtype)
    columns = sizes_of(x1)[-1], sizes_of(x2)[-1]
    require(
        columns[0] == columns[1],
        f"X1 and X2 must have the same number of columns. X1: {columns[0]} X2: {columns[1]}",
    )


def _pdist(self: Any, p: float = 2.0) -> None:
    _exponent("pdist", p)


def _exponent(name: str, p: float) -> None:
    require(p >= 0, f"{name} only supports non-negative p values")


def _close(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, *_: Any) -> None:
    for name, found in (("rtol", rtol), ("atol", atol)):
        require(found >= 0, f"{name} must be greater than or equal to zero, but got {found:g}")
    broadcast(array(self).shape, array(other).shape)


def _einsum(equation: str, tensors: Sequence[Any], path: Any = None) -> None:
    labelled(equation, [array(x).shape for x in tensors])


def _outer(self: Any, vec2: Any) -> None:
    for word, x in (("self", self), ("vec2", vec2)):
        n = array(x).ndim
        require(n == 1, f"outer: Expected 1-D argument {word}, but got {n}-D")


MATRICES: dict[str, Demand] = {
    **each(_outer, "outer", "ger"),
    **each(_addmv, "addmv"),
    **each(_mv, "mv"),
    **each(_dot, "dot", "vdot"),
    **each(_linear, "linear"),
    **each(_addr, "addr"),
    **each(_addmm, "addmm"),
    **each(_addbmm, "addbmm"),
    **each(_baddbmm, "baddbmm"),
    **each(_inner, "inner"),
    **each(_chain, "chain_matmul"),
    **each(_multi_dot, "linalg_multi_dot"),
    **each(_matrix_norm, "linalg_matrix_norm", "linalg_matrix_norm.str_ord"),
    **each(_norm, "linalg_norm"),
    **each(_norm_by_word, "linalg_norm.ord_str"),
    **each(_vector_norm, "linalg_vector_norm"),
    **each(_cross, "linalg_cross", "cross"),
    **each(same_dtype, "_euclidean_dist"),
    **each(_cdist, "cdist"),
    **each(_pdist, "pdist"),
    **each(_close, "isclose", "allclose"),
    **each(_einsum, "einsum"),
}
"""Overloads to what they ask, in the words of PyTorch."""
