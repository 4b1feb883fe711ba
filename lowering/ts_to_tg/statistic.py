"""Rows of quantiles and of the most frequent value."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.base.dtypes import bool_, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .builder import Builder, Rows
from .dims import dimension
from .elements import compute_dtype, known
from .emission import Body
from .values import Tensor, Value


def _between(low: Expr, high: Expr, part: Expr, method: str) -> Expr:
    """Of neighbours, the value that a method puts `part` of the way from one to the other."""
    match method:
        case "lower":
            return low
        case "higher":
            return select(part > 0, high, low)
        case "midpoint":
            return select(part > 0, (low + high) * 0.5, low)
        case "nearest":
            # A tie goes to the even place, which the caller makes `part` tell.
            return select(part > 0.5, high, low)
    # As NumPy's: from the nearer end.
    gap = high - low
    return select(part < 0.5, low + gap * part, high - gap * (1 - part))


def _quantile(ignore_nan: bool) -> Callable[..., Tensor]:
    def row(
        b: Builder,
        x: Tensor,
        q: Value,
        dim: Value = None,
        keepdim: Value = False,
        method: Value = "linear",
        *_: Value,
    ) -> Tensor:
        b.check(b.call("aten::numel", x) > 0, "quantile() input tensor must be non-empty")
        places = q if isinstance(q, Tensor) else b.full((), q, x.dtype)
        inside = b.pointwise(
            lambda e: binary("and", binary("ge", e, 0), binary("le", e, 1)), places, dtype=bool_,
            compute=x.dtype,
        )  # fmt: skip
        b.check(
            known(b.item(b.apply("aten::all", inside))),
            "quantile() q values must be in the range [0, 1]",
        )
        flat = dim is None or not x.rank
        d = x.rank - 1 if flat else dimension(b, dim, x.rank)
        line = b.apply("aten::reshape", x, [-1]) if flat else b.apply("aten::movedim", x, d, -1)
        found = _of_lines(b, line, places, method, ignore_nan)
        if keepdim:
            ones = [const(1) if flat or k == d else s for k, s in enumerate(x.shape)]
            return b.apply("aten::reshape", found, [*places.shape, *ones])
        return found

    return row


def _of_lines(b: Builder, x: Tensor, q: Tensor, method: str, ignore_nan: bool) -> Tensor:
    """(*q, *lead): of each line along the last dimension. NaN sorts last, so that a line's last
    element tells of one."""
    ordered = b.call("aten::sort", x, -1, False)[0]
    size, dtype = x.shape[-1], x.dtype
    lead = list(x.shape[:-1])
    full = b.apply("aten::isnan", x)
    counts = b.apply("aten::sum.dim_IntList", b.apply("aten::logical_not", full), [-1])
    rank = q.rank

    def make(body: Body, i: list[Expr]) -> Expr:
        outer, inner = i[:rank], i[rank:]
        count = body.read(counts, inner, int64) if ignore_nan else size
        place = body.broadcast(q, outer, dtype) * cast(binary("max", count - 1, 0), dtype)
        first = call("floor", place)
        low = binary("min", binary("max", cast(first, int64), 0), size - 1)
        high = binary("min", low + 1, binary("max", count - 1, 0))
        part = place - first
        if method == "nearest":
            even = (low % 2).equals(0)
            tie = part.equals(0.5)
            part = select(tie, select(even, const(0.0, dtype), const(1.0, dtype)), part)
        ends = [body.read(ordered, [*inner, at], dtype) for at in (low, high)]
        value = _between(ends[0], ends[1], part, method)
        if ignore_nan:
            return value
        last = body.read(ordered, [*inner, size - 1], dtype)
        return select(call("isnan", last), last, value)

    return b.compute([*q.shape, *lead], dtype, make)


def _mode(b: Builder, x: Tensor, dim: Value = -1, keepdim: Value = False, *_: Value) -> Value:
    """The most frequent value (the smallest of several) and its last place."""
    d = dimension(b, dim, x.rank)
    if not x.rank:
        return b.copied(x), b.full((), 0, int64)
    ordered, order = b.call(
        "aten::sort.stable", b.apply("aten::movedim", x, d, -1), True, -1, False
    )
    wide = compute_dtype(x.dtype)

    def run_start(body: Body, i: list[Expr]) -> Expr:
        """The element's place where it differs from the one before it, else 0."""
        pair = [body.read(ordered, [*i[:-1], at], wide) for at in (i[-1], i[-1] - 1)]
        return select(i[-1] > 0, select(_same(*pair), const(0), i[-1]), const(0))

    starts = b.compute(ordered.shape, int64, run_start)
    run, _ = b.call("aten::cummax", starts, -1)

    def before(body: Body, i: list[Expr]) -> Expr:
        return i[-1] - body.read(run, i, int64)

    # Ends of the longest runs come first in them, that of the smallest value first of all; and
    # where equal elements keep their order, a run ends with the last place.
    end = b.apply("aten::argmax", b.compute(ordered.shape, int64, before), -1, True)
    index = b.apply("aten::movedim", b.apply("aten::gather", order, -1, end), -1, d)
    values = b.apply("aten::gather", x, d, index)
    if keepdim:
        return values, index
    return b.apply("aten::squeeze", values, d), b.apply("aten::squeeze", index, d)


def _same(p: Expr, q: Expr) -> Expr:
    """Whether two elements are one value; all NaN are."""
    if not p.dtype.is_floating_point:
        return p.equals(q)
    return binary("or", p.equals(q), binary("and", call("isnan", p), call("isnan", q)))


STATISTIC: Rows = {
    "aten::quantile": _quantile(ignore_nan=False),
    "aten::nanquantile": _quantile(ignore_nan=True),
    "aten::mode": _mode,
}
