"""What a graph must be after it was edited: values are there before they are read, and nodes whose
kind means something have what it asks for."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.errors import GuardError

from .node_forms import fits, is_known
from .ops import FuncOp, NodeOp, TSOp
from .value_names import ValueNames


def lint(function: FuncOp, names: ValueNames) -> None:
    """Verify a function as a graph.

    Args:
        names: what its values are called.

    Raises:
        GuardError: it is none, and why.
    """
    _Lint(names).block(function.block, set())
    try:
        function.verify()
    except VerifyException as error:
        raise GuardError(str(error)) from error


class _Lint:
    def __init__(self, names: ValueNames) -> None:
        self.names = names

    def block(self, block: Block, outer: set[SSAValue]) -> None:
        scope = outer | set(block.args)
        for op in block.ops:
            self.op(op, scope)
            scope.update(op.results)

    def op(self, op: Operation, scope: set[SSAValue]) -> None:
        for value in op.operands:
            if value not in scope:
                raise GuardError(f"%{self.names.define(value)} not in scope")
        is_open = isinstance(op, NodeOp) and is_known(op.node_kind)
        if is_open or not fits(op):
            kind = op.node_kind if isinstance(op, TSOp) else op.name
            given = ", ".join(f"%{self.names.define(value)}" for value in op.operands)
            raise GuardError(f"{kind}({given}) is not what nodes of this kind are")
        for region in op.regions:
            self.block(region.block, scope)
