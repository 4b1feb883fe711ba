"""Blocks of tg as host statements: one method a kind of op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType, int64
from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, const, load, mul, var
from tensorscript.dialects.te.lists import BindOp, InvokeOp, layout
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
)
from tensorscript.dialects.te.rewriting import transform
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import ListOp, SizeOp
from tensorscript.dialects.tg.names import operand_of
from tensorscript.dialects.tg.types import ListType, ScalarType, TensorType

from .host_loops import lower_loop
from .iterated import lower_iterated
from .kernel import scatter_base
from .lists import lower_list, release, retain
from .liveness import Order
from .module_parts import ModuleParts, identifier, tensor_type
from .origins import Origins, ends


@dataclass
class HostBody:
    """Lowers blocks of one tg.func.

    Attributes:
        order, origins: the liveness and the storage of the function's values.
        sizes: names that stand for sizes from the start.
        owned: for each open block the lists it releases at its end.
        handles: the handle behind a buffer that is the storage of a list.
        pending: statements that stand before those of the op under lowering.
        writable: buffers whose contents may be replaced once nothing reads them.
    """

    module: ModuleParts
    order: Order
    origins: Origins
    scopes: list[list[Operation]] = field(default_factory=lambda: [[]])
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict)
    scalars: dict[SSAValue, Expr] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    sizes: frozenset[str] = frozenset()
    owned: list[list[str]] = field(default_factory=list)
    handles: dict[str, Expr] = field(default_factory=dict)
    pending: list[Operation] = field(default_factory=list)
    writable: set[str] = field(default_factory=set)

    def fresh(self, stem: str) -> str:
        return identifier(stem, self.taken)

    def new_buffer(self, type_: TensorType) -> Buffer:
        """Storage for a tensor; of sizes found by the program, a list's, made here (`pending`)."""
        buffer = Buffer(self.fresh("b0"), type_.dtype, type_.shape)
        self.writable.add(buffer.name)
        if not is_grown(type_, self.sizes):
            # In the loop that makes it: it needs no place while others in the loop need theirs.
            scope = self.scopes[-1 if all(size.is_const for size in type_.shape) else 0]
            scope.append(AllocOp(buffer, "arena"))
            return buffer
        handle = self.fresh("c0")
        count = const(1)
        for size in type_.shape:
            count = mul(count, size)
        self.pending.append(InvokeOp("list_new", [const(layout(type_.dtype)), count], handle))
        self.pending.append(BindOp(buffer, var(handle)))
        self.owned[-1].append(handle)
        self.handles[buffer.name] = var(handle)
        return buffer

    def place(self, value: SSAValue) -> Buffer:
        """Where a tensor has to be computed."""
        if value not in self.buffers:
            self.buffers[value] = self.new_buffer(tensor_type(value))
        return self.buffers[value]

    def flush(self) -> list[Operation]:
        made, self.pending = self.pending, []
        return made

    def close(self) -> list[Operation]:
        """The end of a block: what it owns is released."""
        return [release(var(name)) for name in reversed(self.owned.pop())]

    def scalar(self, inputs: Sequence[SSAValue], body: Expr) -> Expr:
        """`body` over host names: operands are scalars, or tensors read by element."""

        def visit(n: Expr) -> Expr | None:
            if (number := operand_of(n)) is None:
                return None
            value = inputs[number]
            if n.op == "var":
                return self.scalars[value]
            return load(self.buffers[value].name, n.args, n.dtype)

        return transform(body, visit)

    def block(self, block: Block, wanted: dict[SSAValue, Buffer]) -> list[Operation]:
        """The statements of a block; `wanted` says in which buffer a value must end up."""
        self.buffers |= wanted
        self.owned.append([])
        out: list[Operation] = []
        for op in block.ops:
            lower = _LOWERINGS.get(type(op))
            if lower is None:
                raise InternalError(f"no host code for {op.name}", "te")
            made = lower(self, op)
            made = [*self.flush(), *made]
            for statement in made:
                statement.location = op.location
            out += made
        return out

    def kernel(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.KernelOp)
        if not op.outputs:  # kernels are pure: one that gives nothing does nothing
            return []
        updated = self._updated(op)
        arguments: list[str | Expr] = []
        for number, value in enumerate(op.inputs):
            is_tensor = isinstance(value.type, TensorType)
            if number != updated:
                arguments.append(self.buffers[value].name if is_tensor else self.scalars[value])
        for result in op.outputs:
            arguments.append(self.place(result).name)
        strides = [
            self.buffers[v].strides if isinstance(v.type, TensorType) else None for v in op.inputs
        ]
        callee, symbols = self.module.add_kernel(op, strides, updated)
        return [CallOp(callee, [*arguments, *(var(s) for s in symbols)])]

    def _updated(self, op: tg.KernelOp) -> int | None:
        """The input that a scatter may write into, because nothing reads it any more."""
        number = scatter_base(op)
        if number is None or op.outputs[0] in self.buffers:
            return None
        base = op.inputs[number]
        alone = sum(v is base for v in op.inputs) == 1 and base.type == op.outputs[0].type
        if not alone or not self.reusable(base, op):
            return None
        self.buffers[op.outputs[0]] = self.buffers[base]
        return number

    def constant(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.ConstantOp)
        self.buffers[op.result] = self.module.add_constant(op)
        return []

    def let(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.ScalarOp)
        value = self.scalar(list(op.inputs), op.expr)
        if value.op in ("const", "var") and not self._is_mutable(value):
            self.scalars[op.result] = value
            return []
        name = self.fresh("c0")
        self.scalars[op.result] = var(name, value.dtype)
        return [LetOp(name, value)]

    def _is_mutable(self, value: Expr) -> bool:
        return value.op == "var" and str(value.value).startswith("v")

    def check(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.AssertOp)
        return [AssertOp(self.scalars[op.condition], op.message.data)]

    def copy(self, source: Buffer, target: Buffer) -> list[Operation]:
        return [CallOp(*self.module.copy_call(source, target))]

    def results(self, values: Sequence[SSAValue]) -> tuple[list[Operation], list[Buffer | str]]:
        """Declare storage for results of control flow: a te.var or a buffer each."""
        declared: list[Operation] = []
        places: list[Buffer | str] = []
        for value in values:
            if isinstance(value.type, TensorType):
                place = self.place(value)
                self.handles.pop(place.name, None)  # it is written more than once
                places.append(place)
            else:
                name, dtype = self.fresh("v0"), _dtype(value)
                declared.append(VarOp(name, const(0, dtype)))
                self.scalars[value] = var(name, dtype)
                places.append(name)
                if isinstance(value.type, ListType):
                    self.owned[-1].append(name)
        # Here, not in the first block that writes to a place.
        return [*self.flush(), *declared], places

    def branch(
        self, block: Block, places: Sequence[Buffer | str], shared: Sequence[Buffer]
    ) -> list[Operation]:
        """One side of an if. `shared` places hold a value that the branch may still read."""
        last = block.last_op
        assert isinstance(last, tg.YieldOp)
        wanted: dict[SSAValue, Buffer] = {}
        for value, place in zip(last.values, places, strict=True):
            own = isinstance(value.owner, _PLACED) and value.owner.parent is block
            if isinstance(place, Buffer) and own and value not in wanted and place not in shared:
                wanted[value] = place
        out = self.block(block, wanted)
        for value, place in zip(last.values, places, strict=True):
            if isinstance(place, str):
                out += self.begin(place, value)
            elif self.buffers[value] is not place:
                out += self.copy(self.buffers[value], place)
        return [*out, *self.close()]

    def begin(self, place: str, value: SSAValue) -> list[Operation]:
        """Give a te.var its first value; it holds a reference to a list."""
        held = [retain(self.scalars[value])] if isinstance(value.type, ListType) else []
        return [*held, AssignOp(place, self.scalars[value])]

    def branches(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.IfOp)
        shared = self._share_branches(op)
        declared, places = self.results(op.outputs)
        then = self.branch(op.true_region.block, places, shared)
        otherwise = self.branch(op.false_region.block, places, shared)
        return [*declared, IfOp(self.scalars[op.condition], then, otherwise)]

    def reusable(self, value: SSAValue, op: Operation) -> bool:
        """The storage of a tensor is free for the results of `op`."""
        if not isinstance(value.type, TensorType) or value not in self.buffers:
            return False  # not in reach: made inside of `op`
        return self.buffers[value].name in self.writable and self.order.dies_at(value, op)

    def _share_branches(self, op: tg.IfOp) -> list[Buffer]:
        """A tensor that branches leave as it is, or write elements of, stays where it is; the
        places so shared."""
        shared: list[Buffer] = []
        find = self.origins.origin
        origins = [[find(value, op) for value in last.operands] for last in ends(op)]
        counts = [Counter(side) for side in origins]
        for number, result in enumerate(op.outputs):
            for side in origins:
                value = side[number]
                if result in self.buffers or value.type != result.type:
                    continue
                sides = zip(origins, counts, strict=True)
                alone = all(count[value] == (s[number] is value) for s, count in sides)
                if alone and self.reusable(value, op):
                    self.buffers[result] = self.buffers[value]
                    shared.append(self.buffers[value])
        return shared

    def loop(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.LoopOp)
        return lower_iterated(self, op) or lower_loop(self, op)

    def point(self, op: Operation) -> list[Operation]:
        """One element of a tensor written: where it lies if nothing else reads the old tensor."""
        assert isinstance(op, tg.ScatterOp)
        made: list[Operation] = []
        if op.result not in self.buffers and self.reusable(op.base, op):
            self.buffers[op.result] = self.buffers[op.base]
        target, inputs = self.place(op.result), list(op.inputs)
        if target is not self.buffers[op.base]:
            made += self.copy(self.buffers[op.base], target)
        at = [self.scalar(inputs, e) for e in op.indices.data]
        value = self.scalar(inputs, op.body.data)
        if op.combiner.data == "set":
            return [*made, StoreOp(target.name, at, value)]
        return [*made, UpdateOp(target.name, at, op.combiner.data, value)]

    def lists(self, op: Operation) -> list[Operation]:
        assert isinstance(op, ListOp)
        return lower_list(self, op)

    def size(self, op: Operation) -> list[Operation]:
        assert isinstance(op, SizeOp)
        return [LetOp(op.symbol, self.scalars[op.value])]

    def nothing(self, op: Operation) -> list[Operation]:
        return []


_PLACED = (tg.KernelOp, tg.IfOp, tg.LoopOp)
"""The ops that put their results where they are wanted."""


def _dtype(value: SSAValue) -> DType:
    """Of the te scalar that holds a number or the handle of a list."""
    return value.type.dtype if isinstance(value.type, ScalarType) else int64


def is_grown(type_: TensorType, sizes: frozenset[str]) -> bool:
    """Whether a shape names sizes that the program itself finds."""
    return any(not size.free <= sizes for size in type_.shape)


_LOWERINGS: dict[type[Operation], Callable[[HostBody, Operation], list[Operation]]] = {
    tg.KernelOp: HostBody.kernel,
    tg.ConstantOp: HostBody.constant,
    tg.ScalarOp: HostBody.let,
    tg.AssertOp: HostBody.check,
    tg.IfOp: HostBody.branches,
    tg.LoopOp: HostBody.loop,
    tg.ScatterOp: HostBody.point,
    ListOp: HostBody.lists,
    SizeOp: HostBody.size,
    tg.YieldOp: HostBody.nothing,
    tg.ReturnOp: HostBody.nothing,
}
