"""Graphs without calls as TorchScript shows them.

What a function calls is simplified before it takes the place of the call: calls in it are inlined,
numbers and strings that are known are computed, branches on them vanish, constants are pooled. The
function itself is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.lowering.ts.inline import inline_calls, inline_in_place
from tensorscript.lowering.ts.pool_constants import pool_constants
from tensorscript.runtime.interpreter import Interpreter

from .graph_folding import fold_immutable
from .graph_peephole import simplify


class Simplified(Mapping[str, FuncOp]):
    """The functions of a program, simplified when they are first asked for.

    Args:
        interpreter: knows the functions, and computes what is constant.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._made: dict[str, FuncOp] = {}

    def __getitem__(self, name: str) -> FuncOp:
        if name not in self._made:
            self._made[name] = self._simplified(self._interpreter.functions[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._interpreter.functions)

    def __len__(self) -> int:
        return len(self._interpreter.functions)

    def _simplified(self, function: FuncOp) -> FuncOp:
        made = inline_calls(function, self, is_deep=False)
        # What is dead stays where nothing else changes.
        simplify(made)
        fold_immutable(made, self._interpreter)
        pool_constants(made)
        return made


def inline(function: FuncOp, interpreter: Interpreter) -> None:
    """As `inlined`, without a copy."""
    inline_in_place(function, Simplified(interpreter), is_deep=False)


def inlined(function: FuncOp, interpreter: Interpreter) -> FuncOp:
    """A copy of a function with every call replaced by what it calls."""
    return inline_calls(function, Simplified(interpreter), is_deep=False)
