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

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


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
        if x.dtype.bits < 32 or not x.dtype.is_floating_point:
            b.error("quantile() input tensor must be either float or double dtype")
        if method not in _METHODS:
            b.error(
                "quantile() interpolation must be one of linear, lower, higher, midpoint or"
                f" nearest, but got {method}"
            )
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
    line = b.apply("aten::movedim", x, d, -1)
    wide = compute_dtype(x.dtype)
    size = line.shape[-1]

    def same(p: Expr, q: Expr) -> Expr:
        if not p.dtype.is_floating_point:
            return p.equals(q)
        return binary("or", p.equals(q), binary("and", call("isnan", p), call("isnan", q)))

    def counted(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        pair = [body.read(line, at, wide) for at in (i, [*i[:-1], r[0]])]
        return select(same(*pair), const(1), const(0))

    counts = b.reduce(line.shape, [size], int64, "add", counted)
    ordered, order = b.call("aten::sort.stable", line, True, -1, False)
    most = b.apply("aten::amax", counts, [-1], True)

    def first_of_most(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        """In sorted order, the first whose value is as frequent as any."""
        at = body.read(order, [*i, r[0]], int64)
        hit = body.read(counts, [*i, at], int64).equals(body.read(most, [*i, 0], int64))
        return select(hit, r[0], size)

    first = b.reduce(line.shape[:-1], [size], int64, "min", first_of_most)

    def last_place(body: Body, i: list[Expr], r: list[Expr]) -> Expr:
        chosen = body.read(ordered, [*i, body.read(first, i, int64)], wide)
        return select(same(body.read(line, [*i, r[0]], wide), chosen), r[0], const(-1))

    places = b.reduce(line.shape[:-1], [size], int64, "max", last_place)
    index = b.apply("aten::unsqueeze", places, d)
    values = b.apply("aten::gather", x, d, index)
    if keepdim:
        return values, index
    return b.apply("aten::squeeze", values, d), places


STATISTIC: Rows = {
    "aten::quantile": _quantile(ignore_nan=False),
    "aten::nanquantile": _quantile(ignore_nan=True),
    "aten::mode": _mode,
}
