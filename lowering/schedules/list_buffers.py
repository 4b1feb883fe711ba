"""Lists whose lengths are known become buffers: no access asks for a length or where data is.

A list that nothing makes longer, and that no other name stands for, keeps the length it has first:

```
te.invoke l: i64 = @list_new(f, 200)           te.invoke l: i64 = @list_new(f, 200)
te.invoke n: i64 = @list_length(l)        -->  te.bind b: i64[200] = l
te.invoke x: i64 = @list_get_i64(l, k)         te.let n: i64 = 200
                                               te.let x: i64 = b.i64[k]
```
A list that a counting loop appends to once a turn gets all its room before the loop, and an element
that one turn appends and the next one reads may stay in a register:

```
te.invoke l: i64 = @list_new(f, 0)             te.invoke l: i64 = @list_new(f, 0)
te.var i: i64 = 0                              te.var i: i64 = 0
te.while i < m {                               te.let count: i64 = max(m, 0)
  te.invoke @list_push_i64(l, v)          -->  te.invoke @list_grow(l, count)
  te.assign i = i + 1                          te.bind b: i64[count] = l
}                                              te.while i < m { te.store b[i] = v .. }
```
Both are for lists of numbers, used as lists alone while this holds: what a name is copied to, or
what is put into another list, is not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr, binary, const, load, var
from tensorscript.dialects.te.lists import ELEMENTS, NESTED, BindOp, InvokeOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    ForOp,
    FuncOp,
    LetOp,
    StoreOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops

from ..te.names import unused
from ..te.nest import detach, expressions, function_ranges
from .counting import Counting, assigned_in, counting

MOST_ROOM = 1 << 20
"""Elements that a loop gets room for though an error may end it early; more where something of
that length is in memory already."""

_READS = ("length", "get", "set")


def lists_as_buffers(func: FuncOp) -> None:
    """Rewrite the lists of a host function in place."""
    made = [op for op in walk_ops(func) if isinstance(op, InvokeOp) and _is_flat(op)]
    if not made:
        return
    names = _Names(func)
    for make in made:
        _fixed(make, names)
    for loop in [op for op in walk_ops(func) if isinstance(op, WhileOp)]:
        if (found := counting(loop)) is not None:
            _appended(found, names)


def _is_flat(op: InvokeOp) -> bool:
    """It makes a list of numbers."""
    if op.function != "list_new" or not op.arguments[0].is_const:
        return False
    return int(str(op.arguments[0].value)) & 0xFF00 < NESTED


def _action(op: InvokeOp) -> tuple[str, str]:
    """`list_get_i64` -> ("get", "i64"), `list_length` -> ("length", "")."""
    action, _, kind = op.function.removeprefix("list_").rpartition("_")
    return (action, kind) if kind in ELEMENTS else (op.function.removeprefix("list_"), "")


class _Names:
    """What the names of a function are: which statements use them, and what they stand for.

    Attributes:
        mutable: names that are assigned to, or bound more than once.
        values: what te.let and te.invoke bind names to.
        sizes: scalar parameters that some array of the caller has as a size.
    """

    def __init__(self, func: FuncOp) -> None:
        self.sizes = set(function_ranges(func))
        self.taken: set[str] = {p.name for p in func.params}
        self.mutable: set[str] = set()
        self.values: dict[str, Operation] = {}
        self._uses: dict[str, list[Operation]] = {}
        for op in walk_ops(func):
            self._note(op)

    def _note(self, op: Operation) -> None:
        match op:
            case VarOp():
                self.taken.add(op.var)
                self.mutable.add(op.var)
            case LetOp() | InvokeOp() | ForOp() if op.var:
                if op.var in self.values:
                    self.mutable.add(op.var)
                self.taken.add(op.var)
                self.values[op.var] = op
            case AllocOp() | BindOp():
                self.taken.add(op.buffer.name)
        for name in {n for e in expressions(op) for n in e.free}:
            self._uses.setdefault(name, []).append(op)

    def uses(self, name: str) -> list[Operation]:
        """The statements that mention a name and still stand."""
        return [op for op in self._uses.get(name, []) if op.parent is not None]

    def insert(self, made: Sequence[Operation], before: Operation) -> None:
        """Put new statements before one."""
        block = before.parent
        assert block is not None
        for one in made:
            one.location = before.location
            block.insert_op_before(one, before)
            self._note(one)

    def replace(self, op: Operation, made: Operation) -> None:
        """Put a new statement in the place of one."""
        self.insert([made], op)
        detach(op)

    def fresh(self, stem: str) -> str:
        return unused(stem, self.taken)


# --- lists that keep their length ---------------------------------------------------------------


def _fixed(make: InvokeOp, names: _Names) -> None:
    """Make buffer accesses of what is done with a list that nothing makes longer."""
    name, count = make.var, make.arguments[1]
    if name in names.mutable or loads(count) or not count.free.isdisjoint(names.mutable):
        return
    uses = names.uses(name)
    plain = [op for op in uses if not isinstance(op, BindOp)]
    if not all(_is_access(op, name, (*_READS, "retain", "release")) for op in plain):
        return
    accesses = [op for op in plain if isinstance(op, InvokeOp) and _action(op)[0] in _READS]
    if (dtype := _element(accesses)) is None:
        return
    bound = (op for op in uses if isinstance(op, BindOp) and op.parent is make.parent)
    fits = (op.buffer for op in bound if _is_whole(op.buffer, dtype, count))
    if (buffer := next(fits, None)) is None:
        buffer = Buffer(names.fresh(f"{name}_b"), dtype, (count,))
        assert make.next_op is not None  # what it is made for
        names.insert([BindOp(buffer, var(name))], make.next_op)
    is_size = count.op == "var" and str(count.value) in names.sizes
    length = count if is_size else binary("max", count, const(0))
    for op in accesses:
        _access(op, buffer, length, names)


def _is_whole(buffer: Buffer, dtype: DType, count: Expr) -> bool:
    return buffer.dtype is dtype and buffer.shape == (count,) and buffer.strides is None


def _is_access(op: Operation, name: str, actions: Sequence[str]) -> bool:
    """One of `actions` on the list, which the statement does not mention otherwise."""
    if not isinstance(op, InvokeOp) or op.arguments[0] is not var(name):
        return False
    others = op.arguments[1:]
    return _action(op)[0] in actions and not any(name in e.free for e in others)


def _element(accesses: Iterable[InvokeOp]) -> DType | None:
    """The dtype of the elements that are read or written, all of one."""
    kinds = {kind for op in accesses if (kind := _action(op)[1])}
    return ELEMENTS[kinds.pop()] if len(kinds) == 1 else None


def _access(op: InvokeOp, buffer: Buffer, length: Expr, names: _Names) -> None:
    """Make a buffer access of reading or writing a list, or the number of its length."""
    match _action(op)[0]:
        case "length":
            made: Operation = LetOp(op.var, length)
        case "get":
            made = LetOp(op.var, load(buffer.name, (op.arguments[1],), buffer.dtype))
        case _:
            made = StoreOp(buffer.name, (op.arguments[1],), op.arguments[2])
    names.values.pop(op.var, None)
    names.replace(op, made)


# --- lists that a loop appends to ---------------------------------------------------------------


@dataclass
class _Appended:
    """A list that a loop appends to once a turn.

    Attributes:
        push: where the loop does that.
        length: of the list when the loop starts.
        inside: what else the loop does with it.
    """

    name: str
    push: InvokeOp
    length: int
    inside: list[InvokeOp] = field(default_factory=list)

    @property
    def dtype(self) -> DType:
        return ELEMENTS[_action(self.push)[1]]


def _appended(found: Counting, names: _Names) -> None:
    """Give lists that a loop appends to their room before the loop."""
    if not _is_steady(found, names) or not _starts_at_zero(found):
        return
    if _may_fail(found.loop) and not _is_in_memory(found.limit, names):
        return
    for push in _pushes(found.loop.block):
        if (appended := _appended_by(push, found.loop, names)) is not None:
            _reserve(appended, found, names)


def _is_steady(found: Counting, names: _Names) -> bool:
    """The limit stays what it is when the loop starts."""
    inside = set(walk_ops(found.loop))
    return all(
        name not in names.mutable and names.values.get(name) not in inside
        for name in found.limit.free
    )


def _starts_at_zero(found: Counting) -> bool:
    op = found.loop.prev_op
    while op is not None:
        if isinstance(op, VarOp) and op.var == found.counter:
            return op.value.is_int(0)
        if any(a.var == found.counter for a in assigned_in(op)):
            return False
        op = op.prev_op
    return False


def _may_fail(loop: WhileOp) -> bool:
    return any(isinstance(op, AssertOp) for op in walk_ops(loop))


def _is_in_memory(limit: Expr, names: _Names) -> bool:
    """Something has about that many elements already, or they are few."""
    if limit.is_const:
        return int(str(limit.value)) <= MOST_ROOM
    if limit.op in ("add", "sub", "min", "max"):
        return all(_is_in_memory(a, names) for a in limit.args)
    if limit.op != "var":
        return False
    name = str(limit.value)
    given = names.values.get(name)
    if isinstance(given, LetOp):
        return _is_in_memory(given.value, names)
    return name in names.sizes or (isinstance(given, InvokeOp) and given.function == "list_length")


def _pushes(block: Block) -> Iterator[InvokeOp]:
    for op in list(block.ops):
        if isinstance(op, InvokeOp) and _action(op)[0] == "push":
            yield op


def _appended_by(push: InvokeOp, loop: WhileOp, names: _Names) -> _Appended | None:
    """The list, if `push` is all that makes it longer and its length before is known."""
    handle = push.arguments[0]
    name = str(handle.value) if handle.op == "var" else ""
    make = names.values.get(name)
    if name in names.mutable or not isinstance(make, InvokeOp) or not _is_flat(make):
        return None
    if make.parent is not loop.parent or not make.arguments[1].is_const:
        return None
    found = _Appended(name, push, int(str(make.arguments[1].value)))
    if not _is_access(push, name, ("push",)):
        return None
    within, before = set(walk_ops(loop)), _between(make, loop)
    for op in names.uses(name):
        if op is push:
            continue
        if op in within:
            if not isinstance(op, InvokeOp) or not _is_access(op, name, _READS):
                return None
            found.inside.append(op)
        elif op.parent is loop.parent and op in before and _is_access(op, name, ("push",)):
            found.length += 1
        elif op in before and not _is_access(op, name, _READS):
            return None
    return found


def _between(first: Operation, last: Operation) -> set[Operation]:
    """What is run after one statement of a block and before another one."""
    found: set[Operation] = set()
    op = first.next_op
    while op is not None and op is not last:
        found |= {op, *walk_ops(op)}
        op = op.next_op
    return found


def _reserve(appended: _Appended, found: Counting, names: _Names) -> None:
    name, counter = appended.name, var(found.counter)
    if _element([*appended.inside, appended.push]) is not appended.dtype:
        return
    count = LetOp(names.fresh(f"{name}_n"), binary("max", found.limit, const(0)))
    turns = var(count.var)
    buffer = Buffer(names.fresh(f"{name}_b"), appended.dtype, (turns + appended.length,))
    grow = InvokeOp("list_grow", [var(name), turns])
    names.insert([count, grow, BindOp(buffer, var(name))], found.loop)
    at, next_ = (counter + (appended.length + k) for k in (0, 1))
    after = _between(appended.push, _end(found.loop))
    for op in appended.inside:
        _access(op, buffer, next_ if op in after else at, names)
    names.replace(appended.push, StoreOp(buffer.name, (at,), appended.push.arguments[1]))


def _end(loop: WhileOp) -> Operation:
    assert loop.block.last_op is not None  # it counts
    return loop.block.last_op
