"""What operators ask of a number that becomes an element: it lies in the range of the dtype."""

from __future__ import annotations

from functools import cache
from typing import Any

from tensorscript.base.dtypes import DType, bfloat16, float16, float32
from tensorscript.base.scalar_range import check_range
from tensorscript.base.schema import schema

from ..modes import MODES
from ..storage import TensorBase, array
from .index import check_filled
from .words import Demand, require


def _filled(full_name: str, number: str) -> Demand:
    """The argument `number` is an element of the first tensor's dtype, or of that asked for; one
    that comes first is an element by itself (`scalar_tensor`), which is rounded."""

    def check(*bound: Any) -> None:
        at, asked = _places(full_name, number)
        dtype = None if asked is None else bound[asked]
        if dtype is None and isinstance(bound[0], TensorBase):
            dtype = bound[0].dtype
        elif dtype is None and at == 0:
            dtype = MODES.default_dtype
        if isinstance(dtype, DType) and not isinstance(bound[at], TensorBase):
            check_range(bound[at], dtype, rounds_halves=at == 0)

    return check


@cache
def _places(full_name: str, number: str) -> tuple[int, int | None]:
    """Where the number is, and where a dtype is asked for."""
    names = [a.name for a in schema(full_name).arguments]
    return names.index(number), names.index("dtype") if "dtype" in names else None


def _index_fill(full_name: str, number: str) -> Demand:
    in_range = _filled(full_name, number)

    def check(*bound: Any) -> None:
        require(
            not isinstance(bound[3], complex) or bound[0].dtype.is_complex,
            "index_fill_(): Converting complex Scalar to non-complex type is not supported",
        )
        check_filled(*bound)
        in_range(*bound)

    return check


def _masked(self: Any, mask: Any, value: Any) -> None:
    n = array(value).ndim if isinstance(value, TensorBase) else 0
    require(
        n == 0,
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
        f"{n} dimension(s).",
    )


def _threshold(self: Any, limit: Any, fill: Any) -> None:
    """Both are of the dtype of `self`, the limit of half types of float32."""
    check_range(limit, float32 if self.dtype in (float16, bfloat16) else self.dtype)
    check_range(fill, self.dtype)


_NUMBERS = {
    "fill.Scalar": "value",
    "full": "fill_value",
    "full_like": "fill_value",
    "new_full": "fill_value",
    "masked_fill.Scalar": "value",
    "scalar_tensor": "s",
    "scatter.value": "value",
}
FILLED: dict[str, Demand] = {
    **{f"aten::{name}": _filled(f"aten::{name}", word) for name, word in _NUMBERS.items()},
    "aten::masked_fill.Tensor": _masked,
    "aten::threshold": _threshold,
    "aten::index_fill.int_Scalar": _index_fill("aten::index_fill.int_Scalar", "value"),
}
