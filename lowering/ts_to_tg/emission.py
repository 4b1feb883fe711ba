"""Emits tg ops at the current place: pure ops once per scope, scalars, sizes, checks and reads.

A `Body` gathers what the body of one op reads: its `read` gives element expressions of tensors
(views are index maps, so a transposed operand is read transposed) and its `scalar` gives unknown
scalars as operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import DType, bfloat16, bool_, float16, float64, int64
from tensorscript.base.errors import NotCompilable, OperatorError
from tensorscript.base.operand_dtypes import unimplemented
from tensorscript.base.source import Span
from tensorscript.dialects.te.expr import Expr, binary, cast, const, load, select, var
from tensorscript.dialects.te.rewriting import substitute, transform, walk
from tensorscript.dialects.te.simplify import simplify as simplify_literals
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import SizeOp
from tensorscript.dialects.tg.names import operand_of
from tensorscript.dialects.tg.types import ScalarType, tensor

from .elements import as_expr, compute_dtype, convert, number
from .heap import Heap
from .scopes import Scopes
from .sizes import product, same_size, simplify
from .values import Storage, Tensor, Value

Indices = tuple[Expr, ...]
_Op = TypeVar("_Op", bound=Operation)


NOT_GENERATED = frozenset({"lgamma", "digamma", "hypot", "asinh", "acosh", "atanh"})
"""Math functions of `te` that the code generators' library lacks."""


class MayShare(NotCompilable):
    """It has to be known which of several tensors one is, see `apart.py`."""


class Body:
    """The operands that the body of one op reads, numbered as they are first read."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.inputs: list[SSAValue] = []

    def operand(self, value: SSAValue) -> str:
        if value not in self.inputs:
            self.inputs.append(value)
        return f"a{self.inputs.index(value)}"

    def read(self, x: Tensor, indices: Sequence[Expr | int], dtype: DType | None = None) -> Expr:
        """Element `indices` of `x`, converted to `dtype` (default: the dtype it computes in)."""
        at = tuple(const(i) if isinstance(i, int) else i for i in indices)
        value, index_map = self.emitter.readable(x)
        if index_map is not None:
            at = tuple(substitute(e, {f"i{d}": i for d, i in enumerate(at)}) for e in index_map)
        element = load(self.operand(value), at, x.dtype)
        return convert(element, dtype or compute_dtype(x.dtype))

    def element(self, x: Tensor, dtype: DType) -> Expr:
        """The only element of a view, read where it lies."""
        assert x.indices is not None
        first = {f"i{d}": const(0) for d in range(x.rank)}
        at = [self.embed(substitute(e, first)) for e in x.indices]
        operand = self.operand(self.emitter.content(x.storage))
        return convert(load(operand, at, x.dtype), dtype)

    def broadcast(
        self,
        x: Tensor,
        indices: Sequence[Expr],
        dtype: DType | None = None,
        shape: Sequence[Expr] | None = None,
    ) -> Expr:
        """Element of `x` broadcast to an iteration space of `indices` (aligned right).

        Args:
            shape: of that space, where a size of `x` that the program finds may turn out to be 1.
        """
        return self.read(x, self.aligned(x.shape, indices, shape), dtype)

    def aligned(
        self, sizes: Sequence[Expr], indices: Sequence[Expr], shape: Sequence[Expr] | None = None
    ) -> list[Expr]:
        """Where sizes broadcast to an iteration space of `indices`: 0 where there is one element.

        Args:
            shape: of that space, as for `broadcast`.
        """
        lead = len(indices) - len(sizes)
        at = [const(0) if s.is_int(1) else i for i, s in zip(indices[lead:], sizes, strict=True)]
        for d, size in enumerate(sizes if shape is not None else ()):
            assert shape is not None
            if self.emitter.may_be_one(size) and not same_size(size, shape[lead + d]):
                one = binary("eq", self.scalar(size, int64), 1)
                at[d] = select(one, const(0), at[d])
        return at

    def scalar(self, value: Value, dtype: DType) -> Expr:
        """A scalar, known or not, in `dtype`. Size expressions stand in the body as they are."""
        if not isinstance(value, Expr):
            return number(value, dtype)
        if value.op == "const":
            return convert(value, dtype)
        if value.dtype is int64 and not any(n.startswith("$") for n in value.free):
            return convert(value, dtype)
        return convert(var(self.operand(self.emitter.scalar_operand(value)), value.dtype), dtype)

    def embed(self, e: Expr) -> Expr:
        """An index expression with scalar names `$k` in it, with those made operands."""
        names = [n for n in e.free if n.startswith("$")]
        if not names:
            return e
        return substitute(
            e,
            {
                n: var(self.operand(self.emitter.scalars[n]), self.emitter.scalar_type(n))
                for n in names
            },
        )


class Emitter:
    """Emits tg ops into `block`; holds the heap, the blocks that were tried, and the scalars and
    sizes named so far.

    Attributes:
        above_one: named sizes that may not be 1 (`take_above_one`).
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.entry = block
        self.prologue: list[Operation] = []
        self.tried: list[Block] = []
        self.scalars: dict[str, SSAValue] = {}
        self.heap = Heap({}, {})
        self.scopes = Scopes()
        self.span: Span | None = None
        self.operator = ""
        self.finds_sizes = True
        self.symbols: dict[str, Expr] = {}
        self.counts: set[str] = set()
        self.taken: set[str] = set()
        self.above_one: set[str] = set()

    # --- refusing ---------------------------------------------------------------------------------

    def error(self, message: str) -> NoReturn:
        """The operator refuses its arguments, in PyTorch's words."""
        raise OperatorError(message, self.span)

    def unimplemented(self, kernel: str, dtype: DType) -> NoReturn:
        """The operator refuses elements of `dtype`, for which PyTorch has no such kernel."""
        raise self.placed(unimplemented(kernel, dtype))

    def placed(self, refusal: OperatorError) -> OperatorError:
        """A refusal, with the place of the operator in the program."""
        return type(refusal)(refusal.message, self.span)

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
        self.block, self.scopes = Block(), Scopes()
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
        if (known := self.scopes.find(key)) is not None:
            return known  # type: ignore[return-value]  # one key, one kind of op
        op = self.emit(make())
        self.scopes.add(key, op)
        return op

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
        """A size that the program finds when it runs. It may be 1; where named ones may not, the
        caller is told (`take_above_one`)."""
        return any(n in self.symbols or n.startswith("$") for n in size.free)

    def may_be_one(self, size: Expr) -> bool:
        """A size that is found, or computed of names as the min(1, N) of `x[:1]`: it may be 1."""
        return self._may_be(size, 1)

    def may_be_zero(self, size: Expr) -> bool:
        """The same of 0, as the N - 1 of `x[1:]`."""
        return self._may_be(size, 0)

    def _may_be(self, size: Expr, number: int) -> bool:
        is_made = size.op not in ("const", "var")
        return self.is_found(size) or (
            is_made and not simplify(binary("eq", size, number)).is_const
        )

    def take_above_one(self, *sizes: Expr) -> None:
        """What follows is right for named sizes that are not 1, which would be broadcast or
        squeezed: with such sizes the program is another one."""
        self.above_one |= {
            str(size.value) for size in sizes if size.op == "var" and not self.is_found(size)
        }

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
                return self._of_sizes(folded if folded.dtype is bool_ else cast(folded, int64))
        body = Body(self)
        wide = bool_ if x.dtype is bool_ else float64 if x.dtype.is_floating_point else int64
        e = body.element(x, wide) if computed else body.read(x, [0] * x.rank, wide)
        op = self.once(("scalar", e, *body.inputs), lambda: tg.ScalarOp(body.inputs, e))
        return self.scalar_of(op.result)

    def _of_sizes(self, e: Expr) -> Expr:
        """A number computed from sizes. Shapes are made of integers: what went through floats is a
        literal now, or a scalar that the program computes."""
        if not any(n.dtype.is_floating_point for n in walk(e)):
            return e
        known = simplify_literals(e, {})
        return known if known.is_const else self.scalar_of(self.scalar_operand(known))

    def _element_of(self, value: SSAValue) -> Expr | None:
        """A 0-dim value as an expression of scalars, None if it reads memory."""
        op = value.owner
        if isinstance(op, tg.ScalarOp) and not op.inputs:
            return op.expr
        if isinstance(value.type, ScalarType):
            return self.scalar_of(value)
        if isinstance(op, tg.ConstantOp):
            return _literal(op)
        if not isinstance(op, tg.PointwiseOp | tg.ViewOp) or op.type.rank:
            return None
        parts = [self._element_of(v) for v in op.inputs]
        if any(p is None for p in parts):
            return None

        def visit(n: Expr) -> Expr | None:
            number = operand_of(n)
            return None if number is None else parts[number]

        return transform(op.expr, visit)

    def _generated(self, e: Expr) -> None:
        """Refuse math that has no code, and math on integers where an operator takes floats."""
        for n in walk(e):
            if n.op != "call" or n.value in ("abs", "isnan", "isinf", "isfinite", "signbit"):
                continue
            if n.value in NOT_GENERATED:
                self.cannot(f"no native code for {n.value}")
            if not n.args[0].dtype.is_floating_point:
                name = self.operator.partition("::")[2].partition(".")[0]
                self.unimplemented(name, n.args[0].dtype)

    def may_share(self, reason: str) -> NoReturn:
        """As `cannot`; perhaps it can where tensors that control flow chooses between are known."""
        raise MayShare(f"{self.operator}: {reason}", self.span)

    def check(self, condition: Value, message: str) -> None:
        """Stop with `message` unless `condition` holds, now or when the program runs."""
        if isinstance(condition, Expr):
            if condition.op != "const":
                self.emit(tg.AssertOp(self.scalar_operand(condition), message))
                return
            condition = condition.value
        if not condition:
            self.error(message)

    def require_same(self, a: Expr, b: Expr, message: str) -> None:
        """Two sizes must be equal."""
        if not same_size(a, b):
            self.check(simplify(binary("eq", a, b)), message)

    def require_unbroadcast(self, a: Expr, b: Expr, message: str) -> None:
        """Two sizes must be equal, where one that is 1 would be broadcast."""
        if not same_size(a, b):
            self.take_above_one(a, b)
            self.require_same(a, b, message)

    def require_alike(self, shape: Sequence[Expr], other: Sequence[Expr], message: str) -> None:
        """Two shapes must be equal."""
        if len(shape) != len(other):
            self.error(message)
        for a, b in zip(shape, other, strict=True):
            self.require_same(a, b, message)

    # --- reading ----------------------------------------------------------------------------------

    def content(self, storage: Storage) -> SSAValue:
        """The elements of a storage at this point of the program."""
        if storage in self.heap.stale:
            self.may_share("reads a tensor that may share memory with one that was written")
        value: SSAValue = self.heap[storage]
        return value

    def readable(self, x: Tensor) -> tuple[SSAValue, Indices | None]:
        """An SSA value and the index map to read `x` through it (None: its own indices).

        A map with divisions is computed once by a view op: an inner loop should not divide.
        """
        value = self.content(x.storage)
        if x.indices is None:
            return value, None
        if any(n.op in ("floordiv", "mod") for e in x.indices for n in walk(e)):
            return self.ssa(x), None
        if any(n.startswith("$") for e in x.indices for n in e.free):
            return self.ssa(x), None
        return value, x.indices

    def ssa(self, x: Tensor) -> SSAValue:
        """`x` as one SSA value with its shape; a view op unless it is a whole storage."""
        value = self.content(x.storage)
        if x.indices is None:
            return value
        body = Body(self)
        name = body.operand(value)
        e = load(name, [body.embed(i) for i in x.indices], x.dtype)
        key = ("view", e, x.shape, *body.inputs)
        return self.once(key, lambda: tg.ViewOp(body.inputs, e, tensor(x.dtype, x.shape))).result


def _literal(op: tg.ConstantOp) -> Expr | None:
    """A constant without dimensions as a number; None for other constants."""
    array, type_ = op.data.data.array, op.result.type
    if array is None or type_.rank or type_.dtype in (float16, bfloat16):
        return None
    return const(array.item(), type_.dtype)
