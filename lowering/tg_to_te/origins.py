"""Whose storage a value has if everything is written in place.

```
%y = tg.scatter %x[..] = ..       %y may lie where %x does
%y = tg.loop carrying %x          %y where %x does
%y = tg.if: yield %a; yield %b    %y where both %a and %b do, if there is such a place
```
The values are nodes of a tree. A node knows its parent and one ancestor further up, so that a
search among n ancestors takes some log n steps (Myers, "An applicative random-access stack", 1983).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.records import dataclass
from tensorscript.dialects.tg.ops import IfOp, KernelOp, LoopOp, ScatterOp

from .kernel import scatter_base
from .liveness import Order


@dataclass(frozen=True, eq=False)
class _Node:
    """A value whose storage may be that of its parent; a root is its own parent."""

    value: SSAValue
    depth: int
    up: tuple[_Node, _Node] | None

    @property
    def parent(self) -> _Node:
        return self.up[0] if self.up is not None else self

    @property
    def jump(self) -> _Node:
        """An ancestor: the parent, or one so far up as the last two jumps lead together."""
        return self.up[1] if self.up is not None else self

    def child(self, value: SSAValue) -> _Node:
        middle, top = self.jump, self.jump.jump
        is_even = self.depth - middle.depth == middle.depth - top.depth
        return _Node(value, self.depth + 1, (self, top if is_even else self))


class Origins:
    """The storage of the values under a block."""

    def __init__(self, block: Block, order: Order) -> None:
        self._order = order
        self._nodes: dict[SSAValue, _Node] = {}
        self._add(block)

    def origin(self, value: SSAValue, inside: Operation) -> SSAValue:
        """The tensor from outside of `inside` whose storage `value` has if what is written into it
        in there is written in place; a value from inside if there is none."""
        return _first(self._node(value), lambda v: not self._order.is_inside(v, inside)).value

    def _node(self, value: SSAValue) -> _Node:
        if value not in self._nodes:
            self._nodes[value] = _Node(value, 0, None)
        return self._nodes[value]

    def _add(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, IfOp | LoopOp):
                for region in op.regions:
                    self._add(region.block)
            for number, result in enumerate(op.results):
                above = self._above(op, number)
                if above is not None:
                    self._nodes[result] = above.child(result)

    def _above(self, op: Operation, number: int) -> _Node | None:
        """The node whose storage a result takes over."""
        match op:
            case ScatterOp() if not op.extents.data:
                return self._node(op.base)
            case KernelOp() if (base := scatter_base(op)) is not None:
                return self._node(op.inputs[base])
            case LoopOp():
                return self._node(op.carried[number])
            case IfOp():
                left, right = (self._node(last.operands[number]) for last in ends(op))
                return _meeting(left, right)
        return None


def _first(node: _Node, holds: Callable[[SSAValue], bool]) -> _Node:
    """The lowest of a node and its ancestors for which something holds that stays true further up;
    the root if it holds for none."""
    while not holds(node.value) and node.up is not None:
        node = node.parent if holds(node.jump.value) else node.jump
    return node


def _meeting(left: _Node, right: _Node) -> _Node | None:
    """The lowest common ancestor."""
    while left is not right:
        if left.depth < right.depth:
            left, right = right, left
        if left.up is None:
            return None
        if left.depth > right.depth:
            left = left.jump if left.jump.depth >= right.depth else left.parent
        elif left.jump is not right.jump:
            left, right = left.jump, right.jump
        else:
            left, right = left.parent, right.parent
    return left


def ends(op: IfOp) -> list[Operation]:
    """The terminators of both branches."""
    found = [region.block.last_op for region in op.regions]
    return [last for last in found if last is not None]
