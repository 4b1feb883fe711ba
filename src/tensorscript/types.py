"""`torch.types`: names for annotations."""

from collections.abc import Sequence
from typing import Any

from tensorscript.base.dtypes import DType as _dtype
from tensorscript.eager.device import Layout as _layout
from tensorscript.eager.device import device as _device
from tensorscript.eager.size import Size as _Size
from tensorscript.eager.symbols import SymBool, SymFloat, SymInt
from tensorscript.eager.tensor import Tensor

Number = int | float | bool
Device = _device | str | int | None
IntLikeType = int | SymInt
FloatLikeType = float | SymFloat
BoolLikeType = bool | SymBool
_TensorOrTensors = Tensor | Sequence[Tensor]
_size = _Size | list[int] | tuple[int, ...]
_int, _float, _bool, _complex, _symint = int, float, bool, complex, SymInt
_Number = (int, float, bool)
Storage = Any
"""Tensors have no storage objects beside them."""

__all__ = [
    "BoolLikeType",
    "Device",
    "FloatLikeType",
    "IntLikeType",
    "Number",
    "Storage",
    "_bool",
    "_complex",
    "_device",
    "_dtype",
    "_float",
    "_int",
    "_layout",
    "_size",
]
