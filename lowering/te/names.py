"""Names that are not taken in a function."""

from __future__ import annotations

from tensorscript.dialects.te.lists import BindOp, InvokeOp
from tensorscript.dialects.te.ops import AllocOp, ForOp, FuncOp, LetOp, VarOp
from tensorscript.dialects.walks import walk_ops


def unused(stem: str, taken: set[str], first: int = 1) -> str:
    """`stem`, or a numbered one from `stem_<first>` on where that is taken; it is taken then."""
    name = f"{stem}_{_free_number(stem, taken, first)}" if stem in taken else stem
    taken.add(name)
    return name


def _free_number(stem: str, taken: set[str], first: int) -> int:
    """A number that no taken name has behind `stem`: the first one where they are taken in order,
    found in logarithmic time."""
    free, last = first, first - 1
    while f"{stem}_{free}" in taken:
        free, last = 2 * free, free
    while free - last > 1:
        middle = (last + free) // 2
        if f"{stem}_{middle}" in taken:
            last = middle
        else:
            free = middle
    return free


class Names:
    """Makes names that are not taken in a host function."""

    def __init__(self, func: FuncOp) -> None:
        self.taken = {p.name for p in func.params}
        for op in walk_ops(func):
            match op:
                case LetOp() | VarOp() | ForOp() | InvokeOp():
                    self.taken.add(op.var)
                    if isinstance(op, ForOp) and op.chunk is not None:
                        self.taken.add(op.chunk)
                case AllocOp() | BindOp():
                    self.taken.add(op.buffer.name)

    def fresh(self, stem: str) -> str:
        return unused(stem, self.taken)
