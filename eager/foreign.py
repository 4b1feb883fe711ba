"""PyTorch's functions on our tensors: what `torch.relu(x)` and a `torch.nn` module do with ours.

PyTorch asks an argument that is no tensor of its own for `__torch_function__`; that method of ours
comes here. The function of our own with the same name runs, on arguments converted to ours. PyTorch
itself is never imported: its values are known by the module of their class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import (
    BuiltinFunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

from tensorscript.base.dtypes import BY_NAME, DType, bfloat16, from_numpy

from . import device as devices
from .growth import keep_size
from .storage import Array, TensorBase, make
from .tracing import active_tracer

_IN_C = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType)
_HOMES = {"torch.nn.functional": "tensorscript.eager.nn.functional"}
_HOME = "tensorscript.eager.namespace"
"""The modules whose `lookup` finds our functions, by PyTorch's module and for all others. They are
loaded when PyTorch first asks: both are made of tensors."""


def is_foreign(value: object) -> bool:
    """Whether a value is of one of PyTorch's classes."""
    return type(value).__module__.partition(".")[0] == "torch"


def is_foreign_tensor(value: object) -> bool:
    """Whether a value is one of PyTorch's tensors or parameters."""
    return is_foreign(value) and hasattr(value, "detach")


def is_foreign_function(function: Any) -> bool:
    """Whether a function or method is PyTorch's: those of its C++ are no functions of Python."""
    return isinstance(function, _IN_C) or (getattr(function, "__module__", "") or "").startswith(
        "torch."
    )


def has_foreign(value: object) -> bool:
    """Whether `converted` makes something else of a value."""
    if isinstance(value, tuple | list):
        return any(map(has_foreign, value))
    return is_foreign(value) and converted(value) is not value


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Our function of the same name on our values.

    Returns:
        Its result; NotImplemented if there is no such function.
    """
    found = _counterpart(function)
    if found is None:
        return NotImplemented
    return found(*map(converted, args), **{k: converted(v) for k, v in kwargs.items()})


def _counterpart(function: Any) -> Callable[..., Any] | None:
    name = getattr(function, "__name__", "")
    if type(function).__name__ in ("method_descriptor", "wrapper_descriptor"):
        return lambda x, *rest, **named: getattr(x, name)(*rest, **named)
    home = import_module(_HOMES.get(getattr(function, "__module__", ""), _HOME))
    try:
        found: Callable[..., Any] = home.lookup(name)
    except AttributeError:
        return None
    return found


def converted(value: Any) -> Any:
    """A value of PyTorch's as ours; containers with their contents; everything else as it is.

    A parameter of a module that is being traced is the tensor that the trace knows.
    """
    if type(value) in (tuple, list):
        return type(value)(map(converted, value))
    if not is_foreign(value):
        return value
    if is_foreign_tensor(value):
        tracer = active_tracer()
        known = None if tracer is None else tracer.counterpart(value)
        return shared(value) if known is None else known
    text = str(value).removeprefix("torch.")
    match type(value).__name__:
        case "dtype":
            return BY_NAME.get(text, value)
        case "device":
            return devices.device(text)
        case "layout" | "memory_format":
            return getattr(devices, text)
        case "Size":
            return tuple(value)
    return value


def shared(tensor: Any) -> TensorBase:
    """Our tensor over the memory of one of PyTorch's on the CPU."""
    array, dtype = storage_of(tensor)
    made = make(keep_size(array), dtype)
    made.requires_grad = bool(tensor.requires_grad)
    return made


def storage_of(tensor: Any) -> tuple[Array, DType]:
    """The array over the memory of a PyTorch tensor on the CPU, and its dtype.

    Raises:
        TypeError: no dtype of ours corresponds, or its elements do not lie in memory as such.
    """
    plain = tensor.detach().resolve_conj().resolve_neg()
    if str(plain.dtype) == "torch.bfloat16":
        bits: Array = plain.view(sys.modules["torch"].uint16).numpy()
        return bits, bfloat16
    found: Array = plain.numpy()
    return found, from_numpy(found.dtype)
