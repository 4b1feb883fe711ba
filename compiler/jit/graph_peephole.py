"""Small patterns of graphs, as TorchScript's `PeepholeOptimize` rewrites them.

%y = aten::add(%one, %x), ints                    -->    %y = aten::add(%x, %one)
%y = aten::sub(aten::add(%x, 1), 2), ints         -->    %y = aten::sub(%x, 1)
%e = [%x, %y][1], %n = aten::len([%x, %y])        -->    %y, 2         if nobody writes the list
%e = {"a": %x, "b": %y}["b"]                      -->    %y            if nobody writes the dict
%c = unchecked_cast %x to a type that %x fits     -->    %x

and those of `lowering/ts/peephole.py`, but for tuples that are taken apart.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.types import INT, NONE
from tensorscript.dialects.ts.typing import is_subtype
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.ts.fold_constants import replace_by_constant
from tensorscript.lowering.ts.peephole import simplify_patterns

from .graph_dce import remove_unread
from .graph_memory import GraphMemory

_DIMS_OF_CONVOLVED = {"aten::conv1d": 3, "aten::conv2d": 4, "aten::conv3d": 5}
_SUMS = ("aten::add", "aten::sub")
_COMMUTATIVE = ("aten::add", "aten::mul")
_INT64 = range(-(2**63), 2**63)


def simplify(function: ts.FuncOp) -> bool:
    """Rewrite what matches and remove what is dead then; whether anything matched."""
    changed = False
    while any([_once(function), simplify_patterns(function, tuples=False)]):
        changed = True
    if changed:
        remove_unread(function)
    return changed


def _once(function: ts.FuncOp) -> bool:
    changed = False
    memory: GraphMemory | None = None
    for op in list(walk_ops(function)):
        if not any(result.first_use is not None for result in op.results):
            continue
        changed |= _known(op) or _uncast(op) or _calculated(op)
        if _reads_display(op):
            memory = memory or GraphMemory(function)
            changed |= _read_of_display(op, memory)
    return changed


def _kind_of(value: SSAValue) -> str:
    return value.owner.node_kind if isinstance(value.owner, ts.OperatorOp) else ""


def _replaced(op: Operation, value: SSAValue) -> bool:
    op.results[0].replace_all_uses_with(value)
    return True


def _known(op: Operation) -> bool:
    """What is known without computing becomes a constant."""
    if isinstance(op, ts.GetAttrOp | ts.UninitializedOp) and op.result.type == NONE:
        replace_by_constant(op, op.result, None)
        return True
    if isinstance(op, ts.OperatorOp) and op.node_kind == "aten::dim":
        dims = _DIMS_OF_CONVOLVED.get(_kind_of(op.arguments[0]))
        if dims is not None:
            replace_by_constant(op, op.results[0], dims)
            return True
    return False


def _uncast(op: Operation) -> bool:
    if not isinstance(op, ts.UncheckedCastOp) or not is_subtype(op.argument.type, op.result.type):
        return False
    return _replaced(op, op.argument)


# -- ints ------------------------------------------------------------------------------------------


def _calculated(op: Operation) -> bool:
    if not isinstance(op, ts.OperatorOp):
        return False
    return (rewrite := _ON_INTS.get(op.node_kind)) is not None and rewrite(op)


def _second_number(op: ts.OperatorOp) -> int | None:
    """The constant that an operator on two ints has; it becomes the second argument, if that
    means the same."""
    if len(op.arguments) != 2 or any(v.type != INT for v in (*op.arguments, *op.outputs)):
        return None
    first, second = op.arguments
    if op.node_kind in _COMMUTATIVE and isinstance(first.owner, ts.ConstantOp):
        op.operands = [second, first]
        second = first
    held = second.owner.value.data if isinstance(second.owner, ts.ConstantOp) else None
    return held if isinstance(held, int) else None


def _sum(op: ts.OperatorOp) -> bool:
    number = _second_number(op)
    if number is None:
        return False
    if number == 0:
        return _replaced(op, op.arguments[0])
    inner = op.arguments[0].owner
    if not isinstance(inner, ts.OperatorOp) or inner.node_kind not in _SUMS:
        return False
    if (other := _second_number(inner)) is None:
        return False
    merged = number + other if inner.node_kind == op.node_kind else number - other
    if merged == 0:
        return _replaced(op, inner.arguments[0])
    if merged not in _INT64:
        return False
    made = ts.ConstantOp(merged, INT)
    made.location = op.location
    Rewriter.insert_op(made, InsertPoint.before(op))
    op.operands = [inner.arguments[0], made.result]
    return True


def _product(op: ts.OperatorOp) -> bool:
    return _second_number(op) == 1 and _replaced(op, op.arguments[0])


_ON_INTS: dict[str, Callable[[ts.OperatorOp], bool]] = {
    "aten::add": _sum,
    "aten::sub": _sum,
    "aten::mul": _product,
    "aten::floordiv": _product,
}


# -- displays of lists and dicts -------------------------------------------------------------------


def _reads_display(op: Operation) -> bool:
    if isinstance(op, ts.ListUnpackOp):
        return isinstance(op.argument.owner, ts.ListConstructOp)
    if not isinstance(op, ts.OperatorOp) or op.node_kind not in ("aten::len", "aten::__getitem__"):
        return False
    return isinstance(op.arguments[0].owner, ts.ListConstructOp | ts.DictConstructOp)


def _read_of_display(op: Operation, memory: GraphMemory) -> bool:
    """What is read of a list or dict that was just made."""
    made = op.operands[0]
    if memory.has_writers(made):
        return False
    parts = list(made.owner.operands) if isinstance(made.owner, Operation) else []
    if isinstance(op, ts.ListUnpackOp):
        return _unpacked(op, parts)
    assert isinstance(op, ts.OperatorOp)
    if isinstance(made.owner, ts.DictConstructOp):
        return _read_of_dict(op, parts)
    if op.node_kind == "aten::len":
        replace_by_constant(op, op.results[0], len(parts))
        return True
    at = _constant(op.arguments[1])
    if not isinstance(at, int) or not -len(parts) <= at < len(parts):
        return False
    return _replaced(op, parts[at])


def _unpacked(op: ts.ListUnpackOp, parts: list[SSAValue]) -> bool:
    if len(parts) != len(op.outputs):
        return False
    for output, part in zip(op.outputs, parts, strict=True):
        output.replace_all_uses_with(part)
    return True


def _read_of_dict(op: ts.OperatorOp, parts: list[SSAValue]) -> bool:
    keys = [_constant(key) for key in parts[::2]]
    plain = all(isinstance(key, int | float | str) for key in keys)
    if not plain or len(set(keys)) != len(keys):
        return False
    if op.node_kind == "aten::len":
        replace_by_constant(op, op.results[0], len(keys))
        return True
    wanted = _constant(op.arguments[1])
    if wanted not in keys:
        return False
    return _replaced(op, parts[2 * keys.index(wanted) + 1])


def _constant(value: SSAValue) -> object:
    return value.owner.value.data if isinstance(value.owner, ts.ConstantOp) else None
