"""A function made of a graph: what its signature says beside its block."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from .ops import FuncOp, ReturnOp
from .types import NONE, TupleType


def graph_function(symbol: str, block: Block, formals: Sequence[str]) -> FuncOp:
    """A function of a block that ends in a return.

    Args:
        formals: what its arguments shall be called; "" is `argument_N`.
    """
    names: list[str] = []
    for at, formal in enumerate(formals):
        names.append(unused_name(formal or f"argument_{at}", names))
    last = block.last_op
    assert isinstance(last, ReturnOp)
    return FuncOp.create(
        properties={
            "sym_name": StringAttr(symbol),
            "argument_names": ArrayAttr(map(StringAttr, names)),
            "defaults": ArrayAttr([UnitAttr()] * len(names)),
            "return_type": returned_type(last.values),
        },
        regions=[Region(block)],
    )


def returned_type(values: Sequence[SSAValue]) -> Attribute:
    """What a function that returns `values` gives: None for none, a tuple for several."""
    types = [value.type for value in values]
    single = types[0] if types else NONE
    return single if len(types) < 2 else TupleType.of(types)


def unused_name(name: str, taken: Collection[str]) -> str:
    """`name`, or with a number behind it if it is taken."""
    numbered = (f"{name}{count}" for count in itertools.count(1))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)
