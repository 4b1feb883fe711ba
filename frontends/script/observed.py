"""Types of arguments that examples show: what unannotated parameters of scripts are declared as.

Whatever Python functions run while the examples do are looked at, as PyTorch does with MonkeyType
(github.com/Instagram/MonkeyType), and the rules by which types of values are joined are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, GenericAlias
from typing import Any, Optional, Union

from tensorscript.base.importing import imported

from .python_names import TORCH_ROOTS

ObservedTypes = dict[CodeType, dict[str, list[object]]]
"""The types that each argument of each Python function had, in the order of their first calls."""


@cache
def _libraries() -> tuple[str, ...]:
    paths = imported("sysconfig").get_paths()
    return tuple(path for kind, path in paths.items() if kind.endswith("lib") and path)


@contextmanager
def observing() -> Iterator[ObservedTypes]:
    """What Python functions of the user are called with in this thread, while inside."""
    seen: ObservedTypes = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and _is_of_the_user(frame):
            _record(seen.setdefault(frame.f_code, {}), frame)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def observed(obj: Callable[..., object], examples: object) -> ObservedTypes:
    """Run `obj` as Python with examples and look at the types.

    Args:
        examples: a list of tuples of arguments, or such a list for each of several callables.

    Raises:
        ValueError: neither of these.
    """
    if not isinstance(examples, list | dict):
        raise ValueError(
            "Error: Unable to infer types. Please format the inputs to type `List[Tuple]` or "
            "`Dict[Callable, List[Tuple]]` to be run with MonkeyType."
        )
    called = examples if isinstance(examples, dict) else {obj: examples}
    with observing() as seen:
        for function, each in called.items():
            for arguments in each:
                function(*arguments)
    return seen


def declared_types(seen: Mapping[str, list[object]]) -> dict[str, object]:
    """The annotation of each argument: of several types `Any`, but `Optional` for None and one."""
    return {name: _consolidated(types) for name, types in seen.items()}


def _consolidated(types: list[object]) -> object:
    if len(types) == 1:
        return types[0]
    if len(types) == 2 and type(None) in types:
        return Optional[next(t for t in types if t is not type(None))]  # noqa: UP045  # built at run time
    return Any


def _is_of_the_user(frame: FrameType) -> bool:
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return root not in TORCH_ROOTS and not frame.f_code.co_filename.startswith(_libraries())


def _record(arguments: dict[str, list[object]], frame: FrameType) -> None:
    code = frame.f_code
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        types = arguments.setdefault(name, [])
        if (found := _type_of(frame.f_locals[name])) not in types:
            types.append(found)


def _type_of(value: object) -> object:
    kind = type(value)
    if isinstance(value, list) and kind is list:
        return GenericAlias(list, (_joined(value),))
    if isinstance(value, dict) and kind is dict:
        return GenericAlias(dict, (_joined(value), _joined(value.values())))
    if isinstance(value, tuple) and kind is tuple:
        return GenericAlias(tuple, tuple(map(_type_of, value)))
    return kind


def _joined(values: Iterable[object]) -> object:
    """The type of the elements of a container."""
    found = list(dict.fromkeys(map(_type_of, values)))
    return Union[tuple(found)] if found else Any  # noqa: UP007  # built at run time
