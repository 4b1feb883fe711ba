"""What a kernel makes of constants alone is made once: packed weights become constants.

```
te.constant @w: f32[512, 512]                    te.constant @w_yp: f32[16, 512, 32]
te.func @k (x, w, out o) {                       te.func @k (x, out o, yp) {
  te.alloc stack yp: f32[16, 512, 32]
  te.for jp ... { yp[jp, k, j] = w[...] }  -->
  te.for ib ... { ... yp[...] ... }                te.for ib ... { ... yp[...] ... }
}                                                }
te.call @k(x, w, y)                              te.call @k(x, y, w_yp)
```
A weight that nothing else reads leaves the module. `hoist_packing` finds such nests and takes them
out as functions of their own; who can run code runs them (`compiler/packed.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, groupby

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, ExprsAttr, ParametersAttr
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import var
from tensorscript.dialects.te.ops import (
    AllocOp,
    CallOp,
    ConstantOp,
    ForOp,
    FuncOp,
    LetOp,
    StoreOp,
    UpdateOp,
    VarOp,
    constants,
    functions,
)
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.walks import walk_ops
from tensorscript.lowering.te.nest import expressions

from ..te.affine import elements

LEAST_ELEMENTS = 1 << 12
"""What is made of fewer, and has fewer itself, is packed in less time than it takes to read."""

Pack = Callable[[str, Sequence[np.ndarray]], np.ndarray]
"""Runs a packing function, by name, on the arrays of its sources."""


@dataclass(frozen=True)
class Packing:
    """A nest that fills `target` from parameters of `kernel` only.

    Attributes:
        function: the nest as a te.func, sources then `target`.
        calls: of the kernel, with the constants that they pass for the sources.
    """

    kernel: FuncOp
    target: Buffer
    sources: tuple[str, ...]
    function: FuncOp
    calls: tuple[tuple[CallOp, tuple[str, ...]], ...]


def constant_arguments(module: ModuleOp) -> dict[str, frozenset[str]]:
    """Function name to the parameters that all of its calls pass constants for."""
    data = {c.buffer.name for c in constants(module)}
    found: dict[str, frozenset[str]] = {}
    params = {f.sym_name.data: f.params for f in functions(module)}
    for op in walk_ops(module):
        if not isinstance(op, CallOp) or op.callee not in params:
            continue
        pairs = zip(params[op.callee], op.arguments, strict=True)
        here = frozenset(p.name for p, a in pairs if a.op == "var" and str(a.value) in data)
        found[op.callee] = found.get(op.callee, here) & here
    return found


def hoist_packing(module: ModuleOp) -> list[Packing]:
    """Take the packing of constants out of every kernel whose calls all pass constants."""
    known_data = {c.buffer.name for c in constants(module) if c.data.data.array is not None}
    calls: dict[str, list[CallOp]] = {}
    for op in walk_ops(module):
        if isinstance(op, CallOp):
            calls.setdefault(op.callee, []).append(op)
    found = []
    for kernel in functions(module):
        own = calls.get(kernel.sym_name.data, [])
        if kernel.role.data != "kernel" or not own:
            continue
        for alloc in [op for op in kernel.block.ops if isinstance(op, AllocOp)]:
            if (packing := _packing(kernel, alloc, own, known_data)) is not None:
                found.append(packing)
    return found


def _packing(
    kernel: FuncOp, alloc: AllocOp, calls: Sequence[CallOp], known_data: set[str]
) -> Packing | None:
    target = alloc.buffer
    writers = [op for op in kernel.block.ops if _writes(op, target.name)]
    if not all(isinstance(op, ForOp) for op in writers):
        return None
    sources = _sources(kernel, target, writers)
    parameters = {p.name: p for p in kernel.params if isinstance(p, Buffer)}
    sizes = [elements(buffer) for buffer in (target, *(parameters[s] for s in sources))]
    if not sources or max(sizes) < LEAST_ELEMENTS or 0 in sizes:
        return None
    passed = []
    for call in calls:
        given = dict(zip([p.name for p in kernel.params], call.arguments, strict=True))
        names = tuple(str(given[s].value) for s in sources)
        if not known_data.issuperset(names):
            return None
        passed.append((call, names))
    for op in (alloc, *writers):
        op.detach()
        _keep_short(op)
    alloc.erase()
    out = Buffer(target.name, target.dtype, target.shape, None, "out")
    name = f"{kernel.sym_name.data}_{target.name}"
    function = FuncOp(
        name, [*(parameters[s] for s in sources), out], writers, "kernel", "scheduled", "pointwise"
    )
    return Packing(kernel, target, sources, function, tuple(passed))


def _keep_short(nest: Operation) -> None:
    """Undo vectors and copies: the code runs once, and takes longer to make than to run."""
    for op in nest.walk():
        if isinstance(op, ForOp) and op.kind.data in ("vector", "unroll"):
            op.properties["kind"] = StringAttr("serial")


def _writes(op: Operation, buffer: str) -> bool:
    return any(isinstance(o, StoreOp | UpdateOp) and o.buffer == buffer for o in op.walk())


def _sources(kernel: FuncOp, target: Buffer, writers: Sequence[Operation]) -> tuple[str, ...]:
    """The parameters that the writers read; none if they touch or need anything else."""
    inputs = [p.name for p in kernel.params if isinstance(p, Buffer) and p.mode == "in"]
    inside = [op for writer in writers for op in writer.walk()]
    own = {op.var for op in inside if isinstance(op, ForOp | LetOp | VarOp)}
    local = {op.buffer.name for op in inside if isinstance(op, AllocOp)} | {target.name}
    read: set[str] = set()
    for op in inside:
        if isinstance(op, CallOp) or (
            isinstance(op, StoreOp | UpdateOp) and op.buffer not in local
        ):
            return ()
        for e in expressions(op):
            if not e.free <= own:
                return ()
            read |= {str(n.value) for n in loads(e)} - local
    return tuple(n for n in inputs if n in read) if read <= set(inputs) else ()


def pack_constants(module: ModuleOp, packings: Sequence[Packing], pack: Pack) -> None:
    """Run packings, hold the results as constants, and pass them to the kernels, in place.

    A constant leaves the module with its last reader, so that the weights are not there twice.
    """
    held = _Held(module)
    for _, group in groupby(packings, lambda packing: packing.kernel):
        of_kernel = tuple(group)
        for packing in of_kernel:
            _pass_packed(packing, held, pack)
        _drop_unread(of_kernel[0].kernel, [call for call, _ in of_kernel[0].calls], held)
    held.drop_unread()


def _pass_packed(packing: Packing, held: _Held, pack: Pack) -> None:
    """Run one packing for every call of its kernel."""
    made: dict[tuple[str, ...], str] = {}
    for call, names in packing.calls:
        if names not in made:
            data = pack(packing.function.sym_name.data, [held.array(n) for n in names])
            made[names] = held.add(f"{names[0]}_{packing.target.name}", packing.target, data)
        call.properties["arguments_attr"] = ExprsAttr((*call.arguments, var(made[names])))
        held.readers[made[names]] += 1
    given = replace(packing.target, mode="in")
    packing.kernel.properties["parameters"] = ParametersAttr((*packing.kernel.params, given))


class _Held:
    """The constants of a module, and how many readers each has."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._ops = {c.buffer.name: c for c in constants(module)}
        self.readers: Counter[str] = Counter()
        for op in walk_ops(module):
            if isinstance(op, CallOp):
                self.readers.update(str(a.value) for a in op.arguments if a.op == "var")
            for e in expressions(op):
                self.readers.update(str(n.value) for n in loads(e))

    def array(self, name: str) -> np.ndarray:
        """The elements of a constant."""
        array = self._ops[name].data.data.array
        assert array is not None
        return array

    def add(self, stem: str, target: Buffer, data: np.ndarray) -> str:
        """A new constant's name, which is `stem` or begins with it."""
        name = next(n for k in count() if (n := f"{stem}_{k}" if k else stem) not in self._ops)
        first = self._module.body.block.first_op
        assert first is not None
        op = ConstantOp(replace(target, name=name), DataAttr.of(data))
        self._module.body.block.insert_op_before(op, first)
        self._ops[name] = op
        return name

    def release(self, name: str) -> None:
        """One reader less; without any a constant is erased, and its memory free."""
        self.readers[name] -= 1
        if name in self._ops and not self.readers[name]:
            self._erase(name)

    def drop_unread(self) -> None:
        """Erase the constants that have no readers."""
        for name in [n for n in self._ops if not self.readers[n]]:
            self._erase(name)

    def _erase(self, name: str) -> None:
        op = self._ops.pop(name)
        op.detach()
        op.erase()


def _drop_unread(kernel: FuncOp, calls: Sequence[CallOp], held: _Held) -> None:
    """Take parameters that nothing reads any more from a kernel and its calls."""
    read = {str(n.value) for op in kernel.walk() for e in expressions(op) for n in loads(e)}
    params = kernel.params
    unread = {
        k
        for k, p in enumerate(params)
        if isinstance(p, Buffer) and p.mode == "in" and p.name not in read
    }
    kept = [k for k in range(len(params)) if k not in unread]
    kernel.properties["parameters"] = ParametersAttr(tuple(params[k] for k in kept))
    for call in calls:
        arguments = call.arguments
        call.properties["arguments_attr"] = ExprsAttr(tuple(arguments[k] for k in kept))
        for k in unread:
            held.release(str(arguments[k].value))
