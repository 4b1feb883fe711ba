"""`Module.to`: its forms of arguments, as one function of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import DType, of_python

from ..device import require_cpu
from ..tensor import Tensor

_NAMES = ("device", "dtype", "non_blocking")


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name: a first one that is a dtype or a tensor says what it is by itself."""
    if not args:
        named = dict(kwargs)
    elif isinstance(args[0], DType) or of_python(args[0]) is not None:
        named = {**dict(zip(_NAMES[1:], args, strict=False)), **kwargs}
    elif isinstance(args[0], Tensor):
        named = {"dtype": args[0].dtype, **kwargs}
    else:
        named = {**dict(zip(_NAMES, args, strict=False)), **kwargs}
    if isinstance(other := named.pop("tensor", None), Tensor):
        named["dtype"] = other.dtype
    return named


def conversion(*args: Any, **kwargs: Any) -> Callable[[Tensor], Tensor]:
    """What `Module.to` does to one parameter or buffer: integers keep their dtype, and a memory
    format is for four and five dimensions.

    Raises:
        TypeError: a dtype that is neither floating-point nor complex.
        OperatorError: a device other than the CPU.
    """
    named = _arguments(args, kwargs)
    dtype, where = named.get("dtype"), named.get("device")
    dtype = of_python(dtype) or dtype
    require_cpu(where)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtype}"
        )

    layout = named.get("memory_format")

    def convert(tensor: Tensor) -> Tensor:
        converts = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        ours = layout if tensor.dim() in (4, 5) else None
        return tensor.to(dtype=dtype if converts else None, memory_format=ours)

    return convert
