"""What rows of linear algebra share: checks in PyTorch's words, and stacks of matrices.

A stack is (B, m, n) in float64 or complex128, whatever the dtype and the leading dimensions of what
it was made of. An algorithm runs on all matrices of a stack at once, one step of all of them an
operation.
"""

from __future__ import annotations

from tensorscript.base.dtypes import DType, complex128, float64, int64, real_dtype
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, binary, const, select

from .builder import Builder
from .complex_tensors import AnyTensor, complex_of, converted
from .emission import Body
from .matrix_elements import read
from .matrix_elements import square as length_squared
from .sizes import product
from .slicing import select_at
from .values import ComplexTensor, Tensor


@dataclass(frozen=True)
class Stack:
    """Matrices: `data` (B, m, n), and what they came from: leading dimensions and dtype."""

    data: AnyTensor
    lead: tuple[Expr, ...]
    dtype: DType

    @property
    def count(self) -> Expr:
        return self.data.shape[0]

    @property
    def rows(self) -> Expr:
        return self.data.shape[1]

    @property
    def columns(self) -> Expr:
        return self.data.shape[2]

    def back(self, b: Builder, found: AnyTensor, dtype: DType | None = None) -> AnyTensor:
        """A result (B, ...) with the leading dimensions and the dtype: of real results of complex
        matrices that of their parts."""
        own = self.dtype if isinstance(found, ComplexTensor) else real_dtype(self.dtype)
        shape = [*self.lead, *found.shape[1:]]
        return converted(b, b.apply("aten::reshape", found, shape), dtype or own)


def matrix(b: Builder, x: AnyTensor, name: str, narrow: bool = False) -> Stack:
    """The stack of a matrix or of a batch of them; of half types only if `narrow`."""
    if x.rank < 2:
        b.error(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        b.error(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.word}")
    if x.dtype.bits < 32 and not narrow:
        b.unimplemented(name, x.dtype)
    lead = x.shape[:-2]
    flat = b.apply("aten::reshape", x, [product(lead), *x.shape[-2:]])
    wide = complex128 if x.dtype.is_complex else float64
    return Stack(converted(b, flat, wide), lead, x.dtype)


def square(b: Builder, x: AnyTensor, name: str, narrow: bool = False) -> Stack:
    found = matrix(b, x, name, narrow)
    b.require_same(
        x.shape[-1],
        x.shape[-2],
        f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by"
        f" {x.shape[-1]} matrices",
    )
    return found


def beside(b: Builder, a: AnyTensor, x: AnyTensor, name: str) -> tuple[Stack, Stack]:
    """Two operands with their leading dimensions broadcast; `a` is square."""
    b.require_same(
        a.shape[-1],
        x.shape[-2],
        f"{name}: Incompatible shapes of A and B for the equation AX = B"
        f" ({a.shape[-2]}x{a.shape[-1]} and {x.shape[-2]}x{x.shape[-1]})",
    )
    lead = list(b.broadcast_shapes(a.shape[:-2], x.shape[:-2]))
    wide = [b.apply("aten::expand", t, [*lead, *t.shape[-2:]]) for t in (a, x)]
    return square(b, wide[0], name), matrix(b, wide[1], name)


def transposed(b: Builder, x: AnyTensor) -> AnyTensor:
    return b.apply("aten::transpose", x, -1, -2)


def identity(b: Builder, count: Expr, n: Expr, dtype: DType = float64) -> Tensor:
    """A stack of identity matrices."""
    one, zero = const(1, dtype), const(0, dtype)
    return b.compute([count, n, n], dtype, lambda body, i: select(i[1].equals(i[2]), one, zero))


def identity_like(b: Builder, x: AnyTensor, n: Expr) -> AnyTensor:
    """A stack of identity matrices of order n, as many as in `x` and real or complex as it is."""
    found = identity(b, x.shape[0], n)
    return complex_of(b, found, complex128) if isinstance(x, ComplexTensor) else found


def diagonal(b: Builder, x: AnyTensor) -> AnyTensor:
    return b.apply("aten::diagonal", x, 0, -2, -1)


MOST_PLACES = 64
"""So many places are told apart in a message."""


def refuse_nan(b: Builder, a: Stack, message: str) -> None:
    """Stop where a matrix has NaN, at which the iterations of LAPACK give up.

    Args:
        message: with `{batch}`, as in `refuse`.
    """

    def unknown(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        e = length_squared(read(body, a.data, [i[0], *r]))
        return select(binary("ne", e, e), const(1, int64), const(0, int64))

    info = b.reduce([a.count], [a.rows, a.columns], int64, "max", unknown)
    refuse(b, info, const(1), message, bool(a.lead))


def refuse(b: Builder, info: Tensor, n: Expr, message: str, is_batch: bool) -> None:
    """Stop where a matrix's number in `info` (B,) is not 0, with a message that says where.

    Args:
        message: with `{batch}` and `{at}`, which a large stack leaves out.
    """
    sizes = (info.shape[0], n)
    if all(s.op == "const" for s in sizes):
        count, order = (int(str(s.value)) for s in sizes)
        if count * order <= MOST_PLACES:
            for k in range(count):
                found = b.item(select_at(b, info, 0, k))
                batch = f"(Batch element {k}): " if is_batch else ""
                for at in range(1, order + 1):
                    text = message.format(batch=batch, at=at)
                    b.check(binary("ne", found, at), text)
            return
    fine = b.item(b.apply("aten::all", b.apply("aten::eq", info, 0)))
    b.check(fine, " ".join(message.format(batch="", at="").split()))
