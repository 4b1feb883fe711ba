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
of an iteration. Kernels with equal text are one te.func. Lists are handles (`lists.py`), and so is
the storage of tensors whose sizes the program finds.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tensorscript.base.dtypes import DType, int64
from tensorscript.dialects.te.buffers import Buffer, Parameter, Scalar
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.lists import GiveOp
from tensorscript.dialects.te.ops import FuncOp, StoreOp
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.types import ListType, ScalarType, TensorType
from tensorscript.dialects.walks import walk_ops

from .host_body import HostBody, is_grown
from .lists import list_argument, list_result
from .liveness import Order
from .module_parts import ModuleParts, identifier
from .origins import Origins


def host_function(parts: ModuleParts, func: tg.FuncOp) -> FuncOp:
    """The te.func of a tg.func."""
    order = Order(func.block)
    body = HostBody(parts, order, Origins(func.block, order))
    sizes = func.size_names
    body.sizes = frozenset(sizes)
    body.taken |= set(sizes) | {op.symbol for op in walk_ops(func) if isinstance(op, SizeOp)}
    body.owned.append([])
    parameters, opened = _parameters(func, body)
    wanted, outputs = _outputs(func, body)
    statements = body.block(func.block, wanted)
    for value, out in zip(func.return_op.values, outputs, strict=True):
        statements += _handed_out(body, value, out)
    statements += [*body.close(), *body.close()]
    made = FuncOp(
        identifier(func.sym_name.data, parts.names),
        [*parameters, *outputs],
        [*body.scopes[0], *opened, *statements],
        role="host",
    )
    made.location = func.location
    return made


def _parameters(func: tg.FuncOp, body: HostBody) -> tuple[list[Parameter], list[Operation]]:
    """The inputs, then the lengths of those that are lists; and what opens the lists."""
    parameters: list[Parameter] = []
    lengths: list[Parameter] = []
    opened: list[Operation] = []
    of_complex = func.complex_numbers[0]
    arguments = zip(func.names, func.block.args, func.strides, strict=True)
    first_size = len(func.names) - len(body.sizes)
    for number, (name, argument, strides) in enumerate(arguments):
        own = name if number >= first_size else identifier(name, body.taken)
        match argument.type:
            case TensorType() as type_:
                is_complex = number in of_complex
                buffer = Buffer(own, type_.dtype, type_.shape, strides, complex=is_complex)
                body.buffers[argument] = buffer
                parameters.append(buffer)
            case ListType() as type_:
                length = identifier(f"{own}_length", body.taken)
                listed = Buffer(own, type_.dtype, (var(length),), None, "list")
                parameters.append(listed)
                lengths.append(Scalar(length, int64))
                opened += list_argument(body, argument, listed)
            case type_:
                assert isinstance(type_, ScalarType)
                body.scalars[argument] = var(own, type_.dtype)
                parameters.append(Scalar(own, type_.dtype))
    return [*parameters, *lengths], opened


def _handed_out(body: HostBody, value: SSAValue, out: Buffer) -> list[Operation]:
    """Statements that put a result where the caller finds it."""
    if isinstance(value.type, ScalarType):
        return [StoreOp(out.name, (), body.scalars[value])]
    if isinstance(value.type, ListType):
        opened, source = list_result(body, value)
        return [*opened, GiveOp(out.name, source.name)]
    if out.mode == "grown":
        return [GiveOp(out.name, body.buffers[value].name)]
    if body.buffers[value] is not out:
        return body.copy(body.buffers[value], out)
    return []  # its kernel wrote it there


def _outputs(func: tg.FuncOp, body: HostBody) -> tuple[dict[SSAValue, Buffer], list[Buffer]]:
    """The results that kernels may write in place, and the buffers of all."""
    wanted: dict[SSAValue, Buffer] = {}
    outputs = []
    for number, value in enumerate(func.return_op.values):
        name = identifier(f"out{number}", body.taken)
        of_complex = number in func.complex_numbers[1]
        if isinstance(value.type, ListType):
            out = _grown(name, value.type.dtype, (var("n"),))
        elif isinstance(value.type, TensorType) and is_grown(value.type, body.sizes):
            out = _grown(name, value.type.dtype, value.type.shape, of_complex)
        elif isinstance(value.type, TensorType):
            out = Buffer(name, value.type.dtype, value.type.shape, None, "out", of_complex)
            if isinstance(value.owner, Operation) and not isinstance(value.owner, tg.ConstantOp):
                wanted.setdefault(value, out)
        else:
            assert isinstance(value.type, ScalarType)
            out = Buffer(name, value.type.dtype, (), None, "out")
        outputs.append(out)
        body.writable.add(name)
    return wanted, outputs


def _grown(name: str, dtype: DType, shape: Sequence[Expr], of_complex: bool = False) -> Buffer:
    """A result whose sizes are not known before: they have names of its own."""
    sizes = [s if s.is_const else var(f"{name}_{axis}") for axis, s in enumerate(shape)]
    return Buffer(name, dtype, tuple(sizes), None, "grown", of_complex)


def tg_to_te(module: ModuleOp) -> ModuleOp:
    """Lower every tg.func of a module; kernels and constants come before the host functions."""
    parts = ModuleParts()
    parts.names |= {f.sym_name.data for f in tg.functions(module)}
    hosts = []
    for func in tg.functions(module):
        parts.names.discard(func.sym_name.data)
        hosts.append(host_function(parts, func))
    return ModuleOp([*parts.constants, *parts.kernels, *hosts])
