"""tg.func -> a te module: a host te.func that holds control flow and calls, and its kernels.

```
tg.func @f(%x, %n) {                       te.func @f host logical (x: f32[4], n: i64, out o: ..) {
  %k = tg.kernel @k0 %x {..}                 te.alloc arena b0: f32[4]
  %c = tg.scalar %n <"a0 < 3">        -->    te.call @k0(x, b0)
  %r = tg.if %c {..} {..}                    te.let c1: b1 = n < 3
  tg.return %r                               te.if c1.b1 { te.call @k1(b0, out0) } else { .. }
```
Every tensor value is a buffer: an input, a constant, an output parameter, or one of the arena. A
kernel writes straight into the buffer its result is needed in. Scalars are te.let, results of
control flow te.var. Loop-carried tensors are computed into a second buffer and copied at the end
of an iteration. Kernels with equal text are one te.func.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_, int64
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.buffers import Buffer, Parameter, Scalar
from tensorscript.dialects.te.expr import Expr, all_of, const, load, transform, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    ConstantOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    VarOp,
    WhileOp,
)
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType, TensorType

from .kernel import lower_kernel

FOREVER = 2**63 - 1
"""TorchScript's trip count of a while loop."""


def identifier(name: str, taken: set[str]) -> str:
    """A fresh identifier like `name` that cannot be mistaken for another kind of name."""
    base = re.sub(r"\W", "_", name) or "x"
    if base[0].isdigit() or keyword.iskeyword(base) or base in ("inf", "nan"):
        base = "_" + base
    unique, number = base, 1
    while unique in taken:
        unique, number = f"{base}_{number}", number + 1
    taken.add(unique)
    return unique


@dataclass
class _Body:
    """Lowers blocks of one tg.func."""

    module: HostBuilder
    allocs: list[Operation] = field(default_factory=list)
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict)
    scalars: dict[SSAValue, Expr] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def fresh(self, stem: str) -> str:
        return identifier(stem, self.taken)

    def new_buffer(self, type_: TensorType) -> Buffer:
        buffer = Buffer(self.fresh("b0"), type_.dtype, type_.shape)
        self.allocs.append(AllocOp(buffer, "arena"))
        return buffer

    def scalar(self, inputs: Sequence[SSAValue], body: Expr) -> Expr:
        """`body` over host names: operands are scalars, or tensors read by element."""

        def visit(n: Expr) -> Expr | None:
            name = str(n.value)
            if n.op not in ("load", "var") or name[0] != "a" or not name[1:].isdigit():
                return None
            value = inputs[int(name[1:])]
            if n.op == "var":
                return self.scalars[value]
            return load(self.buffers[value].name, n.args, n.dtype)

        return transform(body, visit)

    def block(self, block: Block, wanted: dict[SSAValue, Buffer]) -> list[Operation]:
        """The statements of a block; `wanted` says in which buffer a value must end up."""
        self.buffers |= wanted
        out: list[Operation] = []
        for op in block.ops:
            lower = _LOWERINGS.get(type(op))
            if lower is None:
                raise InternalError(f"no host code for {op.name}", "te")
            made = lower(self, op)
            for statement in made:
                statement.location = op.location
            out += made
        return out

    def kernel(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.KernelOp)
        arguments: list[str | Expr] = []
        for value in op.inputs:
            is_tensor = isinstance(value.type, TensorType)
            arguments.append(self.buffers[value].name if is_tensor else self.scalars[value])
        for result in op.outputs:
            assert isinstance(result.type, TensorType)
            if result not in self.buffers:
                self.buffers[result] = self.new_buffer(result.type)
            arguments.append(self.buffers[result].name)
        strides = [
            self.buffers[v].strides if isinstance(v.type, TensorType) else None for v in op.inputs
        ]
        callee, symbols = self.module.add_kernel(op, strides)
        return [CallOp(callee, [*arguments, *(var(s) for s in symbols)])]

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

    def results(
        self, types: Sequence[object], values: Sequence[SSAValue]
    ) -> tuple[list[Operation], list[Buffer | str]]:
        """Declare storage for results of control flow: a te.var or a buffer each."""
        declared: list[Operation] = []
        places: list[Buffer | str] = []
        for value in values:
            if isinstance(value.type, TensorType):
                if value not in self.buffers:
                    self.buffers[value] = self.new_buffer(value.type)
                places.append(self.buffers[value])
            else:
                assert isinstance(value.type, ScalarType)
                name = self.fresh("v0")
                declared.append(VarOp(name, const(0, value.type.dtype)))
                self.scalars[value] = var(name, value.type.dtype)
                places.append(name)
        return declared, places

    def branch(self, block: Block, places: Sequence[Buffer | str]) -> list[Operation]:
        last = block.last_op
        assert isinstance(last, tg.YieldOp)
        wanted: dict[SSAValue, Buffer] = {}
        for value, place in zip(last.values, places, strict=True):
            own = isinstance(value.owner, tg.KernelOp) and value.owner.parent is block
            if isinstance(place, Buffer) and own and value not in wanted:
                wanted[value] = place
        out = self.block(block, wanted)
        for value, place in zip(last.values, places, strict=True):
            if isinstance(place, str):
                out.append(AssignOp(place, self.scalars[value]))
            elif self.buffers[value] is not place:
                out += self.copy(self.buffers[value], place)
        return out

    def branches(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.IfOp)
        declared, places = self.results([], op.outputs)
        then = self.branch(op.true_region.block, places)
        otherwise = self.branch(op.false_region.block, places)
        return [*declared, IfOp(self.scalars[op.condition], then, otherwise)]

    def loop(self, op: Operation) -> list[Operation]:
        assert isinstance(op, tg.LoopOp)
        body = op.body.block
        last = body.last_op
        assert isinstance(last, tg.YieldOp)
        declared, places = self.results([], op.outputs)
        before: list[Operation] = list(declared)
        for value, place in zip(op.carried, places, strict=True):
            if isinstance(place, str):
                before.append(AssignOp(place, self.scalars[value]))
            else:
                before += self.copy(self.buffers[value], place)
        counter, going = self.fresh("v0"), self.fresh("v0")
        before.append(VarOp(counter, const(0)))
        before.append(VarOp(going, self.scalars[op.condition]))
        self.scalars[body.args[0]] = var(counter)
        for argument, place, result in zip(body.args[1:], places, op.outputs, strict=True):
            if isinstance(place, str):
                self.scalars[argument] = self.scalars[result]
            else:
                self.buffers[argument] = place
        inside = self.block(body, {})
        inside += self._carry(last, places, going)
        inside.append(AssignOp(counter, var(counter) + 1))
        return [*before, WhileOp(self._condition(op, last, counter, going), inside)]

    def _condition(self, op: tg.LoopOp, last: tg.YieldOp, counter: str, going: str) -> Expr:
        parts = []
        trip = self.scalars[op.max_trip]
        if not trip.is_int(FOREVER):
            parts.append(var(counter) < trip)
        always = all(self.scalars[v].is_const for v in (op.condition, last.values[0]))
        if not always:
            parts.append(var(going, bool_))
        return all_of(parts)

    def _carry(
        self, last: tg.YieldOp, places: Sequence[Buffer | str], going: str
    ) -> list[Operation]:
        """Assign all carried values at once: first read every new value, then write."""
        reads: list[Operation] = []
        writes: list[Operation] = [AssignOp(going, self.scalars[last.values[0]])]
        if self.scalars[last.values[0]].is_const:
            writes = []
        for value, place in zip(last.values[1:], places, strict=True):
            if isinstance(place, str):
                fresh = self.scalars[value]
                if fresh is var(place, fresh.dtype):
                    continue
                name = self.fresh("c0")
                reads.append(LetOp(name, fresh))
                writes.append(AssignOp(place, var(name, fresh.dtype)))
            elif (source := self.buffers[value]) is not place:
                if any(source is p for p in places):  # a swap: the source is overwritten as well
                    spare = self.new_buffer(_tensor(value))
                    reads += self.copy(source, spare)
                    source = spare
                writes += self.copy(source, place)
        return [*reads, *writes]

    def nothing(self, op: Operation) -> list[Operation]:
        return []


def _tensor(value: SSAValue) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


_LOWERINGS: dict[type[Operation], Callable[[_Body, Operation], list[Operation]]] = {
    tg.KernelOp: _Body.kernel,
    tg.ConstantOp: _Body.constant,
    tg.ScalarOp: _Body.let,
    tg.AssertOp: _Body.check,
    tg.IfOp: _Body.branches,
    tg.LoopOp: _Body.loop,
    tg.YieldOp: _Body.nothing,
    tg.ReturnOp: _Body.nothing,
}


class HostBuilder:
    """Builds the te module of one tg module."""

    def __init__(self) -> None:
        self.kernels: list[FuncOp] = []
        self.constants: list[ConstantOp] = []
        self.known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.names: set[str] = set()

    def add_constant(self, op: tg.ConstantOp) -> Buffer:
        type_ = _tensor(op.result)
        buffer = Buffer(identifier("w0", self.names), type_.dtype, type_.shape)
        self.constants.append(ConstantOp(buffer, op.data))
        return buffer

    def add_kernel(
        self, op: tg.KernelOp, strides: Sequence[tuple[Expr, ...] | None]
    ) -> tuple[str, tuple[str, ...]]:
        """The name of the kernel's te.func (shared by kernels with the same text), its symbols."""
        lowered = lower_kernel(op, strides)
        return self._register(lowered.func, lowered.symbols)

    def _register(self, func: FuncOp, symbols: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        name = func.sym_name.data
        func.properties["sym_name"] = StringAttr("")
        key = str(func)
        if key in self.known:
            return self.known[key]
        name = identifier(name, self.names)
        func.properties["sym_name"] = StringAttr(name)
        self.kernels.append(func)
        self.known[key] = (name, symbols)
        return name, symbols

    def copy_call(self, source: Buffer, target: Buffer) -> tuple[str, list[str | Expr]]:
        """Callee and arguments that copy one buffer to another of the same type."""
        here = [var(f"i{d}") for d in range(len(target.shape))]
        read = load("p0", here, source.dtype)
        statements: list[Operation] = [StoreOp("o0", here, read)]
        for dim in reversed(range(len(here))):
            statements = [ForOp(f"i{dim}", target.shape[dim], statements)]
        symbols = tuple(sorted({n for size in target.shape for n in size.free}))
        parameters: list[Parameter] = [
            Buffer("p0", source.dtype, source.shape, source.strides),
            Buffer("o0", target.dtype, target.shape, None, "out"),
            *(Scalar(s, int64) for s in symbols),
        ]
        func = FuncOp("copy", parameters, statements, category="pointwise")
        name, _ = self._register(func, symbols)
        return name, [source.name, target.name, *(var(s) for s in symbols)]

    def function(self, func: tg.FuncOp) -> FuncOp:
        body = _Body(self)
        parameters: list[Parameter] = []
        sizes = func.size_names
        body.taken |= set(sizes)
        for name, argument, strides in zip(func.names, func.block.args, func.strides, strict=True):
            own = name if name in sizes else identifier(name, body.taken)
            if isinstance(argument.type, TensorType):
                buffer = Buffer(own, argument.type.dtype, argument.type.shape, strides)
                body.buffers[argument] = buffer
                parameters.append(buffer)
            else:
                assert isinstance(argument.type, ScalarType)
                body.scalars[argument] = var(own, argument.type.dtype)
                parameters.append(Scalar(own, argument.type.dtype))
        wanted, outputs = self._outputs(func, body)
        statements = body.block(func.block, wanted)
        for value, out in zip(func.return_op.values, outputs, strict=True):
            if isinstance(value.type, ScalarType):
                statements.append(StoreOp(out.name, (), body.scalars[value]))
            elif body.buffers[value] is not out:
                statements += body.copy(body.buffers[value], out)
        name = identifier(func.sym_name.data, self.names)
        made = FuncOp(name, [*parameters, *outputs], [*body.allocs, *statements], role="host")
        made.location = func.location
        return made

    def _outputs(self, func: tg.FuncOp, body: _Body) -> tuple[dict[SSAValue, Buffer], list[Buffer]]:
        wanted: dict[SSAValue, Buffer] = {}
        outputs = []
        for number, value in enumerate(func.return_op.values):
            name = identifier(f"out{number}", body.taken)
            if isinstance(value.type, TensorType):
                out = Buffer(name, value.type.dtype, value.type.shape, None, "out")
                if isinstance(value.owner, Operation) and not isinstance(
                    value.owner, tg.ConstantOp
                ):
                    wanted.setdefault(value, out)
            else:
                assert isinstance(value.type, ScalarType)
                out = Buffer(name, value.type.dtype, (), None, "out")
            outputs.append(out)
        return wanted, outputs


def tg_to_te(module: ModuleOp) -> ModuleOp:
    """Lower every tg.func of a module; kernels and constants come before the host functions."""
    builder = HostBuilder()
    builder.names |= {f.sym_name.data for f in tg.functions(module)}
    hosts = []
    for func in tg.functions(module):
        builder.names.discard(func.sym_name.data)
        hosts.append(builder.function(func))
    return ModuleOp([*builder.constants, *builder.kernels, *hosts])
