"""A recorded body as a `ts` function."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr

from tensorscript.frontends.script.draft import Block, Draft, Value
from tensorscript.frontends.script.lower import lower_function
from tensorscript.frontends.script.program import Compiled
from tensorscript.frontends.script.signature import Formal, Signature

from .nesting import unshaped


def compiled_block(name: str, body: Block, is_method: bool = False) -> Compiled:
    """A recorded body as a function; what has no name is `argument_N`."""
    formals: list[Formal] = []
    taken: set[str] = set()
    for at, param in enumerate(body.params):
        formals.append(Formal(_argument_name(param, at, taken), unshaped(param.type)))
    signature = Signature(name, tuple(formals), (unshaped(body.outputs[0].type),))
    op = lower_function(Draft(body), signature, is_method)
    op.is_traced = UnitAttr()
    return Compiled(name, signature, op)


def _argument_name(param: Value, at: int, taken: set[str]) -> str:
    base = param.name or f"argument_{at}"
    name, count = base, 1
    while name in taken:
        name, count = f"{base}{count}", count + 1
    taken.add(name)
    return name
