"""The meaning of tg: evaluates a function over NumPy arrays, one op at a time.

bfloat16 tensors are arrays of uint16 bits outside and float32 inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import InternalError, ScriptError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import TensorType

from .evaluate_lists import LIST_ROWS
from .evaluate_points import Number, Points, to_storage, to_wide, wide_type
from .evaluate_scalars import COMBINE, Array


def _grid(prefix: str, extents: Sequence[int], total: int, offset: int) -> dict[str, Array]:
    """Variables prefix0, prefix1, ... as broadcastable ranges of a space of `total` dims."""
    out = {}
    for d, size in enumerate(extents):
        shape = [1] * total
        shape[offset + d] = size
        out[f"{prefix}{d}"] = np.arange(size, dtype=np.int64).reshape(shape)
    return out


@dataclass
class _Frame:
    """Values of SSA names while a function runs."""

    sizes: dict[str, int]
    values: dict[SSAValue, Any] = field(default_factory=dict)

    def size(self, e: Expr) -> int:
        return int(Points({}, self.sizes).at(e, None))

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        assert isinstance(value.type, TensorType)
        return tuple(map(self.size, value.type.shape))

    def points(self, inputs: Sequence[SSAValue], variables: Mapping[str, Array]) -> Points:
        buffers: dict[str, tuple[Array, DType]] = {}
        values: dict[str, Number] = {**self.sizes, **variables}
        for k, v in enumerate(inputs):
            if isinstance(v.type, TensorType):
                buffers[f"a{k}"] = (self.values[v], v.type.dtype)
            else:
                values[f"a{k}"] = self.values[v]
        return Points(buffers, values)

    def block(self, block: Block) -> list[Any]:
        for op in block.ops:
            if isinstance(op, tg.YieldOp | tg.ReturnOp):
                return [self.values[v] for v in op.values]
            _RUN[type(op)](self, op)
        raise InternalError("a block without terminator", "tg")


def _compute(f: _Frame, op: tg.ComputeOp) -> None:
    shape = f.shape(op.result)
    points = f.points(op.inputs, _grid("i", shape, len(shape), 0))
    value = np.broadcast_to(points.at(op.expr, None), shape)
    f.values[op.result] = to_storage(value, op.type.dtype)


def _reduce(f: _Frame, op: tg.ReductionOp) -> None:
    shape = f.shape(op.result)
    extents = [f.size(e) for e in op.extents.data]
    total = len(shape) + len(extents)
    grid = _grid("i", shape, total, 0) | _grid("r", extents, total, len(shape))
    value = np.broadcast_to(f.points(op.inputs, grid).at(op.expr, None), (*shape, *extents))
    dtype = op.type.dtype
    start = tg.identity(op.combiner.data, dtype).value
    ufunc = COMBINE[op.combiner.data]
    axes = tuple(range(len(shape), total))
    kind = np.float64 if dtype.is_floating_point else dtype.numpy
    out = ufunc.reduce(value.astype(kind), axis=axes, initial=start, dtype=kind)
    f.values[op.result] = to_storage(out, dtype)


def _scan(f: _Frame, op: tg.ScanOp) -> None:
    assert isinstance(op.input.type, TensorType)
    dtype = op.input.type.dtype
    wide = to_wide(f.values[op.input], dtype)
    ufunc = COMBINE[op.combiner.data]
    running = wide_type(op.running_dtype)
    out = ufunc.accumulate(wide, axis=op.axis.data, dtype=running) if wide.size else wide
    f.values[op.result] = to_storage(out, dtype)


def _sort(f: _Frame, op: tg.SortOp) -> None:
    assert isinstance(op.input.type, TensorType)
    dtype = op.input.type.dtype
    wide = to_wide(f.values[op.input], dtype)
    axis = op.axis.data
    if op.descending is None:
        order = np.argsort(wide, axis=axis, kind="stable")
    else:
        # Stable and descending: sort the reversed array ascending and reverse the order.
        size = wide.shape[axis]
        order = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
        order = size - 1 - np.flip(order, axis)
    assert isinstance(op.values.type, TensorType)
    order = np.take(order, range(f.size(op.values.type.shape[axis])), axis)
    f.values[op.values] = to_storage(np.take_along_axis(wide, order, axis), dtype)
    f.values[op.indices] = order.astype(np.int64)


def _scatter(f: _Frame, op: tg.ScatterOp) -> None:
    assert isinstance(op.result.type, TensorType)
    dtype = op.result.type.dtype
    extents = [f.size(e) for e in op.extents.data]
    out = to_wide(np.array(f.values[op.base]), dtype).copy()
    if 0 not in extents:
        grid = _grid("d", extents, len(extents), 0)
        points = f.points(op.inputs, grid)
        at = [np.broadcast_to(points.at(i, None), extents).ravel() for i in op.indices.data]
        value = np.broadcast_to(points.at(op.body.data, None), extents).ravel()
        for k in range(value.size):
            where = tuple(int(i[k]) for i in at)
            if any(not 0 <= i < n for i, n in zip(where, out.shape, strict=True)):
                raise InternalError(f"scatter to {where} is out of bounds of {out.shape}", "tg")
            if op.combiner.data == "set":
                out[where] = value[k]
            else:
                out[where] = COMBINE[op.combiner.data](out[where], value[k])
    f.values[op.result] = to_storage(out, dtype)


def _constant(f: _Frame, op: tg.ConstantOp) -> None:
    f.values[op.result] = op.data.data.array


def _scalar(f: _Frame, op: tg.ScalarOp) -> None:
    value = f.points(op.inputs, {}).at(op.expr, None)
    f.values[op.result] = value.item()


def _if(f: _Frame, op: tg.IfOp) -> None:
    region = op.true_region if f.values[op.condition] else op.false_region
    for out, value in zip(op.outputs, f.block(region.block), strict=True):
        f.values[out] = value


def _loop(f: _Frame, op: tg.LoopOp) -> None:
    counter, limit = 0, f.values[op.max_trip]
    proceed = f.values[op.condition]
    carried = [f.values[v] for v in op.carried]
    block = op.body.block
    while proceed and counter < limit:
        f.values.update(zip(block.args, [counter, *carried], strict=True))
        proceed, *carried = f.block(block)
        counter += 1
    f.values.update(zip(op.outputs, carried, strict=True))


def _assert(f: _Frame, op: tg.AssertOp) -> None:
    if not f.values[op.condition]:
        raise ScriptError(op.message.data)


def _kernel(f: _Frame, op: tg.KernelOp) -> None:
    f.values.update(zip(op.block.args, [f.values[v] for v in op.inputs], strict=True))
    f.values.update(zip(op.outputs, f.block(op.block), strict=True))


_RUN: dict[type[Operation], Callable[[_Frame, Any], None]] = {
    tg.PointwiseOp: _compute,
    tg.ViewOp: _compute,
    tg.GatherOp: _compute,
    tg.ReduceOp: _reduce,
    tg.ContractOp: _reduce,
    tg.ScanOp: _scan,
    tg.SortOp: _sort,
    tg.ScatterOp: _scatter,
    tg.ConstantOp: _constant,
    tg.ScalarOp: _scalar,
    tg.IfOp: _if,
    tg.LoopOp: _loop,
    tg.AssertOp: _assert,
    tg.KernelOp: _kernel,
    **LIST_ROWS,
}


def _bind_sizes(func: tg.FuncOp, arguments: Sequence[Any]) -> dict[str, int]:
    """Values of the size symbols, read off the shapes in which they stand alone."""
    out: dict[str, int] = {}
    for arg, given in zip(func.block.args, arguments, strict=False):
        if not isinstance(arg.type, TensorType):
            continue
        for size, have in zip(arg.type.shape, np.shape(given), strict=True):
            if size.op == "var":
                out[str(size.value)] = have
    return out


def evaluate(func: tg.FuncOp, arguments: Sequence[Any]) -> list[Any]:
    """The results of `func` for its tensor and scalar arguments (sizes excluded).

    Raises:
        ScriptError: an assertion of the program failed.
        InternalError: the module reads or writes out of bounds.
    """
    sizes = _bind_sizes(func, arguments)
    frame = _Frame(sizes)
    given = [*arguments, *(sizes[n] for n in func.size_names)]
    for arg, value in zip(func.block.args, given, strict=True):
        is_tensor = isinstance(arg.type, TensorType)
        frame.values[arg] = np.asarray(value) if is_tensor else value
    return frame.block(func.block)


def evaluate_op(op: tg.ComputeOp | tg.ReductionOp, inputs: Sequence[Array]) -> Array:
    """The result of one op, of sizes that are known, on arrays in storage types."""
    frame = _Frame({})
    frame.values.update(zip(op.inputs, inputs, strict=True))
    _RUN[type(op)](frame, op)
    return np.asarray(frame.values[op.result])
