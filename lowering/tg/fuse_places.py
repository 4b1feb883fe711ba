"""Elements at tested places: a block of places is tested, then what is there is read.

```
%t = tg.reduce %i "or" <"outside(a0[r0])">       tg.kernel @k0 "rows" %i, %x {
%c = tg.scalar %t <"a0 >= 0">                      %t = .. ; %c = .. ; tg.assert %c ..
tg.assert %c "out of range"                 -->    %y = tg.gather %i, %x <"a1[a0[i0]]">
%y = tg.gather %i, %x <"a1[a0[i0]]">               tg.yield %y }
```
The places of a block are in the first cache when they are read by. Nothing is read at a place that
is not tested: all that tells the places of an element is tested in its block, and the test holds
for all blocks where it holds for the whole. What blocks before a failing one have written is
nobody's: results are memory that the program gives or keeps only after its last assertion.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.rewriting import loads, substitute
from tensorscript.dialects.tg.names import operand_number
from tensorscript.dialects.tg.ops import (
    AssertOp,
    ComputeOp,
    ConstantOp,
    FuncOp,
    ReductionOp,
    ScalarOp,
    ScanOp,
    SortOp,
)
from tensorscript.dialects.walks import walk_ops

from .bodies import telling
from .fuse_cpu import kernel_of
from .groups import product

BLOCK_BYTES = 1 << 14
"""Of places that are tested before what is there is read: half of a first cache of 32 KiB, as
small as there are; what is read and written goes through the other half."""
BLOCK = BLOCK_BYTES // int64.itemsize
LEAST_BLOCKS = 4
"""Blocks from which on one walk is worth more than two kernels cost."""

_GIVEN = ("load", "var")
_PURE = (ComputeOp, ReductionOp, ScanOp, SortOp, ConstantOp, ScalarOp)
"""What comes after an op as well as before it, if it reads nothing of it."""


@dataclass(frozen=True)
class PlacesTest:
    """An assertion about all elements that a reduction tests, and the numbers between the two."""

    reduction: ReductionOp
    numbers: tuple[ScalarOp, ...]
    assertion: AssertOp

    @property
    def after(self) -> list[Operation]:
        """What follows the reduction."""
        return [*self.numbers, self.assertion]


def fuse_tested_places(func: FuncOp) -> None:
    """Make kernels of the tests of places and what reads there, wherever that may be done."""
    assertions = [op for op in walk_ops(func) if isinstance(op, AssertOp)]
    for assertion in assertions:
        test = test_of(assertion)
        if test is not None and (reader := _reader(test)) is not None:
            _make(test, reader)


def _reader(test: PlacesTest) -> ComputeOp | None:
    """The first op that reads at the tested places and may be computed at once behind the test:
    before what stands between the two, of which nothing may be what keeps its places inside."""
    passed: set[Operation] = set()
    op = test.assertion.next_op
    while isinstance(op, _PURE):
        ready = passed.isdisjoint(value.owner for value in op.operands)
        if ready and isinstance(op, ComputeOp) and reads_tested(op, test):
            return op
        passed.add(op)
        op = op.next_op
    return None


def _make(test: PlacesTest, reader: ComputeOp) -> None:
    block = test.assertion.parent
    assert block is not None
    marker = test.assertion.next_op
    assert marker is not None  # the reader, at least
    behind = reader.next_op if marker is reader else marker
    kernel = kernel_of([test.reduction, *test.after, reader], "places", "rows")
    if behind is None:
        block.add_op(kernel)
    else:
        block.insert_op_before(kernel, behind)


def test_of(assertion: Operation) -> PlacesTest | None:
    """The test that an assertion is about; None if it is no test that holds for the whole exactly
    where it holds for all parts, or if something else asks for it."""
    if not isinstance(assertion, AssertOp):
        return None
    numbers: list[ScalarOp] = []
    value = assertion.condition
    while isinstance(number := value.owner, ScalarOp) and len(number.inputs) == 1:
        if not value.has_one_use() or number.parent is not assertion.parent:
            return None
        numbers.insert(0, number)
        value = number.inputs[0]
    test = value.owner
    if not isinstance(test, ReductionOp) or test.parent is not assertion.parent:
        return None
    found = PlacesTest(test, tuple(numbers), assertion)
    return found if value.has_one_use() and not test.type.rank and _is_of_signs(found) else None


def _is_of_signs(test: PlacesTest) -> bool:
    """Bits of all elements are combined, and no sign may be set."""
    if test.reduction.combiner.data != "or" or not test.numbers:
        return False
    *given, condition = (number.expr for number in test.numbers)
    if any(e.op not in _GIVEN for e in given) or condition.op != "ge":
        return False
    return condition.args[0].op in _GIVEN and condition.args[1].is_int(0)


def reads_tested(op: ComputeOp, test: PlacesTest) -> bool:
    """Whether `op` reads at the places that `test` is about, element by element, so that both can
    walk them in one loop; and there are enough."""
    reduction = test.reduction
    extents = reduction.extents.data
    if extents != op.type.shape or not _worth_blocks(extents) or not op.result.has_one_use():
        return False
    index = {f"r{d}": var(f"i{d}") for d in range(len(extents))}
    tested = substitute(reduction.body.data, index)
    if telling(tested):
        return False
    known = {(_operand(read, reduction), read.args) for read in loads(tested)}
    if not all((_operand(read, op), read.args) in known for read in telling(op.body.data)):
        return False
    if len(extents) == 1:
        return True
    known_rows = all(extent.is_const for extent in extents[1:])
    return known_rows and _is_flat(op.body.data, tuple(index.values()))


def _worth_blocks(extents: tuple[Expr, ...]) -> bool:
    total = product(extents)
    return not total.is_const or int(str(total)) >= LEAST_BLOCKS * BLOCK


def _operand(read: Expr, op: ComputeOp | ReductionOp) -> SSAValue | None:
    number = operand_number(str(read.value))
    return None if number is None else op.inputs[number]


def _is_flat(body: Expr, own: tuple[Expr, ...]) -> bool:
    """All is read at the index itself, or where only what is read there tells: one loop over all
    dimensions then divides nothing, where the rows are of a known size."""
    if body.op == "load" and body.args == own:
        return True
    return body not in own and all(_is_flat(inner, own) for inner in body.args)
