"""Dtypes, layouts and memory formats: numbers in script, objects in eager operators.

TorchScript's graphs hold `dtype=6`; the schema says which arguments those are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tensorscript.base.dtypes import BY_CODE, QUANTIZED, DType
from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import schema
from tensorscript.eager.device import MEMORY_FORMATS, Layout, MemoryFormat, sparse_coo, strided

_TABLES: dict[str, Mapping[int, object]] = {
    "ScalarType": BY_CODE | {dtype.code: dtype for dtype in QUANTIZED},
    "Layout": {layout.code: layout for layout in (strided, sparse_coo)},
    "MemoryFormat": MEMORY_FORMATS,
}

_ABSENT = {
    8: "complex32", 16: "quint4x2", 17: "quint2x4", 23: "float8_e5m2", 24: "float8_e4m3fn",
    25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz",
}  # fmt: skip
"""Names of PyTorch's dtypes that we have not, by code."""


@cache
def coded_arguments(full_name: str) -> tuple[tuple[int, str], ...]:
    """Positions of the arguments of an overload that are codes, with what they are codes of."""
    arguments = schema(full_name).arguments
    kinds = ((at, a.type.without_optional().kind) for at, a in enumerate(arguments))
    return tuple((at, kind) for at, kind in kinds if kind in _TABLES)


def decode(full_name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an overload as eager operators take them.

    Raises:
        OperatorError: a number that no dtype, layout or memory format has.
    """
    if not (coded := coded_arguments(full_name)):
        return arguments
    out = list(arguments)
    for at, kind in coded:
        code = out[at]
        if isinstance(code, int):
            if code not in _TABLES[kind]:
                named = _ABSENT.get(code) if kind == "ScalarType" else None
                what = f"tensors of {named} are" if named else f"{kind} {code} is"
                raise OperatorError(f"{what} not supported")
            out[at] = _TABLES[kind][code]
    return tuple(out)


def encode(result: Any) -> Any:
    """A result of an eager operator as script has it."""
    return result.code if isinstance(result, DType | Layout | MemoryFormat) else result
