"""Modules of another dtype, or elsewhere: `Module.to` with its forms, and its relatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from tensorscript.base.dtypes import BY_NAME, DType, of_python

from ..device import MemoryFormat, is_device
from ..device import device as Device
from ..dispatch import call
from ..placement import gpu_of
from ..tensor import Tensor


def _is_device(v: object) -> bool:
    return is_device(v) or (isinstance(v, str | int) and not isinstance(v, bool))


def _dtype(v: object) -> DType | None:
    return v if isinstance(v, DType) else of_python(v)


def _is_flag(v: object) -> bool:
    return isinstance(v, bool)


_TAKES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "device": ("torch.device device = None", _is_device),
    "dtype": ("torch.dtype dtype = None", lambda v: _dtype(v) is not None),
    "tensor": ("Tensor tensor", lambda v: isinstance(v, Tensor)),
    "non_blocking": ("bool non_blocking = False", _is_flag),
    "copy": ("bool copy = False", _is_flag),
    "memory_format": ("torch.memory_format memory_format = None",
                      lambda v: isinstance(v, MemoryFormat)),
}  # fmt: skip
"""An argument by name: how it is declared, and which values it takes besides None."""

_FORMS = (
    ("device", "dtype", "non_blocking", "copy"), ("dtype", "non_blocking", "copy"),
    ("tensor", "non_blocking", "copy"),
)  # fmt: skip
"""Positional arguments; `memory_format` comes by name only."""


def _kind(v: object) -> str:
    kinds = {DType: "torch.dtype", MemoryFormat: "torch.memory_format"}
    return "torch.device" if is_device(v) else kinds.get(type(v), type(v).__name__)


def _bound(form: tuple[str, ...], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The arguments by name, or None if they do not fit the form."""
    named = {**dict(zip(form, args, strict=False)), **kwargs}
    optional = ("memory_format", *(form[:2] if form[0] == "device" else ()))
    fits = (
        name in (*form, "memory_format")
        and (_TAKES[name][1](v) or (v is None and name in optional))
        for name, v in named.items()
    )
    return named if len(named) == len(args) + len(kwargs) and all(fits) else None


def _arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the first form that takes them, by name.

    Raises:
        TypeError: none does.
    """
    for form in _FORMS:
        if (named := _bound(form, args, kwargs)) is not None:
            return named  # type: ignore[no-any-return]  # a dict
    given = ", ".join(map(_kind, args))
    named = "".join(f"{k}={_kind(v)}, " for k, v in kwargs.items())
    declared = "".join(
        f" * ({', '.join(_TAKES[name][0] for name in form)}, *, {_TAKES['memory_format'][0]})\n"
        for form in _FORMS
    ).replace("(torch.dtype dtype = None", "(torch.dtype dtype")
    raise TypeError(
        "to() received an invalid combination of arguments - got "
        f"({', '.join(filter(None, (given, named)))}), but expected one of:\n{declared}"
    )


def conversion(*args: Any, **kwargs: Any) -> Callable[[Tensor], Tensor]:
    """What `Module.to` does to one parameter or buffer: integers keep their dtype, and a memory
    format is for four and five dimensions.

    Raises:
        TypeError: arguments of no form, or a dtype that is neither floating-point nor complex.
        OperatorError: a device that is not there.
    """
    named = _arguments(args, kwargs)
    other = named.get("tensor")
    dtype = _dtype(named.get("dtype")) if other is None else other.dtype
    given = named.get("device") if other is None else other.device
    device = None if given is None else Device(given)
    if device is not None:
        gpu_of(device)  # refused before anything is converted
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            "nn.Module.to only accepts floating point or complex dtypes, but got desired "
            f"dtype={dtype}"
        )

    layout = named.get("memory_format")

    def convert(tensor: Tensor) -> Tensor:
        converts = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        ours = layout if tensor.dim() in (4, 5) else None
        wanted = dtype if converts else None
        return tensor.to(device=device, dtype=wanted, memory_format=ours)

    return convert


class Convertible:
    """The methods of Module that convert what it and its children hold."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def children(self) -> Iterator[Any]:
        """The submodules of the module itself."""
        raise NotImplementedError

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, and every buffer, by `fn` of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = fn(parameter)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point parameters and buffers, move all: `to(dtype)`, `to(device)`,
        `to(tensor)`.

        Raises:
            TypeError: a dtype that is neither floating-point nor complex.
            OperatorError: a device that is not there.
        """
        return self._apply(conversion(*args, **kwargs))

    def _to_floats(self, dtype: DType) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.dtype.is_floating_point else t)

    def type(self, dst_type: DType | str) -> Self:
        """Convert every parameter and buffer, whatever its dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        return self._to_floats(BY_NAME["float32"])

    def double(self) -> Self:
        return self._to_floats(BY_NAME["float64"])

    def half(self) -> Self:
        return self._to_floats(BY_NAME["float16"])

    def bfloat16(self) -> Self:
        return self._to_floats(BY_NAME["bfloat16"])

    def cpu(self) -> Self:
        return self.to(device="cpu")

    def cuda(self, device: int | Device | None = None) -> Self:
        """Parameters and buffers on a GPU, the current one if none is named.

        Raises:
            NoDeviceError: there is no GPU.
        """
        return self.to(device="cuda" if device is None else Device(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Parameters and buffers in memory of their own on `device`, whose content is anything."""
        return self._apply(lambda t: call("aten::empty_like", (t,), {"device": device}), recurse)

    def share_memory(self) -> Self:
        return self
