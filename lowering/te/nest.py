"""An index of one te.func for scheduling: where its loops, names and ranges are.

A `Nest` answers from memory until `changed()` says that a step rewrote the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import Buffer, BufferAttr, ExprAttr, ExprsAttr, Scalar
from tensorscript.dialects.te.expr import Expr, node, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, IfOp, LetOp, ScanOp, VarOp
from tensorscript.dialects.te.ranges import SIZE, Interval, Prover, inside_loop
from tensorscript.dialects.te.rewriting import substitute, transform
from tensorscript.dialects.walks import walk_ops

from .names import unused


def function_ranges(func: FuncOp) -> dict[str, Interval]:
    """Sizes that shape the parameters are >= 0; other scalars are unknown data."""
    sizes: dict[str, Interval] = {}
    scalars = {p.name for p in func.params if isinstance(p, Scalar) and p.dtype is int64}
    for buffer in func.buffers:
        for size in buffer.shape + (buffer.strides or ()):
            sizes |= {name: SIZE for name in size.free if name in scalars}
    return sizes


class Nest:
    """The loops, buffers, names and ranges of `func`."""

    def __init__(self, func: FuncOp) -> None:
        self.func = func
        self.names: set[str] = {p.name for p in func.params}
        self.cache: dict[object, object] = {}
        self._sizes = function_ranges(func)
        self._scan()

    def changed(self) -> None:
        """Forget what was derived; call after every rewrite."""
        self.cache.clear()
        self._scan()

    def _scan(self) -> None:
        self.loops: dict[str, ForOp] = {}
        self.buffers: dict[str, Buffer] = {b.name: b for b in self.func.buffers}
        self.allocs: dict[str, AllocOp] = {}
        self.mutable: set[str] = set()
        self.lets: dict[str, LetOp] = {}
        for op in walk_ops(self.func):
            if isinstance(op, ForOp):
                self.loops[op.var] = op
                self.names |= {op.chunk} if op.chunk is not None else set()
            elif isinstance(op, AllocOp):
                self.buffers[op.buffer.name] = op.buffer
                self.allocs[op.buffer.name] = op
            elif isinstance(op, VarOp):
                self.mutable.add(op.var)
            elif isinstance(op, LetOp):
                self.lets[op.var] = op
        self.names |= self.loops.keys() | self.buffers.keys() | self.mutable | self.lets.keys()

    def fresh(self, name: str) -> str:
        """`name`, or `name_2`, `name_3`... where it is taken; reserves it."""
        return unused(name, self.names, first=2)

    def enclosing(self, op: Operation) -> list[ForOp]:
        """The loops around `op`, outermost first."""
        found: list[ForOp] = []
        above = op.parent_op()
        while above is not None and above is not self.func:
            if isinstance(above, ForOp):
                found.append(above)
            above = above.parent_op()
        return found[::-1]

    def ranges(self, op: Operation) -> Mapping[str, Interval]:
        """The ranges of the variables visible at `op` (sizes and loops around it)."""
        key = ("ranges", op.parent_op())
        if (found := self.cache.get(key)) is not None:
            return found  # type: ignore[return-value]  # the key says what is kept
        ranges: dict[str, Interval] = dict(self._sizes)
        for loop in self.enclosing(op):
            ranges = inside_loop(loop.var, loop.start, loop.extent, ranges, loop.chunk)
        self.cache[key] = ranges
        return ranges

    def most_iterations(self, loop: ForOp) -> int | None:
        """The greatest number of iterations of `loop`, None where no number bounds it."""
        if loop.extent.is_const:
            return int(str(loop.extent))
        return Prover(self.ranges(loop)).bounds(loop.extent)[1]

    def body_ranges(self, loop: ForOp) -> Mapping[str, Interval]:
        """The ranges that hold inside `loop`."""
        return inside_loop(loop.var, loop.start, loop.extent, self.ranges(loop), loop.chunk)

    def guards(self, op: Operation) -> list[Expr]:
        """Conditions that hold at `op` because it is in the then-part of a te.if."""
        found: list[Expr] = []
        below, above = op, op.parent_op()
        while above is not None and above is not self.func:
            if isinstance(above, IfOp) and below.parent_block() is above.then_body.block:
                found.append(above.condition)
            below, above = above, above.parent_op()
        return found


def only_child(block: Block) -> Operation | None:
    """The single statement of a block, else None."""
    first = block.first_op
    return first if first is not None and first is block.last_op else None


def expressions(op: Operation) -> Iterator[Expr]:
    """The expressions an op itself holds (not those of its body)."""
    for attribute in op.properties.values():
        if isinstance(attribute, ExprAttr):
            yield attribute.data
        elif isinstance(attribute, ExprsAttr):
            yield from attribute.data


def rewrite_expressions(op: Operation, rewrite: Mapping[str, Expr]) -> None:
    """Substitute variables in `op` and everything inside it, in place."""
    _substitute_one(op, rewrite)
    for child in walk_ops(op):
        _substitute_one(child, rewrite)


def _substitute_one(op: Operation, values: Mapping[str, Expr]) -> None:
    for key, attribute in op.properties.items():
        if isinstance(attribute, ExprAttr):
            fresh = substitute(attribute.data, values)
            if fresh is not attribute.data:
                op.properties[key] = ExprAttr(fresh)
        elif isinstance(attribute, ExprsAttr):
            items = tuple(substitute(e, values) for e in attribute.data)
            if any(a is not b for a, b in zip(items, attribute.data, strict=True)):
                op.properties[key] = ExprsAttr(items)


def substitute_in(ops: Iterable[Operation], values: Mapping[str, Expr]) -> None:
    """Substitute variables in statements and their bodies, in place."""
    for op in ops:
        rewrite_expressions(op, values)


def detach(op: Operation) -> None:
    """Take a statement out of its block."""
    op.detach()


def move(ops: Sequence[Operation], block: Block) -> None:
    """Detach statements and append them to `block`."""
    for op in ops:
        detach(op)
        block.add_op(op)


def insert_before(place: Operation, ops: Sequence[Operation]) -> None:
    """Insert new statements in front of `place`."""
    block = place.parent_block()
    assert block is not None  # statements of a function always stand in a block
    block.insert_ops_before(list(ops), place)


def insert_after(place: Operation, ops: Sequence[Operation]) -> None:
    """Insert new statements behind `place`."""
    block = place.parent_block()
    assert block is not None  # statements of a function always stand in a block
    block.insert_ops_after(list(ops), place)


def take_body(loop: ForOp) -> list[Operation]:
    """The statements of a loop, detached."""
    ops = list(loop.block.ops)
    for op in ops:
        detach(op)
    return ops


def rename_loads(e: Expr, names: Mapping[str, str]) -> Expr:
    """Loads of renamed buffers, variables of renamed loops and scalars."""

    def visit(n: Expr) -> Expr | None:
        if n.op == "load" and n.value in names:
            return node("load", n.args, names[str(n.value)], n.dtype)
        if n.op == "var" and n.value in names:
            return var(names[str(n.value)], n.dtype)
        return None

    return transform(e, visit)


_NAME_KEYS = ("var_name", "chunk_name", "buffer_name", "carried_name")


def _renamed(key: str, attribute: Attribute, names: Mapping[str, str]) -> Attribute:
    if isinstance(attribute, ExprAttr):
        return ExprAttr(rename_loads(attribute.data, names))
    if isinstance(attribute, ExprsAttr):
        return ExprsAttr(tuple(rename_loads(e, names) for e in attribute.data))
    if isinstance(attribute, BufferAttr):
        b = attribute.data
        shape = tuple(rename_loads(e, names) for e in b.shape)
        if b.name in names or shape != b.shape:
            name = names.get(b.name, b.name)
            return BufferAttr(Buffer(name, b.dtype, shape, b.strides, b.mode))
    if key in _NAME_KEYS and isinstance(attribute, StringAttr) and attribute.data in names:
        return StringAttr(names[attribute.data])
    return attribute


def copy_op(op: Operation, names: Mapping[str, str]) -> Operation:
    """A copy of a statement and its body with names replaced."""
    properties = {k: _renamed(k, a, names) for k, a in op.properties.items()}
    regions = [
        Region(Block([copy_op(child, names) for child in region.block.ops]))
        for region in op.regions
    ]
    made = type(op).create(properties=properties, attributes=dict(op.attributes), regions=regions)
    made.location = op.location
    return made


def copy_fresh(nest: Nest, ops: Sequence[Operation], suffix: str) -> list[Operation]:
    """Copies of statements whose own loops, scalars and buffers get new names `name + suffix`."""
    names: dict[str, str] = {}
    for top in ops:
        for op in (top, *walk_ops(top)):
            if isinstance(op, (ForOp, LetOp, ScanOp, VarOp)):
                names[op.var] = nest.fresh(op.var + suffix)
                if isinstance(op, ForOp) and op.chunk is not None:
                    names[op.chunk] = nest.fresh(op.chunk + suffix)
            elif isinstance(op, AllocOp):
                names[op.buffer.name] = nest.fresh(op.buffer.name + suffix)
    return [copy_op(op, names) for op in ops]


def loop_like(loop: ForOp, name: str, extent: Expr | int, body: Sequence[Operation] = ()) -> ForOp:
    """A serial loop from 0 that keeps `loop`'s reduction mark and place."""
    made = ForOp(name, extent, body, reduction=loop.is_reduction)
    made.location = loop.location
    return made
