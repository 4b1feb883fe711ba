"""Reductions and normalisations that leave masked elements out, as `torch.masked` has them.

A mask is true where an element counts. The others are replaced by the identity of the operation, so
each function is the plain operator on a filled tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.dtypes import Category, DType, bool_, float32, int64
from tensorscript.base.errors import OperatorError, ValueRangeError

from .composites import op
from .tensor import Tensor

Face = Callable[..., Any]


def _limit(dtype: DType, upper: bool) -> float:
    """The greatest or the least number of `dtype`."""
    if dtype.is_integral:
        info = np.iinfo(dtype.numpy)
        return int(info.max if upper else info.min)
    return math.inf if upper else -math.inf


def _mask(input: Tensor, mask: Tensor) -> Tensor:
    """`mask` as bool in the shape of `input`."""
    if mask.dim() > input.dim():
        raise OperatorError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)"
        )
    shaped = op("broadcast_to", mask, list(input.shape))
    return shaped if shaped.dtype is bool_ else op("ne", shaped, 0)  # type: ignore[no-any-return]  # a tensor


def _filled(input: Tensor, mask: Tensor | None, identity: float) -> Tensor:
    if mask is None:
        return input
    found: Tensor = op("where", _mask(input, mask), input, op("full_like", input, identity))
    return found


def _dims(dim: int | Sequence[int] | None, ndim: int) -> list[int]:
    """All dimensions where none are given; each once.

    Raises:
        OperatorError: one is named twice.
    """
    if dim is None:
        return list(range(ndim))
    given = [dim] if isinstance(dim, int) else list(dim)
    found = sorted(d % ndim if ndim else 0 for d in given)
    if len(set(found)) != len(found):
        raise OperatorError(f"dim={found[0]} appears multiple times in the list of dims")
    return found or list(range(ndim))


def _wide(input: Tensor, dtype: DType | None) -> DType:
    """Sums and products of bools and integers are int64."""
    small = input.dtype.category in (Category.BOOL, Category.INTEGRAL)
    return dtype or (int64 if small else input.dtype)


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    filled, dims = _filled(input, mask, 0), _dims(dim, input.dim())
    return op("sum", filled, dims, bool(keepdim), dtype=_wide(input, dtype))


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    out = _filled(input, mask, 1).to(_wide(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        out = op("prod", out, d, bool(keepdim))
    return out


def _scan(name: str, identity: int) -> Face:
    def run(
        input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
    ) -> Any:
        filled = _filled(input, mask, identity)
        return op(name, filled, _dims(dim, input.dim())[0], dtype=dtype or input.dtype)

    return run


def _extremum(name: str, upper: bool) -> Face:
    def run(
        input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Any:  # fmt: skip
        filled = _filled(input, mask, _limit(input.dtype, not upper))
        dims = dim if name.startswith("arg") else _dims(dim, input.dim())
        return op(name, filled, dims, bool(keepdim)).to(dtype or input.dtype)

    return run


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Any:
    counted = op("ones_like", input, dtype=int64) if mask is None else _mask(input, mask)
    return op("sum", counted, _dims(dim, input.dim()), keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    out = dtype or input.dtype
    if not (out.is_floating_point or out.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueRangeError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {out}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=out, mask=mask)
    return total / _count(input, dim, bool(keepdim), mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    """Along one dimension; rows that are masked as a whole are NaN, or refused for integers."""
    floating = input.dtype.is_floating_point
    filled = _filled(input if floating else input.to(float32), mask, math.nan)
    found = op("nanmedian", filled, _dims(dim, input.dim())[0], keepdim)[0]
    if floating:
        return found
    if op("isnan", found).any():
        raise ValueRangeError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(dtype or input.dtype)


def norm(
    input: Tensor, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool = False,
    dtype: DType | None = None, mask: Tensor | None = None,
) -> Any:  # fmt: skip
    order = 2.0 if ord is None else ord
    filled = _filled(input, mask, math.inf if order == -math.inf else 0)
    dims = _dims(dim, input.dim())
    return op("linalg_vector_norm", filled, order, dims, bool(keepdim), dtype=dtype or input.dtype)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    least = op("full_like", size, eps)
    return op("div", _filled(input, mask, 0), op("maximum", size, least))


def _spread(root: bool) -> Face:
    def run(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, *,
        correction: float | None = None, keepdim: bool = False, dtype: DType | None = None,
        mask: Tensor | None = None,
    ) -> Any:  # fmt: skip
        less = correction if correction is not None else float(unbiased is not False)
        fractional = input.dtype.is_floating_point or input.dtype.is_complex
        out = dtype or (input.dtype if fractional else float32)
        count = _count(input, dim, True, mask)
        centre = sum(input, dim, keepdim=True, dtype=out, mask=mask) / count
        x = op("sub", input, centre)
        total = sum(x * op("conj_physical", x), dim, keepdim=keepdim, dtype=out, mask=mask)
        left = op("clamp_min", op("sub", count.reshape(list(total.shape)), less), 0)
        found = op("div", total, left).to(out)
        return op("sqrt", found) if root else found

    return run


def _softmax(name: str, sign: int) -> Face:
    def run(
        input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None
    ) -> Any:
        filled = _filled(input, mask, -sign * math.inf)
        source = filled if sign > 0 else op("neg", filled)
        return op(name, source, _dims(dim, input.dim())[0], dtype or input.dtype)

    return run


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None,
    input_mask: Tensor | None = None, other_mask: Tensor | None = None,
) -> Any:  # fmt: skip
    first, second = _filled(input, input_mask, -math.inf), _filled(other, other_mask, -math.inf)
    return op("logaddexp", first, second).to(dtype or input.dtype)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:  # fmt: skip
    filled = _filled(input, mask, _limit(input.dtype, upper=False))
    return op("logsumexp", filled, _dims(dim, input.dim()), keepdim).to(dtype or input.dtype)


FACES: dict[str, Face] = {
    "sum": sum, "prod": prod, "mean": mean, "median": median, "norm": norm,
    "cumsum": _scan("cumsum", 0), "cumprod": _scan("cumprod", 1),
    "amax": _extremum("amax", upper=True), "amin": _extremum("amin", upper=False),
    "argmax": _extremum("argmax", upper=True), "argmin": _extremum("argmin", upper=False),
    "var": _spread(root=False), "std": _spread(root=True), "normalize": normalize,
    "softmax": _softmax("softmax", 1), "log_softmax": _softmax("log_softmax", 1),
    "softmin": _softmax("softmax", -1), "logaddexp": logaddexp, "logsumexp": logsumexp,
}  # fmt: skip
