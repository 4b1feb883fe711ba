"""Code that is called by its own signature, without a program behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from tensorscript.backends.cpu.signature import ArraySpec, ScalarSpec, Signature, ValueSpec
from tensorscript.base.dtypes import bool_, float64
from tensorscript.base.errors import GuardError
from tensorscript.lowering.ts_to_tg.specs import ListSpec, OutputTree

from .arguments import rebuild
from .lists import list_leaves
from .native import Loaded, NativeCode


def flat_tree(scalars: Sequence[bool]) -> OutputTree:
    """All results in order: the only one by itself, else a tuple; `scalars` are numbers."""
    leaves = [OutputTree("scalar" if s else "tensor", k) for k, s in enumerate(scalars)]
    return leaves[0] if len(leaves) == 1 else OutputTree("tuple", children=tuple(leaves))


def rebuilt(tree: OutputTree, results: Any) -> Any:
    """The value that a tree makes of native results."""
    leaves = results if isinstance(results, tuple) else (results,)
    return rebuild(tree, leaves, lambda leaf, part: leaves[leaf] if part is None else part)


class LoadedEntry:
    """Code under its own signature, without a program behind it.

    Args:
        load: given what to call with values that the code's guard refuses, the loaded code; it
            lives as long as this entry.
    """

    def __init__(
        self, name: str, signature: Signature, load: Callable[[Callable[..., Any]], _Callable]
    ) -> None:
        self.name = name
        self.signature = signature
        self._loaded = load(self.refuse)

    def refuse(self, *values: Any) -> NoReturn:
        """Say what was expected.

        Raises:
            GuardError: always.
        """
        wanted = ", ".join(map(_spec_text, self.signature.inputs))
        given = ", ".join(map(_value_text, values))
        raise GuardError(f"{self.name} was compiled for ({wanted}) and cannot take ({given})")

    def __call__(self, *values: Any) -> Any:
        leaves = list(_leaves(values, deque(self.signature.inputs)))
        if len(leaves) != len(self.signature.inputs):
            self.refuse(*values)
        pairs = zip(leaves, self.signature.inputs, strict=True)
        return self._loaded.call(*(_fitted(v, s) for v, s in pairs))


class _Callable(Protocol):
    """Loaded code: for the CPU a builtin, for a GPU a method."""

    @property
    def call(self) -> Callable[..., Any]: ...


def load_entry(name: str, code: NativeCode, arrays: dict[str, np.ndarray]) -> LoadedEntry:
    """Native code in this process."""
    return LoadedEntry(name, code.signature, lambda miss: Loaded(name, code, arrays, miss))


def _leaves(value: Any, specs: deque[ValueSpec]) -> Iterator[Any]:
    """Arrays and numbers of a program's arguments in order; what is neither (text, None) was part
    of the specialisation and is no input of its code. A list goes in as arrays where the code
    takes one of any length.

    Args:
        specs: of the inputs that are still to come.
    """
    match value:
        case list() if specs and isinstance(specs[0], ArraySpec) and specs[0].listed:
            yield from _list_leaves(value, specs)
        case tuple() | list():
            for item in value:
                yield from _leaves(item, specs)
        case dict():
            yield from _leaves(tuple(value.values()), specs)
        case None | str():
            return
        case _:
            if specs:
                specs.popleft()
            yield value


def _list_leaves(value: list[Any], specs: deque[ValueSpec]) -> Iterator[Any]:
    spec = specs.popleft()
    nested = bool(specs) and specs[0].name == f"{spec.name}_lengths"
    if nested:
        specs.popleft()
    found = list_leaves(value, ListSpec(spec.dtype, 1 + nested))
    yield from [value] if found is None else found


def _fitted(value: Any, spec: ValueSpec) -> Any:
    """A value in the form of its parameter where that changes nothing about it."""
    if isinstance(spec, ScalarSpec):
        if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0:
            value = value.item()
        widens = spec.dtype is float64 and type(value) is int
        return float(value) if widens else value
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and spec.strides is None:
        return np.asarray(value, order="C")
    return value


def _spec_text(spec: ValueSpec) -> str:
    if isinstance(spec, ArraySpec):
        return f"{spec.name}: {'x'.join(map(str, spec.shape))}:{spec.dtype.short}"
    kind = {float64: "float", bool_: "bool"}.get(spec.dtype, "int")
    return f"{spec.name}: {kind}"


def _value_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{'x'.join(map(str, value.shape))}:{value.dtype}"
    return type(value).__name__
