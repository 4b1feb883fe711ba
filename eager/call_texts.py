"""What PyTorch's Python binding says of a call that the only signature of a name does not take, or
the only one that takes as many arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorscript.base.schema import Argument, Schema, SchemaType

Takes = Callable[[Argument, Any], bool]
"""Whether a value is one for an argument."""

_NAMES = {
    "Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "Scalar": "Number",
    "str": "str", "ScalarType": "torch.dtype", "Device": "torch.device",
    "MemoryFormat": "torch.memory_format", "Layout": "torch.layout",
}  # fmt: skip
_SEVERAL = {"int": "ints", "float": "floats", "bool": "bools", "Tensor": "Tensors"}


_NOT_SEEN = frozenset((
    *(f"aten::{name}{end}.Scalar" for name in ("add", "sub", "mul", "div") for end in ("", "_")),
    "aten::copy_.Tensor", "aten::copy_.float", "aten::copy_.int",
))  # fmt: skip
"""Overloads on numbers that Python has no signature for: a number becomes a tensor there."""


def only_signature(candidates: Sequence[Schema], count: int, method: bool) -> Schema | None:
    """The one that Python sees among overloads, or the one of them that takes `count` arguments
    (with the tensor of a method): `out=` belongs to the signature without it, and methods have
    none."""
    seen = [
        s for s in candidates
        if not s.is_out and s.full_name not in _NOT_SEEN and s.overload != "hacked_twin"
        and not any("Dimname" in str(a.type) for a in s.arguments)
    ]  # fmt: skip
    into = [] if method else [_read(s) for s in candidates if s.is_out]
    if len(seen) > 1:
        seen = [
            s for s in seen if _least(s) <= count <= len(s.arguments) + (_read(s) in into)
        ]  # fmt: skip
    return seen[0] if len(seen) == 1 else None


def _read(found: Schema) -> list[str]:
    """The arguments that are not written."""
    return [a.name for a in found.arguments if not a.is_write]


def _least(found: Schema) -> int:
    return sum(not a.has_default for a in found.arguments)


def refusal(
    found: Schema, args: Sequence[Any], kwargs: Mapping[str, Any], method: bool, takes: Takes
) -> str | None:
    """Why a call does not fit, or None where the binding would say something else.

    Args:
        kwargs: by the names of the schema.
        method: the first of `args` is the tensor whose method is called, which is not counted.
    """
    name, skipped = found.base_name, int(method)
    arguments = found.arguments[skipped:]
    given = args[skipped:]
    positional = [a for a in arguments if not a.kwarg_only]
    if len(given) > len(positional):
        return _too_many(name, positional, len(given))
    at = {a.name: k for k, a in enumerate(positional[: len(given)])}
    missing = [
        a for a in arguments if a.name not in at and a.name not in kwargs and not a.has_default
    ]
    for argument in arguments:
        if (place := at.get(argument.name)) is not None:
            value, where = given[place], f" (position {place + 1})"
        elif argument.name in kwargs:
            value, where = kwargs[argument.name], ""
        elif argument in missing:
            shown = ", ".join(f'"{_shown(a)}"' for a in missing)
            ending = "s" if len(missing) == 1 else ""  # the wrong way round in PyTorch, too
            return f"{name}() missing {len(missing)} required positional argument{ending}: {shown}"
        else:
            continue
        if not takes(argument, value):
            wanted = _type_name(argument.type)
            if isinstance(value, (list, tuple)) and argument.type.without_optional().kind == "list":
                at_fault = _first_refused(argument, value, takes)
                return wanted and _of_element(
                    f"{name}(): argument '{_shown(argument)}'",
                    where,
                    wanted,
                    at_fault,
                    type_name(value[at_fault]),
                    arguments.index(argument),
                )
            return wanted and (
                f"{name}(): argument '{_shown(argument)}'{where} must be {wanted}, not "
                f"{type_name(value)}"
            )
    known = {a.name for a in arguments}
    unknown = next((k for k in kwargs if k not in known), None)
    return unknown and f"{name}() got an unexpected keyword argument '{unknown}'"


def given(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The types of a call's arguments as PyTorch lists them: those that are named come in the order
    of its hash table, each with a comma if there are no others."""
    named = [f"{k}={type_name(v)}" for k, v in reversed([*kwargs.items()])]
    shown = ", ".join((*map(type_name, args), *named))
    return shown if args or not named else f"{shown}, "


def type_name(value: Any) -> str:
    """The name of a type as C has it."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return f"numpy.{kind.__name__}"
    return _OURS.get(kind.__name__, kind.__name__) if _is_ours(kind) else kind.__name__


_OURS = {"DType": "torch.dtype", "Size": "torch.Size", "device": "torch.device"}


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("tensorscript.")


def _first_refused(argument: Argument, values: Sequence[Any], takes: Takes) -> int:
    return next(k for k in range(len(values)) if not takes(argument, values[k : k + 1]))


def _of_element(which: str, where: str, wanted: str, at: int, found: str, place: int) -> str | None:
    """Of tensors the binding names the element; of numbers it tells the first from later ones."""
    if wanted == "tuple of Tensors":
        return f"expected Tensor as element {at} in argument {place}, but got {found}"
    if at == 0:
        return f"{which}{where} must be {wanted}, but found element of type {found} at pos 0"
    reason = f"type must be {wanted},but got {found}"
    return f'{which} failed to unpack the object at pos {at + 1} with error "{reason}"'


def _too_many(name: str, positional: Sequence[Argument], given: int) -> str:
    most = len(positional)
    if not most:
        return f"TensorBase.{name}() takes no arguments ({given} given)"
    least = sum(not a.has_default for a in positional)
    bounds = f"{most}" if least == most else f"from {least} to {most}"
    noun = "argument" if most == 1 else "arguments"
    return f"{name}() takes {bounds} positional {noun} but {given} were given"


def _shown(argument: Argument) -> str:
    return "input" if argument.name == "self" else argument.name


def _type_name(kind: SchemaType) -> str | None:
    if kind.kind == "optional":
        return _type_name(kind.args[0])
    if kind.kind == "list":
        several = _SEVERAL.get(kind.args[0].without_optional().kind)
        return several and f"tuple of {several}"
    return _NAMES.get(kind.kind)
