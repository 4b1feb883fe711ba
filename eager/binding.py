"""Binding Python values to a schema: which overload takes these arguments, and as what.

TorchScript tries the overloads of a name in registration order, first without implicit conversions
and then with them; eager calls do the same on values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tensorscript.base.dtypes import BY_CODE, DType, check_held, of_python
from tensorscript.base.errors import ArgumentError
from tensorscript.base.records import dataclass
from tensorscript.base.schema import Argument, Schema, SchemaType, overloads

from . import call_texts
from .device import Layout, MemoryFormat, device
from .foreign import converted, has_foreign
from .random import Generator
from .storage import TensorBase, value
from .storages import UntypedStorage
from .tracing import active_tracer, number_of, untraced
from .typed_storages import TypedStorage

_MISS: Any = object()
ALIASES = {
    "input": "self",
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "self",
    "x1": "self",
    "x2": "other",
    "axes": "dims",
}


def _int(v: Any, convert: bool) -> Any:
    if isinstance(v, (int, np.integer)) and not isinstance(v, bool):
        return int(v)
    if isinstance(v, np.ndarray) and v.ndim == 0 and v.dtype.kind in "iu":
        return int(v)
    if convert and isinstance(v, TensorBase) and v._array.ndim == 0 and v.dtype.is_integral:
        return number_of(v, int(v._array))
    return _MISS


def _size(v: Any, _: bool) -> Any:
    """An integer in a list: while a trace listens any tensor of one number, as in PyTorch."""
    if type(v) is int:
        return v
    found = _int(v, True)
    if found is _MISS and isinstance(v, TensorBase) and not v._array.ndim and active_tracer():
        return number_of(v, int(value(v).item()))
    return found


def _float(v: Any, convert: bool) -> Any:
    if isinstance(v, (float, np.floating)):
        return float(v)
    if not convert:
        return _MISS
    if isinstance(v, (int, np.integer)):
        return float(v)
    if isinstance(v, TensorBase) and v._array.ndim == 0:
        return value(v).item()
    return _MISS


def _bool(v: Any, convert: bool) -> Any:
    return bool(v) if isinstance(v, (bool, np.bool_)) else _MISS


def _scalar(v: Any, convert: bool) -> Any:
    if isinstance(v, (bool, int, float, complex)):
        return v
    if isinstance(v, np.generic):
        return v.item()
    if convert and isinstance(v, TensorBase) and v._array.ndim == 0:
        return number_of(v, value(v).item())
    return _MISS


def _complex(v: Any, convert: bool) -> Any:
    if isinstance(v, complex) or (convert and isinstance(v, (int, float))):
        return complex(v)
    return _MISS


def _scalar_type(v: Any, convert: bool) -> Any:
    if isinstance(v, DType):
        check_held(v)
        return v
    if (named := of_python(v)) is not None:
        return named
    return BY_CODE[v] if type(v) is int and v in BY_CODE else _MISS


def _device(v: Any, convert: bool) -> Any:
    if isinstance(v, device):
        return v
    if convert and isinstance(v, (str, int)) and not isinstance(v, bool):
        return device(v)
    return _MISS


def _of(*classes: type) -> Callable[[Any, bool], Any]:
    return lambda v, convert: v if isinstance(v, classes) else _MISS


_CONVERTERS: dict[str, Callable[[Any, bool], Any]] = {
    "Tensor": _of(TensorBase),
    "int": _int,
    "float": _float,
    "bool": _bool,
    "complex": _complex,
    "Scalar": _scalar,
    "str": _of(str),
    "ScalarType": _scalar_type,
    "Device": _device,
    "Layout": _of(Layout, int),
    "MemoryFormat": _of(MemoryFormat, int),
    "Generator": _of(Generator),
    "Storage": _of(UntypedStorage, TypedStorage),
    "Dict": _of(dict),
    "Any": lambda v, convert: v,
    "var": lambda v, convert: v,
    "AnyEnumType": lambda v, convert: v,
    "AnyClassType": lambda v, convert: v,
}


def _converter(kind: SchemaType) -> Callable[[Any, bool], Any]:
    """The function that takes a value for an argument of that type, or answers `_MISS`."""
    if kind.kind == "optional":
        inside = _converter(kind.args[0])
        return lambda v, convert: None if v is None else inside(v, convert)
    if kind.kind == "list":
        return _list_converter(kind)
    if kind.kind == "Tuple":
        return _of(tuple)
    return _CONVERTERS.get(kind.kind, lambda v, convert: _MISS)


def _list_converter(kind: SchemaType) -> Callable[[Any, bool], Any]:
    element, size = kind.args[0], kind.size
    alone = _converter(element)
    inside = _size if element.kind == "int" else alone
    is_any = element.kind in ("var", "Any")

    def convert_list(v: Any, convert: bool) -> Any:
        if not isinstance(v, (list, tuple)):
            one = _MISS if size is None else alone(v, convert)
            return _MISS if one is _MISS else [untraced(one)] * (size or 0)
        if is_any:
            return v
        out = [inside(x, convert) for x in v]
        return _MISS if any(x is _MISS for x in out) else out

    return convert_list


@dataclass(frozen=True)
class _Slot:
    """How one argument of an overload is bound.

    Attributes:
        takes_rest: it is the last positional argument and a list of integers, so that trailing
            integers may be its elements: `x.view(2, 3)`.
    """

    argument: Argument
    name: str
    kwarg_only: bool
    has_default: bool
    takes_rest: bool
    convert: Callable[[Any, bool], Any]


@cache
def _slots(schema: Schema) -> tuple[_Slot, ...]:
    positional = [a for a in schema.arguments if not a.kwarg_only]

    def takes_rest(a: Argument) -> bool:
        is_list = a.type.kind == "list" and a.type.args[0].kind == "int" and a.type.size is None
        return is_list and positional[-1:] == [a]

    return tuple(
        _Slot(a, a.name, a.kwarg_only, a.has_default, takes_rest(a), _argument_converter(a))
        for a in schema.arguments
    )


def _argument_converter(argument: Argument) -> Callable[[Any, bool], Any]:
    """That of its type; Python says None for a list that is empty by default, too."""
    inside = _converter(argument.type)
    if argument.type.kind != "list" or argument.default != ():
        return inside
    return lambda v, convert: [] if v is None else inside(v, convert)


def _reason(argument: Argument, v: Any) -> str:
    return (
        f"Expected a value of type '{argument.type}' for argument '{argument.name}' but instead "
        f"found type '{type(v).__name__}'."
    )


def match(
    schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any], convert: bool,
    gathers: bool = True,
) -> Any:  # fmt: skip
    """Bind values to the arguments of one overload; `gathers` lets trailing integers be the
    elements of its last argument.

    Returns:
        The values of all arguments in schema order (a tuple, defaults filled in), or a sentence
        (str) that says why they do not fit.
    """
    bound: list[Any] = []
    left = _named_results(schema, kwargs) if kwargs else {}
    used = 0
    for slot in _slots(schema):
        name = slot.name
        if used < len(args) and not slot.kwarg_only:
            v = args[used]
            used += 1
            if gathers and slot.takes_rest and _are_integers(args[used - 1 :]):
                v, used = list(args[used - 1 :]), len(args)
        elif name in left:
            v = left.pop(name)
        elif left and (other := _spelled_otherwise(name, left)) is not None:
            v = left.pop(other)
        elif slot.has_default:
            bound.append(default_value(slot.argument))
            continue
        else:
            return f"Argument {name} not provided."
        converted = slot.convert(v, convert)
        if converted is _MISS:
            return _reason(slot.argument, v)
        bound.append(converted)
    if used < len(args) and not schema.is_vararg:
        return f"Expected at most {used} arguments but found {len(args)} positional arguments."
    if left:
        return f"Unknown keyword argument '{next(iter(left))}'."
    return (*bound, *args[used:])


def _named_results(schema: Schema, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments, `out=(a, b)` by the names of the several results."""
    left = dict(kwargs)
    if schema.is_out and isinstance(several := left.get("out"), (tuple, list)):
        written = [a.name for a in schema.arguments if a.is_write and a.kwarg_only]
        if len(written) == len(several) > 1:
            del left["out"]
            left.update(zip(written, several, strict=True))
    return left


def _spelled_otherwise(name: str, given: dict[str, Any]) -> str | None:
    return next((k for k in given if ALIASES.get(k) == name), None)


def _are_integers(values: tuple[Any, ...]) -> bool:
    return all(_int(v, True) is not _MISS for v in values)


def default_value(argument: Argument) -> Any:
    """The default of an argument as kernels take it (lists as fresh lists, dtypes as DType)."""
    v = argument.default
    kind = argument.type.without_optional()
    if kind.kind == "list" and v is not None:
        return list(v) if isinstance(v, tuple) else [v] * (kind.size or 1)
    if kind.kind == "ScalarType" and isinstance(v, int):
        return BY_CODE[v]
    if kind.kind == "float" and isinstance(v, int):
        return float(v)
    return v


_PYTHON_ORDER = dict.fromkeys(
    ("aten::std", "aten::var", "aten::std_mean", "aten::var_mean"), ("dim", "correction", "")
)
"""Overloads that Python's binding tries in another order than scripts: `x.std()` has a correction,
not `unbiased`."""


@cache
def _candidates(name: str, public: bool) -> list[Schema]:
    """The overloads in the order in which they are tried. `public` are those that take or give a
    tensor, if there are any: `torch.eq(2, 3)` is a script's affair only."""
    every = overloads(name)
    kept = [s for s in every if any("Tensor" in str(a.type) for a in (*s.arguments, *s.returns))]
    first = _PYTHON_ORDER.get(name, ())
    return sorted(
        kept if public and kept else every,
        key=lambda s: first.index(s.overload) if s.overload in first else len(first),
    )


_FORMER: dict[str, tuple[tuple[str, ...], ...]] = {
    **{
        f"aten::{name}{end}": (("self", "alpha", "other"),)
        for name in ("add", "sub")
        for end in ("", "_")
    },
    **{
        f"aten::{name}{end}": (("self", "value", "tensor1", "tensor2"),)
        for name in ("addcmul", "addcdiv")
        for end in ("", "_")
    },
}
"""Orders of positional arguments that PyTorch's functions and methods still take: a factor stood
before the tensor that it multiplies."""


def resolve(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], public: bool = False,
    method: bool = False,
) -> tuple[Schema, Any]:  # fmt: skip
    """The first overload of `name` that takes these values, and the bound values; `public` leaves
    out those on numbers alone, `method` says that `args` begin with the tensor whose method it is.

    Raises:
        ArgumentError: none does; the text names every overload and its reason.
    """
    candidates = _candidates(name, public)
    if kwargs and kwargs.get("out", _MISS) is None:
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    for convert in (False, True):
        for candidate in candidates:
            gathers = not public or _gathers(candidate, method)
            bound = match(candidate, args, kwargs, convert, gathers)
            if not isinstance(bound, str):
                return candidate, bound
    for spelling in _FORMER.get(name, ()):
        if public and len(args) == len(spelling) and not isinstance(args[1], TensorBase):
            return resolve(name, (), {**dict(zip(spelling, args, strict=True)), **kwargs})
    if any(map(has_foreign, (*args, *kwargs.values()))):
        named = {k: converted(v) for k, v in kwargs.items()}
        return resolve(name, tuple(map(converted, args)), named, public, method)
    if not candidates:
        raise ArgumentError(f"Unknown builtin op: {name}.")
    if public and (text := _refusal(candidates, args, kwargs, method)):
        raise ArgumentError(text)
    reasons = [(str(c), match(c, args, kwargs, True)) for c in candidates]
    if len(reasons) == 1:
        raise ArgumentError(f"{reasons[0][0]}:\n{reasons[0][1]}")
    listed = "\n".join(f" * {text}\n   {why}" for text, why in reasons)
    raise ArgumentError(
        f"{name.removeprefix('aten::')}() received an invalid combination of arguments - got "
        f"({call_texts.given(args[int(method) :], kwargs)}), but expected one of:\n{listed}"
    )


@cache
def _gathers(schema: Schema, method: bool) -> bool:
    """Whether Python takes `f(2, 3)` for `f((2, 3))`: where the sizes are all that is asked by
    place, beside the tensor of a method."""
    return sum(not a.kwarg_only for a in schema.arguments) == 1 + method


def _refusal(
    candidates: list[Schema], args: tuple[Any, ...], kwargs: dict[str, Any], method: bool
) -> str | None:
    """PyTorch's words, if Python sees one signature only, or one of that many arguments."""
    if (only := call_texts.only_signature(candidates, len(args) + len(kwargs), method)) is None:
        return None
    first = int(method)
    if _gathers(only, method) and _slots(only)[first].takes_rest and _begins_sizes(args[first:]):
        args = (*args[:first], list(args[first:]))
    names = {a.name for a in only.arguments}
    named = {k if k in names else ALIASES.get(k, k): v for k, v in kwargs.items() if k != "out"}
    return call_texts.refusal(only, args, named, method, _takes)


def _takes(argument: Argument, v: Any) -> bool:
    return _argument_converter(argument)(v, True) is not _MISS


def _begins_sizes(values: tuple[Any, ...]) -> bool:
    """Whether the first of several is an integer, or it is the only one."""
    return bool(values) and _int(values[0], True) is not _MISS
