"""The meaning of tg: evaluates a function over NumPy arrays, one op at a time.

Bodies are evaluated over the whole iteration space at once; both sides of a select are computed,
but reads of the side not taken are masked, so a read out of bounds at a point where it counts is
an error here. bfloat16 tensors are arrays of uint16 bits outside and float32 inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType, bfloat16
from tensorscript.base.errors import InternalError, ScriptError
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import TensorType

from .evaluate_lists import LIST_ROWS

Array = np.ndarray
Number = Any


def to_wide(array: Array, dtype: DType) -> Array:
    """Storage to what is computed with: bfloat16 bits to float32."""
    if dtype is not bfloat16:
        return np.asarray(array)
    return (np.asarray(array).astype(np.uint32) << 16).view(np.float32)


def to_storage(array: Array, dtype: DType) -> Array:
    """What is computed with to storage: float32 to bfloat16 bits, ties to even."""
    if dtype is not bfloat16:
        return np.asarray(array).astype(dtype.numpy)
    bits = np.asarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype(np.uint16)


def _wide_type(dtype: DType) -> np.dtype:
    return np.dtype(np.float32) if dtype is bfloat16 else dtype.numpy


def _elementwise(fn: Callable[[float], float]) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        return np.asarray(np.vectorize(fn, otypes=[np.float64])(np.asarray(x, np.float64)))

    return run


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.nan if math.isnan(x) else math.lgamma(x)


def _digamma(x: float) -> float:
    """Recurrence up to 10, then the asymptotic series; reflection for negative arguments."""
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == 0:
        return math.copysign(math.inf, -x)
    if x < 0:
        if x == math.floor(x):
            return math.nan
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return shift + math.log(x) - 0.5 / x - series


def _erfinv(y: float) -> float:
    """A rational start and two Newton steps."""
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    w = math.log((1 - y) * (1 + y))
    t = 2 / (math.pi * 0.147) + w / 2
    x = math.copysign(math.sqrt(math.sqrt(t * t - w / 0.147) - t), y)
    for _ in range(4):
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _gelu(x: float) -> float:
    return x * 0.5 * (1 + math.erf(x * math.sqrt(0.5)))


_CALLS: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _elementwise(math.erf), "erfc": _elementwise(math.erfc),
    "gelu": _elementwise(_gelu), "erfinv": _elementwise(_erfinv), "lgamma": _elementwise(_lgamma),
    "digamma": _elementwise(_digamma), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.round, "abs": np.abs, "atan2": np.arctan2, "hypot": np.hypot,
    "copysign": np.copysign, "nextafter": np.nextafter, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "signbit": np.signbit, "fma": lambda a, b, c: a * b + c,
}  # fmt: skip


def _trunc_div(a: Array, b: Array) -> Array:
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(np.where((a < 0) != (b < 0), -quotient, quotient))


def _power(a: Array, b: Array) -> Array:
    """Integers to negative powers are what is left of the fraction: 0, 1 or -1."""
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b))
    sign = np.where(np.asarray(b) % 2 == 0, 1, -1)
    inverse = np.where(a == 1, 1, np.where(a == -1, sign, 0))
    return np.asarray(np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))))


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "min": np.minimum, "max": np.maximum, "pow": _power, "floordiv": np.floor_divide,
    "mod": np.mod, "truncdiv": _trunc_div, "truncmod": np.fmod, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_COMBINE: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


class _Points:
    """Evaluates expressions at all points of an iteration space."""

    def __init__(self, buffers: Mapping[str, tuple[Array, DType]], values: Mapping[str, Number]):
        self.buffers = buffers
        self.values = values
        self.done: dict[tuple[Expr, int], Array] = {}
        self.masks: list[Array] = []

    def at(self, e: Expr, mask: Array | None) -> Array:
        key = (e, id(mask))
        if (found := self.done.get(key)) is None:
            with np.errstate(all="ignore"):
                found = self.done[key] = self._at(e, mask)
        return found

    def _at(self, e: Expr, mask: Array | None) -> Array:
        kind = _wide_type(e.dtype)
        match e.op:
            case "const":
                return np.asarray(e.value, dtype=kind)
            case "var":
                return np.asarray(self.values[str(e.value)], dtype=kind)
            case "load":
                return self._load(e, mask)
            case "select":
                return self._select(e, mask)
            case "cast":
                return self._cast(self.at(e.args[0], mask), e.args[0].dtype, e.dtype)
            case "bitcast":
                stored = to_storage(self.at(e.args[0], mask), e.args[0].dtype)
                return to_wide(stored.view(e.dtype.numpy), e.dtype)
            case "neg":
                return np.asarray(np.negative(self.at(e.args[0], mask)), dtype=kind)
            case "not":
                return np.asarray(np.invert(self.at(e.args[0], mask)))
            case "call":
                values = [self.at(a, mask) for a in e.args]
                return np.asarray(_CALLS[str(e.value)](*values), dtype=kind)
        a, b = (self.at(x, mask) for x in e.args)
        return np.asarray(_BINARY[e.op](a, b), dtype=kind)

    def _cast(self, x: Array, source: DType, target: DType) -> Array:
        if target is bfloat16:
            return to_wide(to_storage(x, bfloat16), bfloat16)
        return np.asarray(x).astype(target.numpy)

    def _select(self, e: Expr, mask: Array | None) -> Array:
        condition = self.at(e.args[0], mask)
        yes = condition if mask is None else condition & mask
        no = ~condition if mask is None else ~condition & mask
        self.masks += [yes, no]  # their ids are keys: keep them alive
        left, right = self.at(e.args[1], yes), self.at(e.args[2], no)
        return np.where(condition, left, right)

    def _load(self, e: Expr, mask: Array | None) -> Array:
        array, dtype = self.buffers[str(e.value)]
        at = [self.at(i, mask) for i in e.args]
        if any(index.size == 0 for index in at):
            return np.zeros(np.broadcast_shapes(*(i.shape for i in at)), _wide_type(dtype))
        clipped = []
        for index, size in zip(at, array.shape, strict=True):
            good = (index >= 0) & (index < size)
            counts = ~good if mask is None else ~good & mask
            if np.any(counts):
                raise InternalError(f"read {e} is out of bounds of {array.shape}", "tg")
            clipped.append(np.clip(index, 0, max(size - 1, 0)))
        if array.size == 0:
            shape = np.broadcast_shapes(*(c.shape for c in clipped))
            return np.zeros(shape, _wide_type(dtype))
        return to_wide(array[tuple(clipped)], dtype)


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
        return int(_Points({}, self.sizes).at(e, None))

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        assert isinstance(value.type, TensorType)
        return tuple(map(self.size, value.type.shape))

    def points(self, inputs: Sequence[SSAValue], variables: Mapping[str, Array]) -> _Points:
        buffers: dict[str, tuple[Array, DType]] = {}
        values: dict[str, Number] = {**self.sizes, **variables}
        for k, v in enumerate(inputs):
            if isinstance(v.type, TensorType):
                buffers[f"a{k}"] = (self.values[v], v.type.dtype)
            else:
                values[f"a{k}"] = self.values[v]
        return _Points(buffers, values)

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
    ufunc = _COMBINE[op.combiner.data]
    axes = tuple(range(len(shape), total))
    kind = np.float64 if dtype.is_floating_point else dtype.numpy
    out = ufunc.reduce(value.astype(kind), axis=axes, initial=start, dtype=kind)
    f.values[op.result] = to_storage(out, dtype)


def _scan(f: _Frame, op: tg.ScanOp) -> None:
    assert isinstance(op.input.type, TensorType)
    dtype = op.input.type.dtype
    wide = to_wide(f.values[op.input], dtype)
    ufunc = _COMBINE[op.combiner.data]
    running = _wide_type(op.running_dtype)
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
                out[where] = _COMBINE[op.combiner.data](out[where], value[k])
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
