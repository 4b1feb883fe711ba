"""`torch.FloatTensor` and its like: constructors that name a dtype, and types to compare with."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import BY_NAME, DType

from .old_constructor import fill
from .placement import placed
from .tensor import Tensor


class _LegacyType(type):
    """A class without instances of its own: tensors of its dtype count as them."""

    dtype: DType

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        made = Tensor.__new__(Tensor)
        fill(made, args, cls.dtype, cls.dtype)
        return placed(made, options.get("device"))  # type: ignore[no-any-return]  # a Tensor

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


_DTYPES = {
    "BoolTensor": "bool", "ByteTensor": "uint8", "CharTensor": "int8", "DoubleTensor": "float64",
    "FloatTensor": "float32", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "IntTensor": "int32", "LongTensor": "int64", "ShortTensor": "int16",
}  # fmt: skip

LEGACY_TYPES: dict[str, type] = {
    name: _LegacyType(name, (), {"dtype": BY_NAME[dtype], "__module__": __name__})
    for name, dtype in _DTYPES.items()
}
"""The classes by name."""


def __getattr__(name: str) -> type:
    if name not in LEGACY_TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return LEGACY_TYPES[name]
