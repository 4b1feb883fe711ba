"""Maps whose value is one of a few cases, by the number of the iteration: all cases at once.

```
for i in 0 .. 4 { for j in 0 .. n {              for j in 0 .. n {
  y[i, j] = i == 0 ? x[j] + x[j + 1] :             y[0, j] = x[j] + x[j + 1]
            i == 1 ? x[j] - x[j + 1] : ..   -->    y[1, j] = x[j] - x[j + 1]
} }                                                ..  }
```
A loop of which `i % 4` chooses is cut into fours (`split`), the loops over cases go inwards
(`reorder`) and are written out (`full_unroll`): what cases read in common is read once, and sums
that they have in common are made once. So Winograd's transforms are (`tg/winograd.py`), whose 36
cases are sums of the same 36 elements.
"""

from __future__ import annotations

from math import prod

from tensorscript.dialects.te.ops import ForOp, StoreOp
from tensorscript.dialects.te.rewriting import walk

from ..schedule import Scheduler
from ..te.affine import known
from ..te.choices import chooser, share_reads
from ..te.nest import only_child
from .cpu_vectors import CPUParameters, vectorize_inside

FEWEST, MOST = 4, 64
"""Cases: fewer share too little, and more are too much code."""


def in_cases(scheduler: Scheduler, loop: ForOp, parameters: CPUParameters) -> bool:
    """Schedule a kernel of one store whose value is one of a few cases; False where it is
    another."""
    loops = _perfect(loop)
    store = only_child(loops[-1].block)
    if only_child(scheduler.func.block) is not loop or not isinstance(store, StoreOp):
        return False
    periods = _periods(store)
    if not periods or not share_reads(store.value):
        return False
    sizes = {one.var: known(one.extent) or 0 for one in loops}
    counts = {name: periods[name] or sizes[name] for name in sizes if name in periods}
    if not FEWEST <= prod(counts.values()) <= MOST or loops[-1].var in counts:
        return False
    if any(sizes[name] % count for name, count in counts.items()):
        return False
    order, cases = list[str](), list[str]()
    for name, size in sizes.items():
        if name not in counts:
            order.append(name)
        elif counts[name] == size:
            cases.append(name)
        else:
            outer, inner = scheduler.do("split", name, counts[name], "exact")
            order.append(outer)
            cases.append(inner)
    scheduler.do("reorder", *order, *cases)
    for name in reversed(cases):
        scheduler.do("full_unroll", name)
    scheduler.do("simplify", scheduler.func.sym_name.data)
    scheduler.do("share", order[-1])
    vectorize_inside(scheduler, scheduler.nest.loops[order[-1]], parameters)
    return True


def _perfect(loop: ForOp) -> list[ForOp]:
    """A loop and those in it that are alone in the one around."""
    found = [loop]
    while isinstance(inner := only_child(found[-1].block), ForOp):
        found.append(inner)
    return found


def _periods(store: StoreOp) -> dict[str, int]:
    """The variables that decide which case a value is, and the number they are taken modulo, 0 for
    those that decide themselves."""
    return dict(filter(None, map(chooser, (n for n in walk(store.value) if n.op == "eq"))))
