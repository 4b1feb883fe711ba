"""PyTorch's old typed constructors: `LongTensor([1, 2])`, `FloatTensor(2, 3)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorscript.base.dtypes import BY_WORD, DType
from tensorscript.base.errors import ArgumentError

from .storage import make, to_storage, value
from .tensor import Tensor

_WORDS = ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool")


class TypedTensor(type):
    """A class whose instances are the tensors of one dtype."""

    dtype: DType

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype

    def __call__(cls, *data: Any, **options: Any) -> Any:
        """A tensor of sizes whose elements are not initialised, or a copy of data.

        Raises:
            ArgumentError: a tensor of another dtype.
        """
        if len(data) == 1 and isinstance(data[0], Tensor):
            if data[0].dtype is not cls.dtype:
                raise ArgumentError(f"expected {cls.__name__} (got {data[0].dtype.word}Tensor)")
            return make(data[0]._array, cls.dtype)
        if (data and isinstance(data[0], int)) or not data:
            return make(np.zeros(data, cls.dtype.numpy), cls.dtype)
        found = [value(x) if isinstance(x, Tensor) else x for x in data]
        return make(np.array(to_storage(np.asarray(found[0]), cls.dtype)), cls.dtype)


def _typed(word: str) -> TypedTensor:
    return TypedTensor(f"{word}Tensor", (), {"dtype": BY_WORD[word], "__module__": "torch"})


TYPED: dict[str, Any] = {f"{word}Tensor": _typed(word) for word in _WORDS}


def __getattr__(name: str) -> Any:
    if (found := TYPED.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
