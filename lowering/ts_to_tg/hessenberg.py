"""Similar matrices of Hessenberg form, of stacks of square matrices: 0 below the first subdiagonal.

Reflection k takes what stands below row k + 1 from column k, from both sides of the matrix (gehd2;
Golub and Van Loan, Matrix Computations, 7.4.3).
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import float64
from tensorscript.dialects.te.expr import Expr, binary, const

from .builder import Builder
from .complex_tensors import AnyTensor
from .elements import as_expr, known
from .emission import Body
from .factors import Column, trips
from .loops import loop
from .matrices import identity_like
from .matrix_elements import (
    Number,
    chosen,
    made,
    only,
    read,
)
from .reflections import from_right, reflection, reflector
from .sizes import simplify
from .values import Value

_ZERO, _ONE = const(0.0, float64), const(1.0, float64)


def reduced(b: Builder, a: AnyTensor, wants_vectors: bool) -> tuple[AnyTensor, AnyTensor]:
    """H and Q of A = Q H Q^H; without vectors Q is of no rows."""
    count, n, _ = a.shape

    def step(arguments: Sequence[Value]) -> list[Value]:
        number, h, q = arguments
        k = Column(number)

        def below(body: Body, i: list[Expr]) -> Number:
            return only(i[1] > k.at(body), read(body, h, [i[0], i[1], k.at(body)]))

        found = reflector(b, made(b, a, [count, n], below), Column(known(as_expr(number) + 1)))
        after = reflection(b, found.entries, found.tau, h, turned=True)

        def cleared(body: Body, i: list[Expr]) -> Number:
            here, old = k.at(body), read(body, after, i)
            corner = body.read(found.beta, i[:1], float64)
            column = chosen(i[1].equals(here + 1), corner, only(i[1] <= here, old))
            return chosen(i[2].equals(here), column, old)

        turned = from_right(b, made(b, a, a.shape, cleared), found.entries, found.tau)
        return [True, turned, from_right(b, q, found.entries, found.tau)]

    rows = n if wants_vectors else const(0)
    one = identity_like(b, a, n)
    start = made(b, a, [count, rows, n], lambda body, i: read(body, one, i))
    h, q = loop(b, trips(simplify(binary("max", n - 2, 0))), True, [a, start], step, 64)
    return h, q
