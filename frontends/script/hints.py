"""What an annotation says about a list or dict that is written out: its type, or a refusal."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Attribute

from tensorscript.base.errors import CompileError
from tensorscript.base.source import Span
from tensorscript.dialects.ts import typing
from tensorscript.dialects.ts.type_text import ir_text, message_text
from tensorscript.dialects.ts.types import (
    ANY,
    ANY_LIST,
    DictType,
    ListType,
    UnionType,
)

Container = TypeVar("Container", ListType, DictType)

_LABELS: dict[type[Attribute], str] = {ListType: "List", DictType: "Dict"}


def candidates(hint: Attribute | None, kind: type[Container], span: Span | None) -> list[Container]:
    """The types of `kind` that an annotation allows; none if it says nothing.

    Raises:
        CompileError: it allows something else only.
    """
    if hint in (None, ANY, ANY_LIST):
        return []
    assert hint is not None
    inner = typing.without_none(hint)
    found = [m for m in typing.members_of(inner) if isinstance(m, kind)]
    if found:
        return found
    label, shown = _LABELS[kind], message_text(hint)
    if isinstance(inner, UnionType):
        raise CompileError(
            f"Expected an Union type annotation with an inner {label} type, but got {shown}", span
        )
    raise CompileError(f"Expected an annotation of type {label} but got {shown}", span)


def empty_candidate(
    hint: Attribute | None, kind: type[Container], span: Span | None
) -> Container | None:
    """The type of an empty display.

    Raises:
        CompileError: the annotation allows several, or none.
    """
    found = candidates(hint, kind, span)
    if len(found) > 1:
        assert hint is not None
        label = _LABELS[kind]
        raise CompileError(
            f"Cannot assign an empty {label.lower()} to a variable annotated to be type "
            f"{message_text(hint)} because there are multiple possible {label} type "
            "candidates in the Union annotation",
            span,
        )
    return found[0] if found else None


def fitting_list(
    hint: Attribute | None,
    elements: Sequence[Attribute],
    span: Span | None,
    fulfils: typing.Fulfils,
) -> ListType | None:
    """The list type that an annotation wants of these elements; None if it says nothing.

    Raises:
        CompileError: it takes no such elements.
    """
    found = candidates(hint, ListType, span)
    for each in found:
        if all(typing.is_subtype(element, each.element, fulfils) for element in elements):
            return each
    if not found:
        return None
    assert hint is not None
    kinds = message_text(typing.make_union(elements))
    if len(found) == 1:
        raise CompileError(
            f"List type annotation `{message_text(found[0])}` did not match the types of "
            f"the given list elements, which were unified to {kinds}",
            span,
        )
    raise CompileError(
        f"Union type annotation `{message_text(hint)}` can hold {_listed(found)}, but none "
        f"of those types match the types of the given list elements, which were unified to {kinds}",
        span,
    )


def fitting_dict(
    hint: Attribute | None,
    key: Attribute,
    value: Attribute,
    span: Span | None,
    fulfils: typing.Fulfils,
) -> DictType | None:
    """The dict type that an annotation wants of a display; None if it says nothing.

    Raises:
        CompileError: it takes no such keys or values.
    """
    found = candidates(hint, DictType, span)
    for each in found:
        if typing.is_subtype(key, each.key) and typing.is_subtype(value, each.value, fulfils):
            return each
    if not found:
        return None
    assert hint is not None
    if len(found) == 1:
        wanted = found[0]
        shown = message_text(wanted)
        # The texts differ as TorchScript's do.
        about, have = (
            (f"`{shown}`, but the type of values", value)
            if typing.is_subtype(key, wanted.key)
            else (f"{shown}but the type of keys", key)
        )
        raise CompileError(
            f"Type annotation was inferred to be {about} given by the dict literal is "
            f"{message_text(have)}",
            span,
        )
    shown = message_text(DictType(key, value))
    raise CompileError(
        f"Union type annotation `{message_text(hint)}` can hold {_listed(found)}, but none "
        "of those dict types can hold the types of the given keys and values, which were unified "
        f"to {shown}",
        span,
    )


def constructed_list(hint: Attribute | None, span: Span | None) -> None:
    """Refuse `list()` where the annotation is not a list itself."""
    if hint not in (None, ANY_LIST) and not isinstance(hint, ListType):
        assert hint is not None
        raise CompileError(
            f"Expected list type annotation for list(), found {message_text(hint)}", span
        )


def constructed_dict(
    hint: Attribute | None, source: ast.expr | None, span: Span | None
) -> DictType | None:
    """The type that `dict(source)` must make; None if the annotation says nothing.

    Args:
        source: the only argument, if there is just one.

    Raises:
        CompileError: the annotation is not that of a dict, or of several.
    """
    if hint is None:
        return None
    inner = typing.without_none(hint)
    found = [m for m in typing.members_of(inner) if isinstance(m, DictType)]
    if len(found) > 1:
        raise CompileError(
            "There are multiple candidate Dict types in the Union type annotation "
            f"`{message_text(hint)}`, and full type inference is not yet supported for the "
            "`dict()` constructor.",
            span,
        )
    if found:
        return found[0]
    if isinstance(source, ast.List) and not source.elts:
        raise CompileError(
            f"Expected a type annotation of Dict for dict constructor dict(), got {ir_text(hint)}",
            span,
        )
    # What `dict()` of a display makes is compared with the annotation afterwards.
    return None if isinstance(source, ast.Dict) else empty_candidate(inner, DictType, span)


def check_pair(
    wanted: DictType,
    key: Attribute,
    value: Attribute,
    span: Span | None,
    fulfils: typing.Fulfils,
) -> None:
    """Refuse a key or value that a dict of the annotated type does not take."""
    for what, have, want in (("key", key, wanted.key), ("value", value, wanted.value)):
        if not typing.is_subtype(have, want, fulfils):
            raise CompileError(
                f"Dict type annotation `{message_text(wanted)}` did not match the type of "
                f"an actual {what} type `{message_text(have)}`",
                span,
            )


def _listed(found: Sequence[Attribute]) -> str:
    shown = [message_text(f) for f in found]
    if len(shown) == 2:
        return " or ".join(shown)
    return ", ".join(shown[:-1]) + f", or {shown[-1]}"
