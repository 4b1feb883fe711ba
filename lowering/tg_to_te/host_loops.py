"""tg.loop as a te.while: what it carries has places that every iteration reads and replaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, all_of, const, var
from tensorscript.dialects.te.ops import AssignOp, LetOp, VarOp, WhileOp
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ListType, TensorType

from .lists import Host, release, retain
from .liveness import read_once
from .module_parts import tensor_type

FOREVER = 2**63 - 1
"""TorchScript's trip count of a while loop."""

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
        inside = self._iteration()
        return [*before, WhileOp(self._condition(), inside)]

    def _share_carried(self) -> None:
        """What a loop carries stays where it is, if only the loop reads it."""
        buffers = self.host.buffers
        for value, result in zip(self.op.carried, self.op.outputs, strict=True):
            if result in buffers or not self.host.reusable(value, self.op):
                continue
            if value.type == result.type and read_once(value, self.op):
                buffers[result] = buffers[value]

    def _iteration(self) -> list[Operation]:
        """The body, and what it changes put into the places."""
        host = self.host
        host.scopes.append([])
        inside = host.block(self.body, {})
        carry = self._carry()
        inside = [*host.scopes.pop(), *inside, *host.flush(), *carry, *host.close()]
        return [*inside, AssignOp(self.counter, var(self.counter) + 1)]

    def _condition(self) -> Expr:
        host, parts = self.host, []
        trip = host.scalars[self.op.max_trip]
        if not trip.is_int(FOREVER):
            parts.append(var(self.counter) < trip)
        if not all(_holds(host.scalars[v]) for v in (self.op.condition, self.last.values[0])):
            parts.append(var(self.going, bool_))
        return all_of(parts)

    def _carry(self) -> list[Operation]:
        """Assign all carried values at once: first read every new value, then write."""
        host = self.host
        reads: list[Operation] = []
        proceed = host.scalars[self.last.values[0]]
        writes: list[Operation] = []
        if not _holds(proceed):
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
            elif (source := host.buffers[value]) is not place:
                if any(source is p for p in self.places):  # a swap: it is overwritten as well
                    spare = host.new_buffer(tensor_type(value))
                    reads += host.copy(source, spare)
                    source = spare
                writes += host.copy(source, place)
        return [*reads, *writes]


def _holds(condition: Expr) -> bool:
    """A condition that is known to be true."""
    return bool(condition.is_const and condition.value)
