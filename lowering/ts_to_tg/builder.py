"""The builder that operator rows write with: tensors by what one element of them is.

`compute` and `reduce` hand a row a `Body`, which reads the operands' elements; `write` puts new
elements into a storage through a view of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.ir import Block, SSAValue

from tensorscript.base import overlap
from tensorscript.base.dtypes import DType, complex_dtype, float32, float64, result_type
from tensorscript.base.rounding import rounded
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, binary, const, select, var
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import TensorType, tensor

from .elements import HALVES, as_expr, compute_dtype, convert
from .emission import Body, Emitter
from .may_alias import MayAlias
from .sizes import same_size, simplify
from .values import ComplexTensor, Storage, Tensor, Value
from .view_inverse import inverse_of

Row = Callable[..., Value]
Rows = dict[str, Row]
Update = Callable[[Body, list[Expr]], tuple[Sequence[Expr], Expr]]
"""The place and the value of one update of a scatter, by its indices."""


def repeated_dimensions(x: Tensor) -> list[int]:
    """Dimensions of a view along which it is the same memory again and again."""
    if x.indices is None:
        return []
    used = set().union(*(e.free for e in x.indices))
    return [d for d, size in enumerate(x.shape) if not size.is_int(1) and f"i{d}" not in used]


def repeated_if(x: Tensor) -> list[Expr]:
    """When a view is the same memory again and again, which the program finds out: it expands what
    may have one element."""
    return [
        e.args[0]
        for e in x.indices or ()
        if e.op == "select"
        and e.args[1].is_int(0)
        and any(f"i{d}" in e.free for d in range(x.rank))
    ]


def overlaps_itself(x: Tensor | ComplexTensor) -> bool:
    """An argument that repeats elements by a stride of 0."""
    strides = x.storage.strides or ()
    sizes = x.storage.shape
    return any(
        s.is_int(0) and not n.is_int(1) and not n.is_int(0)
        for s, n in zip(strides, sizes, strict=False)
    )


def _told_strides(array: np.ndarray) -> tuple[Expr, ...] | None:
    """What a program is told of the strides of a constant, whose elements are kept in order."""
    if array.flags.c_contiguous or not array.size:
        return None
    return tuple(const(step // array.itemsize) for step in array.strides)


class Builder(Emitter):
    """Builds tensors and writes them; holds what the specialised function assumes.

    Attributes:
        generator: the state of the random generator, where it is an argument.
        batches: how many sequences were packed, by the storage of the sizes of their steps.
        gradients: what `is_grad_enabled()` says; None if that is not known.
        apart: tensors that control flow chooses between are variants, see `apart.py`.
        copies: of how many elements of run-time lists a storage is the original, or a copy.
        permutes: the program has made a view whose dimensions are in another order.
    """

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.written: set[Storage] = set()
        self.default_dtype = float32
        self.gradients: bool | None = True
        self.table: Mapping[str, Row] = {}
        self.constants: dict[int, Tensor] = {}
        self.bounds: dict[str, Expr] = {}
        self.batches: dict[Storage, Expr] = {}
        self.kept: list[np.ndarray] = []
        self.generator: Storage | None = None
        self.may_alias = MayAlias()
        self.apart = False
        self.permutes = False
        self.copies: Counter[Storage] = Counter()

    # --- tensors ----------------------------------------------------------------------------------

    def fresh(self, value: SSAValue) -> Tensor:
        """A new tensor whose storage holds `value`."""
        type_ = value.type
        assert isinstance(type_, TensorType)
        storage = Storage(type_.dtype, type_.shape)
        self.heap[storage] = value
        return Tensor(storage, type_.shape)

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
        sizes = tuple(const(s) if isinstance(s, int) else self.size(s) for s in shape)
        body = Body(self)
        e = body.embed(convert(make(body, self.indices(sizes)), dtype))
        self._generated(e)
        key = (kind, e, sizes, *body.inputs)
        op = self.once(key, lambda: kind(body.inputs, e, tensor(dtype, sizes)))
        return self.fresh(op.result)

    def reduce(
        self,
        shape: Sequence[Expr],
        extents: Sequence[Expr],
        dtype: DType,
        combiner: str,
        make: Callable[[Body, list[Expr], list[Expr]], Expr],
        kind: type[tg.ReductionOp] = tg.ReduceOp,
        part: DType | None = None,
    ) -> Tensor:
        """Elements combined over r0 < extents[0], ...; `make(body, [i0, ..], [r0, ..])`. Partial
        results are of dtype `part`."""
        if all(n.is_int(1) for n in extents):
            return self._only_one(shape, len(extents), dtype, combiner, make)
        sizes, extents = tuple(map(self.size, shape)), tuple(map(self.size, extents))
        body = Body(self)
        r = [const(0) if s.is_int(1) else var(f"r{d}") for d, s in enumerate(extents)]
        e = body.embed(convert(make(body, self.indices(sizes), r), part or dtype))
        key = (kind, combiner, e, dtype, sizes, extents, *body.inputs)
        op = self.once(key, lambda: kind(body.inputs, e, extents, combiner, tensor(dtype, sizes)))
        return self.fresh(op.result)

    def _only_one(
        self,
        shape: Sequence[Expr],
        count: int,
        dtype: DType,
        combiner: str,
        make: Callable[[Body, list[Expr], list[Expr]], Expr],
    ) -> Tensor:
        """A reduction of one element each: that element (a sum is 0 + it, which tells -0 apart)."""

        def element(body: Body, i: list[Expr]) -> Expr:
            e = convert(make(body, i, [const(0)] * count), dtype)
            is_sum = combiner == "add" and dtype.is_floating_point
            return binary("add", tg.identity(combiner, dtype), e) if is_sum else e

        return self.compute(shape, dtype, element)

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
        make: Update,
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
        tensors = [x for x in operands if isinstance(x, Tensor | ComplexTensor)]
        dims = [x.dtype for x in tensors if x.rank]
        zero = [x.dtype for x in tensors if not x.rank]
        scalars = [
            self.default_dtype if (e := as_expr(x)).dtype is float64 else e.dtype
            for x in operands
            if not isinstance(x, Tensor | ComplexTensor | complex)
        ]
        if any(isinstance(x, complex) for x in operands):
            scalars.append(complex_dtype(self.default_dtype))
        return result_type(dims, zero, scalars)

    def broadcast_shapes(self, *shapes: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The shape all broadcast to. Sizes that the program finds may turn out to be 1 where
        others are not: who reads the elements tells `Body.broadcast` the shape."""
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
                message = (
                    f"The size of tensor a ({size}) must match the size of tensor b ({shape[at]})"
                    f" at non-singleton dimension {d}"
                )
                if self.may_be_one(size) or self.may_be_one(shape[at]):
                    size = self._common_size(size, shape[at], message)
                    continue
                self.require_unbroadcast(size, shape[at], message)
            out.append(size)
        return tuple(out)

    def _common_size(self, left: Expr, right: Expr, message: str) -> Expr:
        """What two sizes broadcast to, of which at least one may turn out to be 1."""
        if same_size(left, right):
            return left
        found = [s for s in (left, right) if self.may_be_one(s)]
        fits = binary("eq", left, right)
        for size in found:
            fits = binary("or", fits, binary("eq", size, 1))
        self.take_above_one(left, right)
        self.check(simplify(self.unsized(fits)), message)
        if len(found) == 1:
            return right if left is found[0] else left
        return self.size(self.unsized(select(binary("eq", left, 1), right, left)))

    def settle(self, *sizes: Expr) -> None:
        """Refuse to tell whether one of different sizes is 1 and broadcasts."""
        if any(map(self.may_be_one, sizes)) and not same_size(sizes[0], sizes[-1]):
            self.cannot("broadcasting of sizes that are found when the program runs")

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
        shapes = (x.shape for x in operands if isinstance(x, Tensor))
        shape = self.broadcast_shapes(*shapes)

        def make(body: Body, i: list[Expr]) -> Expr:
            elements = [
                body.broadcast(x, i, wide, shape) if isinstance(x, Tensor) else body.scalar(x, wide)
                for x in operands
            ]
            return fn(*elements)

        return self.compute(shape, dtype or promoted, make)

    def operands(self, x: Value, y: Value, by_scalar: bool = False) -> tuple[Value, Value]:
        """Both operands of a binary operator: promoted to a half type they are rounded to it.

        Args:
            by_scalar: products and quotients take a second operand without dimensions as it is.
        """
        dtype = self.result_type(x, y)
        has_dims = isinstance(y, Tensor) and y.rank
        second = self.rounded(y, dtype) if has_dims or not by_scalar else y
        return self.rounded(x, dtype), second

    def rounded(self, x: Value, dtype: DType) -> Value:
        """`x` as a half type holds it; other dtypes leave that to who calculates in them."""
        if dtype not in HALVES:
            return x
        if isinstance(x, Tensor):
            return self.cast(x, dtype)
        if isinstance(x, Expr) and not x.is_const:
            return self.full((), x, dtype)
        value = as_expr(x).value
        assert isinstance(value, bool | int | float)
        exact = rounded(value, dtype)
        return x if exact == value else exact

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
        strides = _told_strides(array)
        storage = Storage(dtype, type_.shape, origin, strides)
        self.heap.imported[storage] = op.result
        made = Tensor(storage, type_.shape, None, strides)
        self.constants[id(array)] = made
        return made

    # --- writing ----------------------------------------------------------------------------------

    def write(self, x: Tensor, new: Tensor) -> None:
        """Make the elements of `x` those of `new` (same shape and dtype), through the view."""
        storage = x.storage
        group = self.may_alias.group(storage)
        if storage.shared or any(s.held for s in group):
            self.may_share("in-place write to a tensor that may share memory with another one")
        self.heap.stale |= group - {storage}
        self.written.add(storage)
        if x.indices is None:
            self.heap[storage] = self.ssa(new)
            return
        if overlaps_itself(x):
            self.cannot("a write to a part of an argument whose elements share memory")
        self.heap[storage] = self.ssa(self._replaced(x, new))

    def _replaced(self, x: Tensor, new: Tensor) -> Tensor:
        """The whole storage of `x` with the elements of the view `x` replaced."""
        assert x.indices is not None
        base = Tensor(x.storage, x.storage.shape)
        if repeated_dimensions(x):
            self.error(overlap.MESSAGE)
        # In a loop one element is stored where it lies; elsewhere a selection fuses with others.
        point = self.scopes.depth > 0 and all(s.is_int(1) for s in x.shape)
        inverse = None if point else inverse_of(x)
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
        """`call` for an operator with one tensor as its result (of complex operands a complex one,
        which rows that only call others treat alike)."""
        out: Tensor = self.call(name, *arguments)
        return out

    def call(self, name: str, *arguments: Value) -> Value:
        """Another row of the table: decompositions are written in terms of operators."""
        row = self.table.get(name) or self.table[name.partition(".")[0]]
        return row(self, *arguments)
