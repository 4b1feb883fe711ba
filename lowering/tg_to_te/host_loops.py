"""tg.loop as a te.while: what it carries has places that every iteration reads and replaces.

New tensors are copied into those places at the end of an iteration. Where such copies cost
something and kernels make the tensors, two iterations are written, and the tensors change places:

```
te.while v0 < n {                       te.while v0 < n {
  te.call @step(h, new)                   te.call @step(h, new)
  te.call @copy(new, h)          -->      te.assign v0 = v0 + 1
  te.assign v0 = v0 + 1                   te.if v0 < n { te.call @step(new, h)
}                                                        te.assign v0 = v0 + 1
                                          } else { te.call @copy(new, h) }
                                        }
```
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Protocol

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, all_of, const, var
from tensorscript.dialects.te.ops import AssignOp, IfOp, LetOp, VarOp, WhileOp
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ListType, TensorType

from .lists import Host, release, retain
from .module_parts import tensor_type

FOREVER = 2**63 - 1
"""TorchScript's trip count of a while loop."""

LEAST_COPIED = 256
"""Bytes whose copying is worth a second iteration of code."""
MOST_TWICE = 16
"""Operations that are written twice."""
_REPEATABLE = (tg.KernelOp, tg.ScalarOp, tg.ScatterOp, tg.AssertOp, tg.YieldOp)

Place = Buffer | str
"""Where a carried value lies: a tensor in a buffer, a number in a te.var."""


class LoopHost(Host, Protocol):
    """What the lowering of a function offers to its loops.

    Attributes:
        scopes: declarations of the blocks that are open.
    """

    scopes: list[list[Operation]]

    def block(self, block: Block, wanted: dict[SSAValue, Buffer]) -> list[Operation]: ...

    def results(self, values: Sequence[SSAValue]) -> tuple[list[Operation], list[Place]]: ...

    def begin(self, place: str, value: SSAValue) -> list[Operation]: ...

    def reusable(self, value: SSAValue, op: Operation) -> bool: ...

    def new_buffer(self, type_: TensorType) -> Buffer: ...

    def flush(self) -> list[Operation]: ...

    def close(self) -> list[Operation]: ...


def lower_loop(host: LoopHost, op: tg.LoopOp) -> list[Operation]:
    """The statements of a loop."""
    return _Loop(host, op).lower()


class _Loop:
    """One loop.

    Attributes:
        counter, going: the te.vars that say whether it goes on.
    """

    def __init__(self, host: LoopHost, op: tg.LoopOp) -> None:
        self.host, self.op = host, op
        self.body = op.body.block
        last = self.body.last_op
        assert isinstance(last, tg.YieldOp)
        self.last = last

    def lower(self) -> list[Operation]:
        host, op = self.host, self.op
        self._share_carried()
        before, self.places = host.results(op.outputs)
        for value, place in zip(op.carried, self.places, strict=True):
            if isinstance(place, str):
                before += host.begin(place, value)
            elif host.buffers[value] is not place:
                before += host.copy(host.buffers[value], place)
        self.counter, self.going = host.fresh("v0"), host.fresh("v0")
        before.append(VarOp(self.counter, const(0)))
        before.append(VarOp(self.going, host.scalars[op.condition]))
        host.scalars[self.body.args[0]] = var(self.counter)
        for argument, place, result in zip(
            self.body.args[1:], self.places, op.outputs, strict=True
        ):
            if isinstance(place, str):
                host.scalars[argument] = host.scalars[result]
            else:
                host.buffers[argument] = place
        inside = self._iterations()
        return [*before, WhileOp(self._condition(), inside)]

    def _share_carried(self) -> None:
        """What a loop carries stays where it is, if only the loop reads it."""
        buffers = self.host.buffers
        for value, result in zip(self.op.carried, self.op.outputs, strict=True):
            if result in buffers or not self.host.reusable(value, self.op):
                continue
            if value.type == result.type and self.host.order.read_once(value, self.op):
                buffers[result] = buffers[value]

    def _iterations(self) -> list[Operation]:
        """One iteration, or two between which tensors change places."""
        host, known = self.host, set(self.host.buffers)
        host.scopes.append([])
        statements = host.block(self.body, {})
        moved = self._moved(known)
        carried = [copy for value, place in moved for copy in host.copy(host.buffers[value], place)]
        end = self._end({value for value, _ in moved})
        first = [*host.scopes.pop(), *statements, *end]
        if not moved:
            return first
        return [*first, IfOp(self._condition(), self._second(moved, known), carried)]

    def _moved(self, known: set[SSAValue]) -> list[tuple[SSAValue, Buffer]]:
        """Tensors of the iteration just written that can stay where they are, to be replaced by the
        next one where they are carried to; none where a copy is cheaper, or has to be made.

        Args:
            known: values that had a buffer before the iteration.
        """
        found = [
            (value, place)
            for value, place in zip(self.last.values[1:], self.places, strict=True)
            if isinstance(place, Buffer) and self.host.buffers[value] is not place
        ]
        values = {value for value, _ in found}
        operations = list(self.body.ops)
        if len(values) < len(found) or len(operations) > MOST_TWICE:
            return []
        if not all(isinstance(op, _REPEATABLE) for op in operations):
            return []
        if any(value in known or not isinstance(value.owner, tg.KernelOp) for value in values):
            return []
        return found if sum(_bytes(place) for _, place in found) >= LEAST_COPIED else []

    def _second(
        self, moved: Sequence[tuple[SSAValue, Buffer]], known: set[SSAValue]
    ) -> list[Operation]:
        """An iteration that reads what moved where the one before it has left it."""
        host = self.host
        sources: dict[SSAValue, Buffer] = {}
        arguments = dict(zip(self.last.values[1:], self.body.args[1:], strict=True))
        for value, _ in moved:
            sources[arguments[value]] = host.buffers[value]
        for value in host.buffers.keys() - known:
            del host.buffers[value]
        host.buffers |= sources
        host.scopes.append([])
        statements = [*host.block(self.body, dict(moved)), *self._end(set())]
        return [*host.scopes.pop(), *statements]

    def _end(self, moved: set[SSAValue]) -> list[Operation]:
        """What an iteration changed put into the places, but for what `moved`."""
        host, carry = self.host, self._carry(moved)
        following = AssignOp(self.counter, var(self.counter) + 1)
        return [*host.flush(), *carry, *host.close(), following]

    def _condition(self) -> Expr:
        host, parts = self.host, []
        trip = host.scalars[self.op.max_trip]
        if not trip.is_int(FOREVER):
            parts.append(var(self.counter) < trip)
        if not all(holds(host.scalars[v]) for v in (self.op.condition, self.last.values[0])):
            parts.append(var(self.going, bool_))
        return all_of(parts)

    def _carry(self, moved: set[SSAValue]) -> list[Operation]:
        """Assign all carried values at once: first read every new value, then write."""
        host = self.host
        reads: list[Operation] = []
        proceed = host.scalars[self.last.values[0]]
        writes: list[Operation] = []
        if not holds(proceed):
            writes.append(AssignOp(self.going, proceed))
        for value, place in zip(self.last.values[1:], self.places, strict=True):
            if isinstance(place, str):
                fresh = host.scalars[value]
                if fresh is var(place, fresh.dtype):
                    continue
                name = host.fresh("c0")
                reads.append(LetOp(name, fresh))
                if isinstance(value.type, ListType):
                    reads.append(retain(var(name)))
                    writes.append(release(var(place)))
                writes.append(AssignOp(place, var(name, fresh.dtype)))
            elif value not in moved and (source := host.buffers[value]) is not place:
                if any(source is p for p in self.places):  # a swap: it is overwritten as well
                    spare = host.new_buffer(tensor_type(value))
                    reads += host.copy(source, spare)
                    source = spare
                writes += host.copy(source, place)
        return [*reads, *writes]


def _bytes(buffer: Buffer) -> int:
    """How much a buffer holds; 0 where that is not known."""
    sizes = [int(str(size)) if size.is_const else 0 for size in buffer.shape]
    return prod(sizes) * buffer.dtype.itemsize


def holds(condition: Expr) -> bool:
    """A condition that is known to be true."""
    return bool(condition.is_const and condition.value)
