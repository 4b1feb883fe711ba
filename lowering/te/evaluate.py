"""A slow, strict evaluator of te functions on NumPy arrays, for tests and debugging.

It finds what a schedule must not do: use of an element that nobody wrote (a plain copy of one, as
when a local block is filled, only passes that on), an access out of bounds, and (at level logical)
an element stored twice. Iterations of parallel, vector, GPU-bound and reduction loops run in a
shuffled order, so a schedule that relies on their order gives another result.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tensorscript.base.dtypes import DType, bfloat16, bool_, numbers
from tensorscript.base.inverse_error_function import erfinv
from tensorscript.base.records import dataclass
from tensorscript.base.rounding import bfloat16_bits, rounded
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.folding import reinterpreted
from tensorscript.dialects.te.lists import BindOp, GiveOp, InvokeOp
from tensorscript.dialects.te.ops import (
    AllocOp,
    AssertOp,
    AssignOp,
    CallOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    PrefetchOp,
    ScanOp,
    StoreOp,
    SyncOp,
    UpdateOp,
    VarOp,
    WhileOp,
    constants,
    functions,
)
from tensorscript.dialects.walks import walk_ops

from .evaluate_lists import List, Lists, Value


class EvaluationError(AssertionError):
    """The program did what no valid te program does."""


@dataclass
class Storage:
    """The elements of a buffer and which of them hold a value."""

    array: np.ndarray
    written: np.ndarray
    stored: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.stored = np.zeros(self.array.shape, bool)

    @classmethod
    def poison(cls, shape: tuple[int, ...], dtype: DType) -> Storage:
        return cls(np.zeros(shape, dtype.numpy), np.zeros(shape, bool))

    @classmethod
    def of(cls, array: np.ndarray) -> Storage:
        return cls(array, np.ones(array.shape, bool))


_COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "min": lambda a, b: a if a != a or a < b else b,
    "max": lambda a, b: a if a != a or a > b else b,
    "greater": lambda a, b: a if a > b else b,
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "and": lambda a, b: int(a) & int(b), "or": lambda a, b: int(a) | int(b),
    "xor": lambda a, b: int(a) ^ int(b), "shl": lambda a, b: int(a) << int(b),
    "shr": lambda a, b: int(a) >> int(b), "pow": lambda a, b: a**b,
    "truncdiv": lambda a, b: abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1),
    "truncmod": lambda a, b: math.fmod(a, b) if isinstance(a, float) else int(math.fmod(a, b)),
}  # fmt: skip
_CALL: dict[str, Callable[..., Value]] = {
    "rsqrt": lambda x: 1.0 / math.sqrt(x), "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)),
    "round": lambda x: float(round(x)), "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "signbit": lambda x: math.copysign(1.0, x) < 0,
    "fma": lambda a, b, c: a * b + c, "muladd": lambda a, b, c: a * b + c, "decay": math.exp,
    "decay2": math.exp2, "erfinv": erfinv,
    "gelu": lambda x: 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0))),
}  # fmt: skip


def _fit(value: Value, dtype: DType) -> Value:
    """`value` as the dtype holds it (integers wrap around, floats are rounded)."""
    if dtype is bool_:
        return bool(value)
    if dtype.is_integral:
        bits = dtype.bits
        whole = int(value) & ((1 << bits) - 1)
        return whole - (1 << bits) if dtype.signed and whole >> (bits - 1) else whole
    return rounded(float(value), dtype)


@dataclass
class Grown:
    """What a program hands over for a `grown` parameter."""

    array: np.ndarray | None = None


def _written(held: List, shape: tuple[int, ...]) -> np.ndarray:
    """A list made with a length has no values yet when it is first bound."""
    fresh, held.is_fresh = held.is_fresh, False
    return np.full(shape, not fresh)


class Evaluator:
    """Runs one function. `seed` decides the order of unordered loops."""

    def __init__(self, module: ModuleOp | None, level: str, seed: int) -> None:
        self.functions = {} if module is None else {f.sym_name.data: f for f in functions(module)}
        self.module = module
        self.once = level == "logical"
        self.random = random.Random(seed)
        self.storage: dict[str, Storage] = {}
        self.values: dict[str, Value] = {}
        self.lists = Lists()
        self.grown: dict[str, Grown] = {}

    def run(self, func: FuncOp, arguments: Mapping[str, object]) -> None:
        """Run with arrays and numbers by parameter name; `out` arrays start as poison."""
        # Host code and scatters write an element again.
        kernel = func.role.data == "kernel" and func.category.data != "scatter"
        self.once = self.once and kernel
        if self.module is not None:
            for constant in constants(self.module):
                if constant.data.data.array is not None:
                    self.storage[constant.buffer.name] = Storage.of(constant.data.data.array)
        for p in func.params:
            given = arguments[p.name]
            if not isinstance(p, Buffer):
                self.values[p.name] = given  # type: ignore[assignment]  # a number, by contract
            elif isinstance(given, Storage):
                given.stored[...] = False
                self.storage[p.name] = given
            elif isinstance(given, Grown):
                self.grown[p.name] = given
            else:
                array = np.asarray(given)
                filled = np.full(array.shape, p.mode != "out")
                self.storage[p.name] = Storage(array, filled)
        self.block(func.block)
        if self.lists.held:
            raise EvaluationError(f"{len(self.lists.held)} lists are never released")

    # --- statements

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.statement(op)

    def statement(self, op: Operation) -> None:
        match op:
            case ForOp():
                self._loop(op)
            case IfOp():
                body = op.then_body if self.value(op.condition) else op.else_body
                self.block(body.block)
            case WhileOp():
                while self.value(op.condition):
                    self.block(op.block)
            case AllocOp():
                shape = tuple(self._int(s) for s in op.buffer.shape)
                self.storage[op.buffer.name] = Storage.poison(shape, op.buffer.dtype)
            case LetOp() | VarOp() | AssignOp():
                self.values[op.var] = self.value(op.value)
            case ScanOp():
                self.values[op.carried] = self.values[op.var] = self.value(op.next)
            case StoreOp():
                self._store(op)
            case UpdateOp():
                dtype = op.value.dtype
                old = self._read(op.buffer, op.indices, dtype)
                value = _COMBINE[op.combiner](old, self.value(op.value))
                self._write(op.buffer, op.indices, value, dtype, single=False)
            case AssertOp():
                if not self.value(op.condition):
                    raise EvaluationError(f"assertion: {op.message}")
            case CallOp():
                self._call(op)
            case InvokeOp():
                result = self.lists.invoke(op.function, [self.value(a) for a in op.arguments])
                if result is not None:
                    self.values[op.var] = result
            case BindOp():
                self._bind(op)
            case GiveOp():
                self.grown[op.target].array = self.storage[op.source].array.copy()
            case SyncOp() | PrefetchOp():
                pass
            case _:
                raise EvaluationError(f"cannot evaluate {op.name}")

    def _bind(self, op: BindOp) -> None:
        held = self.lists[self._int(op.handle)]
        shape = tuple(self._int(s) for s in op.buffer.shape)
        count = math.prod(shape)
        if count * op.buffer.dtype.itemsize > len(held.data):
            raise EvaluationError(f"{op.buffer} is larger than the list of {held.length}")
        array = held.data[: count * op.buffer.dtype.itemsize].view(op.buffer.dtype.numpy)
        self.storage[op.buffer.name] = Storage(array.reshape(shape), _written(held, shape))

    def _loop(self, op: ForOp) -> None:
        start, extent = self._int(op.start), self._int(op.extent)
        if op.chunk is not None:
            self._chunks(op, op.chunk, start, start + max(extent, 0))
            return
        iterations = list(range(start, start + max(extent, 0)))
        ordered = op.kind.data in ("serial", "unroll") or _scans(op)
        if not ordered or op.is_reduction:
            self.random.shuffle(iterations)
        for i in iterations:
            self.values[op.var] = i
            self.block(op.block)

    def _chunks(self, op: ForOp, count: str, start: int, end: int) -> None:
        """Up to four of any sizes, in any order."""
        cuts = {start, end, *(self.random.randint(start, end) for _ in range(3))}
        chunks = list(pairwise(sorted(cuts)))
        self.random.shuffle(chunks)
        for first, behind in chunks:
            self.values[op.var], self.values[count] = first, behind - first
            self.block(op.block)

    def _call(self, op: CallOp) -> None:
        callee = self.functions[op.callee]
        arguments: dict[str, object] = {}
        for p, e in zip(callee.params, op.arguments, strict=True):
            is_buffer = isinstance(p, Buffer)
            arguments[p.name] = self.storage[str(e.value)] if is_buffer else self.value(e)
        inner = Evaluator(self.module, callee.level.data, self.random.randrange(1 << 30))
        inner.functions = self.functions
        inner.run(callee, arguments)

    def _store(self, op: StoreOp) -> None:
        if op.value.op == "load" and not self.once:
            source, at = self._place(str(op.value.value), op.value.args)
            if not source.written[at]:
                # A plain copy of an element without a value makes another one without.
                target, there = self._place(op.buffer, op.indices)
                target.written[there] = False
                return
        value = self.value(op.value)
        self._write(op.buffer, op.indices, value, op.value.dtype, single=self.once)

    def _place(self, buffer: str, indices: Sequence[Expr]) -> tuple[Storage, tuple[int, ...]]:
        storage = self.storage[buffer]
        at = tuple(self._int(i) for i in indices)
        shape = storage.array.shape
        if len(at) == 1 and len(shape) != 1:
            total = math.prod(shape)
            if not 0 <= at[0] < total:
                raise EvaluationError(f"{buffer}{list(at)} is outside of {total} elements")
            return storage, tuple(int(i) for i in np.unravel_index(at[0], shape))
        if len(at) != len(shape) or not all(0 <= i < n for i, n in zip(at, shape, strict=True)):
            raise EvaluationError(f"{buffer}{list(at)} is outside of {list(shape)}")
        return storage, at

    def _read(self, buffer: str, indices: Sequence[Expr], dtype: DType) -> Value:
        storage, at = self._place(buffer, indices)
        if not storage.written[at]:
            raise EvaluationError(f"{buffer}{list(at)} is read before it is written")
        return numbers(storage.array[at], dtype).item()  # type: ignore[no-any-return]  # a number

    def _write(
        self, buffer: str, indices: Sequence[Expr], value: Value, dtype: DType, single: bool
    ) -> None:
        storage, at = self._place(buffer, indices)
        if single and storage.stored[at]:
            raise EvaluationError(f"{buffer}{list(at)} is stored twice")
        with np.errstate(all="ignore"):
            storage.array[at] = bfloat16_bits(np.asarray(value)) if dtype is bfloat16 else value
        storage.written[at] = storage.stored[at] = True

    # --- expressions

    def _int(self, e: Expr) -> int:
        return int(self.value(e))

    def value(self, e: Expr) -> Value:
        match e.op:
            case "const":
                return e.value  # type: ignore[return-value]  # a literal holds a number
            case "var":
                return self.values[str(e.value)]
            case "load":
                return self._read(str(e.value), e.args, e.dtype)
            case "select":
                return self.value(e.args[1] if self.value(e.args[0]) else e.args[2])
            case "and" | "or" if e.dtype is bool_:
                first = bool(self.value(e.args[0]))
                return first if first == (e.op == "or") else bool(self.value(e.args[1]))
        args = [self.value(a) for a in e.args]
        return _fit(self._compute(e, args), e.dtype)

    def _compute(self, e: Expr, args: list[Value]) -> Value:
        match e.op:
            case "cast":
                return args[0]
            case "bitcast":
                return reinterpreted(args[0], e.args[0].dtype, e.dtype)
            case "neg":
                return -args[0]
            case "not":
                return not args[0] if e.dtype is bool_ else ~int(args[0])
            case "call":
                function = _CALL.get(str(e.value)) or getattr(math, str(e.value))
                return function(*args)
            case "div":
                with np.errstate(all="ignore"):
                    return float(np.divide(np.float64(args[0]), np.float64(args[1])))
        return _COMBINE[e.op](*args)


def _scans(loop: ForOp) -> bool:
    """Its iterations see what those before gave."""
    return any(isinstance(op, ScanOp) for op in walk_ops(loop))


def evaluate(
    func: FuncOp,
    arguments: Mapping[str, object],
    seed: int = 0,
    module: ModuleOp | None = None,
) -> None:
    """Run `func` on arrays and numbers by parameter name; output arrays are written in place.

    Raises:
        EvaluationError: uninitialised read, out-of-bounds access, double store, failed te.assert.
    """
    Evaluator(module, func.level.data, seed).run(func, arguments)
