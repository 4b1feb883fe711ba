"""The builder that operator rows write with: it emits tg ops at the current place.

A row says what one element is. `compute` and `reduce` hand it a `Body`, whose `read` gives element
expressions of tensors (views are index maps, so a transposed operand is read transposed) and whose
`scalar` gives unknown scalars as operands. Pure ops are emitted once per scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeVar

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base import overlap
from tensorscript.base.dtypes import DType, bool_, float32, float64, int64, result_type
from tensorscript.base.errors import NotCompilable, OperatorError
from tensorscript.base.source import Span
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import (
    Expr,
    all_of,
    binary,
    cast,
    const,
    load,
    select,
    substitute,
    transform,
    var,
    walk,
)
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.types import ScalarType, TensorType, tensor

from .elements import as_expr, compute_dtype, convert, number
from .sizes import product, same_size, simplify
from .values import DictRef, ListRef, ObjectRef, Storage, Tensor, Value

Ref = Storage | ListRef | DictRef | ObjectRef
Indices = tuple[Expr, ...]
Rows = dict[str, Callable[..., Value]]
_Op = TypeVar("_Op", bound=Operation)


NOT_GENERATED = frozenset({"lgamma", "digamma", "erfinv", "hypot", "asinh", "acosh", "atanh"})
"""Math functions of `te` that the code generators' library lacks."""


class Heap(dict[Ref, Value]):
    """Contents of references. What was imported from outside (constants, objects of the caller)
    has its first content in `imported`, shared by all copies, wherever it was first met."""

    def __init__(self, contents: Mapping[Ref, Value], imported: dict[Ref, Value]) -> None:
        super().__init__(contents)
        self.imported = imported

    def __missing__(self, ref: Ref) -> Value:
        return self.imported[ref]

    def __contains__(self, ref: object) -> bool:
        return super().__contains__(ref) or ref in self.imported

    def branched(self) -> Heap:
        return Heap(self, self.imported)


class Body:
    """The operands that the body of one op reads, numbered as they are first read."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.inputs: list[SSAValue] = []

    def operand(self, value: SSAValue) -> str:
        if value not in self.inputs:
            self.inputs.append(value)
        return f"a{self.inputs.index(value)}"

    def read(self, x: Tensor, indices: Sequence[Expr | int], dtype: DType | None = None) -> Expr:
        """Element `indices` of `x`, converted to `dtype` (default: the dtype it computes in)."""
        at = tuple(const(i) if isinstance(i, int) else i for i in indices)
        value, index_map = self.builder.readable(x)
        if index_map is not None:
            at = tuple(substitute(e, {f"i{d}": i for d, i in enumerate(at)}) for e in index_map)
        element = load(self.operand(value), at, x.dtype)
        return convert(element, dtype or compute_dtype(x.dtype))

    def element(self, x: Tensor, dtype: DType) -> Expr:
        """The only element of a view, read where it lies."""
        assert x.indices is not None
        first = {f"i{d}": const(0) for d in range(x.rank)}
        at = [self.embed(substitute(e, first)) for e in x.indices]
        operand = self.operand(self.builder.heap[x.storage])
        return convert(load(operand, at, x.dtype), dtype)

    def broadcast(self, x: Tensor, indices: Sequence[Expr], dtype: DType | None = None) -> Expr:
        """Element of `x` broadcast to an iteration space of `indices` (aligned right)."""
        tail = indices[len(indices) - x.rank :] if x.rank else ()
        at = [const(0) if s.is_int(1) else i for i, s in zip(tail, x.shape, strict=True)]
        return self.read(x, at, dtype)

    def scalar(self, value: Value, dtype: DType) -> Expr:
        """A scalar, known or not, in `dtype`. Size expressions stand in the body as they are."""
        if not isinstance(value, Expr):
            return number(value, dtype)
        if value.op == "const":
            return convert(value, dtype)
        if value.dtype is int64 and not any(n.startswith("$") for n in value.free):
            return convert(value, dtype)
        return convert(var(self.operand(self.builder.scalar_operand(value)), value.dtype), dtype)

    def embed(self, e: Expr) -> Expr:
        """An index expression with scalar names `$k` in it, with those made operands."""
        names = [n for n in e.free if n.startswith("$")]
        if not names:
            return e
        return substitute(
            e,
            {
                n: var(self.operand(self.builder.scalars[n]), self.builder.scalar_type(n))
                for n in names
            },
        )


class Builder:
    """Emits tg ops into `block`; holds the heap and what the specialised function assumes."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.entry = block
        self.prologue: list[Operation] = []
        self.scalars: dict[str, SSAValue] = {}
        self.heap = Heap({}, {})
        self.scopes: list[dict[tuple[object, ...], Operation]] = [{}]
        self.span: Span | None = None
        self.operator = ""
        self.written: set[Storage] = set()
        self.default_dtype = float32
        self.table: Rows = {}
        self.constants: dict[int, Tensor] = {}
        self.bounds: dict[str, Expr] = {}
        self.kept: list[np.ndarray] = []
        self.finds_sizes = True
        self.symbols: dict[str, Expr] = {}
        self.counts: set[str] = set()
        self.taken: set[str] = set()

    # --- refusing ---------------------------------------------------------------------------------

    def error(self, message: str) -> NoReturn:
        """The operator refuses its arguments, in PyTorch's words."""
        raise OperatorError(message, self.span)

    def cannot(self, reason: str) -> NoReturn:
        """Native code cannot do this; the message names the operator."""
        raise NotCompilable(f"{self.operator or 'this program'}: {reason}", self.span)

    # --- emission ---------------------------------------------------------------------------------

    def emit(self, op: _Op) -> _Op:
        self.block.add_op(op)
        return op

    @contextmanager
    def at_start(self) -> Iterator[None]:
        """What is emitted inside stands at the start of the function."""
        block, scopes = self.block, self.scopes
        self.block, self.scopes = Block(), [{}]
        try:
            yield
        finally:
            for op in list(self.block.ops):
                op.detach()
                self.prologue.append(op)
            self.block, self.scopes = block, scopes

    def once(self, key: tuple[object, ...], make: Callable[[], _Op]) -> _Op:
        """The op already emitted under `key` in this or an enclosing scope, or a new one."""
        key = tuple(id(k) if isinstance(k, SSAValue) else k for k in key)
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]  # type: ignore[return-value]  # one key, one kind of op
        op = self.emit(make())
        self.scopes[-1][key] = op
        return op

    def fresh(self, value: SSAValue) -> Tensor:
        """A new tensor whose storage holds `value`."""
        type_ = value.type
        assert isinstance(type_, TensorType)
        storage = Storage(type_.dtype, type_.shape)
        self.heap[storage] = value
        return Tensor(storage, type_.shape)

    def scalar_of(self, value: SSAValue) -> Expr:
        """A name for a scalar SSA value."""
        type_ = value.type
        assert isinstance(type_, ScalarType)
        name = f"${len(self.scalars)}"
        self.scalars[name] = value
        return var(name, type_.dtype)

    def scalar_type(self, name: str) -> DType:
        type_ = self.scalars[name].type
        assert isinstance(type_, ScalarType)
        return type_.dtype

    def scalar_operand(self, value: Value) -> SSAValue:
        """A scalar as an SSA value (a tg.scalar op unless it is one already)."""
        e = as_expr(value)
        if e.op == "var" and str(e.value) in self.scalars:
            return self.scalars[str(e.value)]
        self._generated(e)
        body = Body(self)
        embedded = body.embed(e)
        key = ("scalar", embedded, *body.inputs)
        return self.once(key, lambda: tg.ScalarOp(body.inputs, embedded)).result

    def shortened(self, value: Value) -> Value:
        """A long scalar expression, or one of floats, computed now and given a name.

        Integers stay expressions, because sizes and indices are compared by form; floats are only
        ever computed with, and would be computed again at each use.
        """
        if not isinstance(value, Expr) or value.op in ("var", "const", "cast"):
            return value
        if value.dtype is float64 or sum(1 for _ in walk(value)) > 24:
            return self.scalar_of(self.scalar_operand(value))
        return value

    def size(self, e: Expr) -> Expr:
        """A size as it stands in shapes: what the program computes gets a name (tg.size). That it
        is not negative is for the caller to check."""
        if not any(n.startswith("$") for n in e.free):
            return e
        if not self.finds_sizes:
            self.cannot("a shape that depends on values computed by the program")
        value = self.scalar_operand(e)
        op = self.once(("size", value), lambda: SizeOp(self._symbol(), value))
        self.symbols.setdefault(op.symbol, self.scalar_of(value))
        return var(op.symbol)

    def _symbol(self) -> str:
        number = len(self.symbols)
        while (name := f"size{number}") in self.taken:
            number += 1
        self.taken.add(name)
        return name

    def is_found(self, size: Expr) -> bool:
        """A size that the program finds when it runs. It may be 1, which named sizes are not."""
        return any(n in self.symbols or n.startswith("$") for n in size.free)

    def is_computed(self, size: Expr) -> bool:
        """A number the program computes, which need not be a size."""
        sizes = {str(e.value) for e in self.symbols.values()} | self.counts
        return any(n.startswith("$") and n not in sizes for n in size.free)

    def unsized(self, e: Expr) -> Expr:
        """A size as a scalar, which may outlive the block that named it."""
        return simplify(substitute(e, self.symbols)) if e.free & self.symbols.keys() else e

    def single(self, x: Tensor, message: str) -> None:
        """`x` must have one element; of a size that is found this is checked when it is."""
        if all(s.is_int(1) or self.is_found(s) for s in x.shape):
            self.check(simplify(product(x.shape).equals(1)), message)
        else:
            self.error(message)

    def item(self, x: Tensor) -> Expr:
        """The only element of `x` as a scalar.

        A 0-dim integer computed from sizes (`aten::size`, `NumToTensor`, arithmetic, `Int`: what
        a trace makes of shape arithmetic) stays an expression of those sizes.
        """
        computed = x.indices is not None and any(
            n.startswith("$") for e in x.indices for n in e.free
        )
        if x.rank == 0 and not x.dtype.is_floating_point and not computed:
            folded = self._element_of(self.ssa(x))
            if folded is not None:
                return folded if folded.dtype is bool_ else cast(folded, int64)
        body = Body(self)
        wide = bool_ if x.dtype is bool_ else float64 if x.dtype.is_floating_point else int64
        e = body.element(x, wide) if computed else body.read(x, [0] * x.rank, wide)
        op = self.once(("scalar", e, *body.inputs), lambda: tg.ScalarOp(body.inputs, e))
        return self.scalar_of(op.result)

    def _element_of(self, value: SSAValue) -> Expr | None:
        """A 0-dim value as an expression of scalars, None if it reads memory."""
        op = value.owner
        if isinstance(op, tg.ScalarOp) and not op.inputs:
            return op.expr
        if isinstance(value.type, ScalarType):
            return self.scalar_of(value)
        if not isinstance(op, tg.PointwiseOp | tg.ViewOp) or op.type.rank:
            return None
        parts = [self._element_of(v) for v in op.inputs]
        if any(p is None for p in parts):
            return None

        def visit(n: Expr) -> Expr | None:
            name = str(n.value)
            mine = n.op in ("load", "var") and name[0] == "a" and name[1:].isdigit()
            return parts[int(name[1:])] if mine else None

        return transform(op.expr, visit)

    def check(self, condition: Value, message: str) -> None:
        """Stop with `message` unless `condition` holds, now or when the program runs."""
        if isinstance(condition, Expr):
            if condition.op != "const":
                self.emit(tg.AssertOp(self.scalar_operand(condition), message))
                return
            condition = condition.value
        if not condition:
            self.error(message)

    def settle(self, *sizes: Expr) -> None:
        """Refuse to tell whether one of different sizes is 1 and broadcasts."""
        if any(map(self.is_found, sizes)) and not same_size(sizes[0], sizes[-1]):
            self.cannot("broadcasting of sizes that are found when the program runs")

    def require_same(self, a: Expr, b: Expr, message: str) -> None:
        """Two sizes must be equal."""
        if not same_size(a, b):
            self.check(simplify(binary("eq", a, b)), message)

    # --- tensors ----------------------------------------------------------------------------------

    def readable(self, x: Tensor) -> tuple[SSAValue, Indices | None]:
        """An SSA value and the index map to read `x` through it (None: its own indices).

        A map with divisions is computed once by a view op: an inner loop should not divide.
        """
        value = self.heap[x.storage]
        if x.indices is None:
            return value, None
        if any(n.op in ("floordiv", "mod") for e in x.indices for n in walk(e)):
            return self.ssa(x), None
        if any(n.startswith("$") for e in x.indices for n in e.free):
            return self.ssa(x), None
        return value, x.indices

    def ssa(self, x: Tensor) -> SSAValue:
        """`x` as one SSA value with its shape; a view op unless it is a whole storage."""
        value: SSAValue = self.heap[x.storage]
        if x.indices is None:
            return value
        body = Body(self)
        name = body.operand(value)
        e = load(name, [body.embed(i) for i in x.indices], x.dtype)
        key = ("view", e, x.shape, *body.inputs)
        return self.once(key, lambda: tg.ViewOp(body.inputs, e, tensor(x.dtype, x.shape))).result

    def copied(self, x: Tensor) -> Tensor:
        """The elements of `x` now, in a storage of its own."""
        return self.fresh(self.ssa(x))

    def indices(self, shape: Sequence[Expr]) -> list[Expr]:
        """i0, i1, ...; 0 where the size is 1."""
        return [const(0) if s.is_int(1) else var(f"i{d}") for d, s in enumerate(shape)]

    def compute(
        self,
        shape: Sequence[Expr | int],
        dtype: DType,
        make: Callable[[Body, list[Expr]], Expr],
        kind: type[tg.ComputeOp] = tg.PointwiseOp,
    ) -> Tensor:
        """The tensor whose element at i0, i1, ... is `make(body, [i0, i1, ...])`."""
        sizes = tuple(const(s) if isinstance(s, int) else s for s in shape)
        body = Body(self)
        e = convert(make(body, self.indices(sizes)), dtype)
        self._generated(e)
        key = (kind, e, sizes, *body.inputs)
        op = self.once(key, lambda: kind(body.inputs, e, tensor(dtype, sizes)))
        return self.fresh(op.result)

    def _generated(self, e: Expr) -> None:
        """Refuse math that has no code, and math on integers where an operator takes floats."""
        for n in walk(e):
            if n.op != "call" or n.value in ("abs", "isnan", "isinf", "isfinite", "signbit"):
                continue
            if n.value in NOT_GENERATED:
                self.cannot(f"no native code for {n.value}")
            if not n.args[0].dtype.is_floating_point:
                name = self.operator.partition("::")[2].partition(".")[0]
                self.error(f"\"{name}\" not implemented for '{n.args[0].dtype.word}'")

    def reduce(
        self,
        shape: Sequence[Expr],
        extents: Sequence[Expr],
        dtype: DType,
        combiner: str,
        make: Callable[[Body, list[Expr], list[Expr]], Expr],
        kind: type[tg.ReductionOp] = tg.ReduceOp,
    ) -> Tensor:
        """Elements combined over r0 < extents[0], ...; `make(body, [i0, ..], [r0, ..])`."""
        sizes = tuple(shape)
        body = Body(self)
        r = [const(0) if s.is_int(1) else var(f"r{d}") for d, s in enumerate(extents)]
        e = convert(make(body, self.indices(sizes), r), dtype)
        key = (kind, combiner, e, sizes, tuple(extents), *body.inputs)
        op = self.once(key, lambda: kind(body.inputs, e, extents, combiner, tensor(dtype, sizes)))
        return self.fresh(op.result)

    def contract(
        self,
        shape: Sequence[Expr],
        extents: Sequence[Expr],
        dtype: DType,
        make: Callable[[Body, list[Expr], list[Expr]], Expr],
    ) -> Tensor:
        """A sum of products, accumulated in the dtype that `dtype` computes in."""
        wide = compute_dtype(dtype)
        out = self.reduce(shape, extents, wide, "add", make, tg.ContractOp)
        return self.cast(out, dtype)

    def scatter(
        self,
        base: Tensor,
        extents: Sequence[Expr],
        make: Callable[[Body, list[Expr]], tuple[Sequence[Expr], Expr]],
        combiner: str = "set",
    ) -> Tensor:
        """`base` with elements set or combined, for d0 < extents[0], ... in order."""
        body = Body(self)
        d = [var(f"d{k}") for k in range(len(extents))]
        indices, e = make(body, d)
        op = tg.ScatterOp(
            self.ssa(base),
            body.inputs,
            [body.embed(i) for i in indices],
            convert(e, base.dtype),
            tuple(extents),
            combiner,
        )
        return self.fresh(self.emit(op).result)

    def result_type(self, *operands: Value) -> DType:
        """PyTorch's promotion over tensors, 0-dim tensors and scalars."""
        dims = [x.dtype for x in operands if isinstance(x, Tensor) and x.rank]
        zero = [x.dtype for x in operands if isinstance(x, Tensor) and not x.rank]
        scalars = [
            self.default_dtype if (e := as_expr(x)).dtype is float64 else e.dtype
            for x in operands
            if not isinstance(x, Tensor)
        ]
        found = result_type(dims, zero, scalars)
        if found.is_complex:
            self.cannot("complex numbers")
        return found

    def broadcast_shapes(self, *shapes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The shape all broadcast to."""
        rank = max((len(s) for s in shapes), default=0)
        out: list[Expr] = []
        for d in range(rank):
            size = const(1)
            for shape in shapes:
                at = d - rank + len(shape)
                if at < 0 or shape[at].is_int(1):
                    continue
                if size.is_int(1):
                    size = shape[at]
                    continue
                self.settle(size, shape[at])
                self.require_same(
                    size,
                    shape[at],
                    f"The size of tensor a ({size}) must match the size of tensor b ({shape[at]})"
                    f" at non-singleton dimension {d}",
                )
            out.append(size)
        return tuple(out)

    def pointwise(
        self,
        fn: Callable[..., Expr],
        *operands: Value,
        dtype: DType | None = None,
        compute: DType | None = None,
    ) -> Tensor:
        """`fn` of each element, broadcast and promoted.

        Args:
            operands: tensors and scalars.
            dtype: of the result (default: the promoted dtype).
            compute: dtype the elements are handed to `fn` in (default: promoted, half as float32).
        """
        promoted = dtype if dtype and compute else self.result_type(*operands)
        wide = compute or compute_dtype(promoted)
        shape = self.broadcast_shapes(*(x.shape for x in operands if isinstance(x, Tensor)))

        def make(body: Body, i: list[Expr]) -> Expr:
            elements = [
                body.broadcast(x, i, wide) if isinstance(x, Tensor) else body.scalar(x, wide)
                for x in operands
            ]
            return fn(*elements)

        return self.compute(shape, dtype or promoted, make)

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """`x` converted; `x` itself where nothing changes."""
        if x.dtype is dtype:
            return x
        return self.compute(x.shape, dtype, lambda body, i: body.broadcast(x, i))

    def full(self, shape: Sequence[Expr | int], value: Value, dtype: DType) -> Tensor:
        return self.compute(shape, dtype, lambda body, i: body.scalar(value, dtype))

    def literal(self, array: np.ndarray, dtype: DType, origin: str = "") -> Tensor:
        """A constant tensor; one tg.constant per array, at the start of the function."""
        if (found := self.constants.get(id(array))) is not None:
            return found
        if array.ndim == 0 and not origin and dtype.numpy == array.dtype and array.dtype != "u2":
            return self.full((), array.item(), dtype)
        type_ = tensor(dtype, tuple(const(s) for s in array.shape))
        op = tg.ConstantOp(DataAttr.of(array), type_)
        self.prologue.append(op)
        storage = Storage(dtype, type_.shape, origin)
        self.heap.imported[storage] = op.result
        made = Tensor(storage, type_.shape)
        self.constants[id(array)] = made
        return made

    # --- writing ----------------------------------------------------------------------------------

    def write(self, x: Tensor, new: Tensor) -> None:
        """Make the elements of `x` those of `new` (same shape and dtype), through the view."""
        storage = x.storage
        if storage.shared:
            self.cannot("in-place write to a tensor that may share memory with another one")
        self.written.add(storage)
        if x.indices is None:
            self.heap[storage] = self.ssa(new)
            return
        self.heap[storage] = self.ssa(self._replaced(x, new))

    def _replaced(self, x: Tensor, new: Tensor) -> Tensor:
        """The whole storage of `x` with the elements of the view `x` replaced."""
        assert x.indices is not None
        base = Tensor(x.storage, x.storage.shape)
        used = set().union(*(e.free for e in x.indices)) if x.indices else set()
        for d, size in enumerate(x.shape):
            if not size.is_int(1) and f"i{d}" not in used:
                self.error(overlap.MESSAGE)
        # In a loop one element is stored where it lies; elsewhere a selection fuses with others.
        point = len(self.scopes) > 1 and all(s.is_int(1) for s in x.shape)
        inverse = None if point else _inverse(x)
        if inverse is not None:

            def blend(body: Body, i: list[Expr]) -> Expr:
                condition, at = inverse(i)
                value = body.read(new, at, x.dtype)
                return select(condition, value, body.read(base, i, x.dtype))

            return self.compute(base.shape, x.dtype, blend)
        indices = x.indices
        number = None if new.rank else self._element_of(self.ssa(new))

        def make(body: Body, d: list[Expr]) -> tuple[Sequence[Expr], Expr]:
            here = d or [const(0)] * x.rank
            at = [substitute(e, {f"i{k}": v for k, v in enumerate(here)}) for e in indices]
            if number is not None:
                return at, body.scalar(number, x.dtype)
            return at, body.broadcast(new, here, x.dtype)

        return self.scatter(base, () if point else x.shape, make)

    # --- other rows -------------------------------------------------------------------------------

    def apply(self, name: str, *arguments: Value) -> Tensor:
        """`call` for an operator with one tensor as its result."""
        out = self.call(name, *arguments)
        assert isinstance(out, Tensor)
        return out

    def call(self, name: str, *arguments: Value) -> Value:
        """Another row of the table: decompositions are written in terms of operators."""
        row = self.table.get(name) or self.table[name.partition(".")[0]]
        return row(self, *arguments)


def _affine(e: Expr) -> tuple[str, int, Expr] | None:
    """(variable, step, offset) of `variable * step + offset`, with a literal step > 0."""
    names = [n for n in e.free if n[0] == "i" and n[1:].isdigit()]
    if len(names) != 1:
        return None
    name = names[0]
    at = [simplify(substitute(e, {name: const(k)})) for k in (0, 1, 2)]
    step = simplify(at[1] - at[0])
    if step.op != "const" or not same_size(at[2] - at[1], step) or int(str(step.value)) < 1:
        return None
    if not same_size(e, var(name) * step + at[0]):
        return None
    return name, int(str(step.value)), at[0]


def _inverse(x: Tensor) -> Callable[[list[Expr]], tuple[Expr, list[Expr]]] | None:
    """For a view by slicing, selecting and permuting: given a storage index, whether the view
    covers it and at which index of the view. None for other maps, and for indices that are only
    known when the program runs (a scatter then touches just what is written)."""
    assert x.indices is not None
    parts: list[tuple[str, int, Expr] | None] = []
    for e in x.indices:
        if any(n.startswith("$") for n in e.free):
            return None
        if not any(n[0] == "i" and n[1:].isdigit() for n in e.free):
            parts.append(None)
            continue
        if (part := _affine(e)) is None:
            return None
        parts.append(part)
    names = [p[0] for p in parts if p]
    if len(set(names)) != len(names):
        return None
    view, indices = x, x.indices

    def inverse(i: list[Expr]) -> tuple[Expr, list[Expr]]:
        conditions: list[Expr] = []
        at = [const(0)] * view.rank
        for position, (e, part) in enumerate(zip(indices, parts, strict=True)):
            index = i[position]
            if part is None:
                conditions.append(simplify(index.equals(e)))
                continue
            name, step, offset = part
            size = view.shape[int(name[1:])]
            shifted = simplify(index - offset)
            if not offset.is_int(0):
                conditions.append(binary("ge", shifted, 0))
            if not (step == 1 and same_size(size + offset, view.storage.shape[position])):
                conditions.append(binary("lt", shifted, size * step))
            if step != 1:
                conditions.append(binary("eq", shifted % step, 0))
            at[int(name[1:])] = shifted if step == 1 else shifted // step
        return all_of(conditions), at

    return inverse
