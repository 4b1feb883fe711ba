"""The arguments of a call, matched with the signature of what is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import GuardError
from tensorscript.dialects.ts.type_text import message_text
from tensorscript.dialects.ts.types import (
    TensorType,
)
from tensorscript.frontends.script.signature import (
    NO_DEFAULT,
    Formal,
    Signature,
    signature_text,
)

from .boundary import Classes, to_script
from .plain_values import Mismatch


def match_arguments(
    signature: Signature,
    default: Callable[[Formal], Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    classes: Classes,
) -> list[Any]:
    """Call arguments as script values, one per argument of the signature.

    Args:
        signature: with its short name; of a method with `self`, which `args` begins with.
        default: the script value of an argument that has a default.

    Raises:
        GuardError: too many, missing, unknown or mistyped arguments, in TorchScript's words.
    """
    return [
        default(formal)
        if value is NO_DEFAULT
        else match_argument(value, formal, at, signature, classes)
        for at, (formal, value) in enumerate(arranged(signature, args, kwargs))
    ]


def arranged(
    signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[Formal, Any]]:
    """The arguments of a signature with what a call gives for them; NO_DEFAULT where that is
    nothing and the argument has a default.

    Raises:
        GuardError: too many, missing or unknown arguments, in TorchScript's words.
    """
    _check_count(signature, len(args), len(kwargs))
    for at, formal in enumerate(signature.arguments):
        if at < len(args) and formal.name in kwargs:
            raise GuardError(
                f"Argument '{formal.name}' specified both as positional and keyword argument. "
                f"Schema: {signature_text(signature)}"
            )
        if at < len(args):
            yield formal, args[at]
        elif formal.name in kwargs:
            yield formal, kwargs[formal.name]
        elif formal.has_default:
            yield formal, NO_DEFAULT
        else:
            raise GuardError(
                f"{signature.name}() is missing value for argument '{formal.name}'. "
                f"Declaration: {signature_text(signature)}"
            )
    names = {formal.name for formal in signature.arguments}
    unknown = next((name for name in kwargs if name not in names), None)
    if unknown is not None:
        raise GuardError(
            f"Unknown keyword argument '{unknown}' for operator '{signature.name}'. "
            f"Schema: {signature_text(signature)}"
        )


def _check_count(signature: Signature, positional: int, named: int) -> None:
    """Refuse more arguments than there are."""
    formals = signature.arguments
    if positional + named > len(formals):
        raise GuardError(
            f"{signature.name}() expected at most {len(formals)} argument(s) but received "
            f"{positional + named} argument(s). Declaration: {signature_text(signature)}"
        )
    most = sum(not formal.kwarg_only for formal in formals)
    if positional > most:
        raise GuardError(
            f"{signature.name}() takes {most} positional argument(s) but {positional} was/were "
            f"given.  Declaration: {signature_text(signature)}"
        )


def _name_of_type(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{name} (aka NamedTuple({', '.join(value._fields)}))"
    return "dtype" if isinstance(value, DType) else name


def match_argument(
    value: Any, formal: Formal, at: int, signature: Signature, classes: Classes
) -> Any:
    """One argument as a script value of its type.

    Raises:
        GuardError: it is not of that type, in TorchScript's words.
    """
    is_repeated = formal.size is not None and isinstance(value, int | float)
    given = [value] * (formal.size or 1) if is_repeated else value
    try:
        return to_script(given, formal.type, classes)
    except Mismatch as mismatch:
        text = (
            f"{signature.name}() Expected a value of type '{message_text(formal.type)}' for "
            f"argument '{formal.name}' but instead found type '{_name_of_type(value)}'.\n"
        )
        if isinstance(formal.type, TensorType) and formal.type.info.inferred:
            text += (
                f"Inferred '{formal.name}' to be of type 'Tensor' because it was not annotated "
                "with an explicit type.\n"
            )
        raise GuardError(
            f"{text}Position: {at}\nValue: {value!r}\nDeclaration: {signature_text(signature)}\n"
            f"Cast error details: {mismatch}"
        ) from None
