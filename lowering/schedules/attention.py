"""Attention on a CPU: softmax over blocks of keys between two register-tiled products.

```
for each head and block of queries (parallel):
    for each block of keys (no further than a causal mask lets the queries see):
        pack K into panels kp[j / NR][r][NR], V into panels vp[d / NV][j][NV] (unless V is dense)
        for each panel of MR queries:
            sc[MR][keys]  = rows of Q times kp                        (tiles in registers)
            m' = max(m, max sc);  sc = 2^((sc - m') f);  c = 2^((m - m') f);  l = l * c + sum sc
                                                    (all rows at once: `attention_rows.py`)
            acc[MR][NV]   = acc * c + sc times vp                     (tiles in registers)
    out = acc * r(l)
```
The scores of a panel stay in the first cache, packed keys and values in the second; no matrix of
all scores exists. After Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018),
and Dao et al., "FlashAttention" (2022). Where one block holds all keys there is nothing to carry
from one to the next, and the second product's tile is scaled and stored straight away.

What scales the scores alone waits until their maximum was subtracted: f is that and log2(e). The
maxima leave NaN out, which the powers and so the sums of their rows have anyway.

Where the queries of a panel are, and where they are read, is in `attention_queries.py`. Keys beyond
the last one are zeros that the softmax does not reach.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.expr import Expr, binary, call, const, load, mul, select, var
from tensorscript.dialects.te.ops import (
    AllocOp,
    ForOp,
    FuncOp,
    IfOp,
    LetOp,
    StoreOp,
    UpdateOp,
)
from tensorscript.dialects.te.rewriting import replace_loads, substitute

from ..te.affine import all_buffers, coefficient, flat_index, known
from ..te.lanes import vectorize_map
from .attention_queries import Queries
from .attention_rows import PartsOfRows
from .attention_shape import Attention, scale_of
from .attention_tile import UNKNOWN_KEYS, AttentionBlocking
from .contraction_pack import RowPacker
from .contraction_tile import ceil_div

LOG2E = 1.4426950408889634
TASK_WORK = 1 << 19
"""Multiply-adds worth handing to another thread, about 10 us."""

Statements = list[Operation]


def _visible(score: Expr | None, row: str, key: str) -> Expr | None:
    """How many keys, from the first on, a mask of the form `key <= row + c` shows to a row."""
    if score is None or score.op != "select" or not score.args[2].is_const:
        return None
    condition, _, hidden = score.args
    if condition.op not in ("le", "lt") or hidden.value != float("-inf"):
        return None
    low, high = condition.args
    ahead = high - low
    step, move = coefficient(ahead, key), coefficient(ahead, row)
    if step is None or move is None or not step.is_int(-1) or not move.is_int(1):
        return None
    first = substitute(ahead, {key: const(0)})
    return first + 1 if condition.op == "le" else first


def _named(name: str, value: Expr) -> tuple[Statements, Expr]:
    """A name for a value that is no constant: (its binding, what stands for it)."""
    return ([], value) if value.is_const else ([LetOp(name, value)], var(name))


class _Tiled:
    """Writes the nest of one attention."""

    def __init__(self, func: FuncOp, a: Attention, blocking: AttentionBlocking) -> None:
        self.a, self.buffers = a, all_buffers(func)
        self.dtype = a.result.value.dtype
        self.tile, self.lanes = blocking.tile, blocking.lanes
        # Two vectors of powers at once need the 32 registers of AVX-512.
        self.powers = self.lanes * (2 if self.lanes * self.dtype.itemsize == 64 else 1)
        self.n, self.keys = a.row.size, a.key.size
        self.depth, self.width = int(str(a.depth.size)), int(str(a.column.size))
        self.row, self.key, self.d = a.row.names[0], a.key.names[0], a.column.names[0]
        self.block_rows, self.block_keys = blocking.queries, blocking.keys
        self.blocks = ceil_div(self.n, self.block_rows)
        self.key_blocks = ceil_div(self.keys, self.block_keys)
        self.single = self.key_blocks.is_int(1)
        self.columns = min(self.tile.columns, -(-self.width // self.lanes) * self.lanes)
        self.value_panels = -(-self.width // self.columns)
        factor = scale_of(a)
        self.score = a.score if factor is None else None
        self.exponent = const(LOG2E * (1 if factor is None else factor), self.dtype)
        self.visible = _visible(a.score, self.row, self.key)
        self.dense_values = self._values_are_dense()
        self.parts = PartsOfRows(self.tile.rows, self.lanes, self.dtype)
        self.packer = RowPacker(
            a.k, a.key, a.depth, self.buffers, self.dtype, self.tile.columns, self.lanes
        )
        # What is always 0 or the same is no name, so that the ranges of loops are known.
        self.block = const(0) if self.blocks.is_int(1) else var("qb")
        self.start = const(0) if self.single else var("kb") * self.block_keys
        self.queries = Queries(a, self.buffers, self.dtype, blocking)
        self.naming, self.first = _named("first", self.queries.first(self.block, var("ip")))

    def _values_are_dense(self) -> bool:
        """The rows of V are whole panels, one behind the other: packing would only copy them."""
        v = self.a.v
        if v.op != "load" or self.width % self.columns:
            return False
        position = flat_index(self.buffers[str(v.value)], v.args)
        step, row = coefficient(position, self.d), coefficient(position, self.key)
        return step is not None and step.is_int(1) and row is not None and row.is_int(self.width)

    def _value_at(self, key: Expr, d: Expr) -> Expr:
        return substitute(self.a.v, {self.key: self.start + key, self.d: d})

    # --- the frame --------------------------------------------------------------------------------

    def build(self) -> Statements:
        task, a = var("task"), self.a
        several = not self.blocks.is_int(1)
        head = task // self.blocks if several else task
        lets = [LetOp(name, value) for name, value in a.batch.unflatten(head).items()]
        lets += [LetOp("qb", task % self.blocks)] * several
        frame: dict[str, tuple[int, ...]] = {
            "kp": (self.block_keys // self.tile.columns, self.depth, self.packer.width),
        }
        if not self.dense_values:
            frame["vp"] = (self.value_panels, self.block_keys, self.columns)
        if not self.single:
            frame |= {"acc": (self.block_rows, self.value_panels * self.columns)}
            frame |= dict.fromkeys(("tops", "sums"), (self.most_panels, self.parts.padded))
        body: Statements = [*lets]
        body += [AllocOp(make_buffer(n, self.dtype, s), "stack") for n, s in frame.items()]
        body += self.parts.frame()
        inner = [*self._pack(), ForOp("ip", self.queries.panels(self.block), self._panel())]
        if self.single:
            body += inner
        else:
            body += [*self._clear(), ForOp("kb", self.key_blocks, inner), self._finish()]
        work = self.block_rows * (known(self.keys) or UNKNOWN_KEYS) * (self.depth + self.width)
        total = mul(a.batch.size, self.blocks)
        return [ForOp("task", total, body, "parallel", grain=max(1, TASK_WORK // work))]

    @property
    def most_panels(self) -> int:
        """Panels of queries of a block."""
        return self.block_rows // self.tile.rows

    def _keys_here(self, last_row: Expr) -> Expr:
        """Keys of this block that the rows up to `last_row` see."""
        if self.single and (keys := known(self.keys)) is not None:
            here = const(keys)
        else:
            here = binary("min", const(self.block_keys), self.keys - self.start)
        if self.visible is None:
            return here
        return binary("min", here, substitute(self.visible, {self.row: last_row}) - self.start)

    def _clear(self) -> Statements:
        zero = const(0, self.dtype)
        size = self.block_rows * self.value_panels * self.columns
        rows = self.most_panels * self.parts.padded
        places = (
            ("acc", size, zero),
            ("tops", rows, self.a.floor),
            ("sums", rows, zero),
        )
        out: Statements = []
        for name, count, value in places:
            loop = ForOp(f"z{name}", count, [StoreOp(name, [const(0), var(f"z{name}")], value)])
            out += vectorize_map(loop, 2 * self.lanes)
        return out

    # --- packing ----------------------------------------------------------------------------------

    def _pack(self) -> Statements:
        panel = self.tile.columns
        lets, held = _named("held", self._keys_here((self.block + 1) * self.block_rows - 1))
        first = self.start + var("jp") * panel
        panels = ForOp(
            "jp", ceil_div(held, panel),
            self.packer.panel("kp", var("jp"), first, const(0), const(self.depth)),
        )  # fmt: skip
        if self.dense_values:
            return [*lets, panels]
        d = var("dp") * self.columns + var("dv")
        value = self._value_at(var("jk"), d)
        if self.width % self.columns:
            value = select(d < self.width, value, const(0, self.dtype))
        store = StoreOp("vp", [var("dp"), var("jk"), var("dv")], value)
        lanes = ForOp("dv", self.columns, [store], "vector")
        across = ForOp("dp", self.value_panels, [lanes], "unroll")
        return [*lets, panels, ForOp("jk", held, [across])]

    # --- one panel of queries ---------------------------------------------------------------------

    def _panel(self) -> Statements:
        rows = self.tile.rows
        frame: dict[str, tuple[int, ...]] = {"sc": (rows, self.block_keys + self.lanes)}
        frame |= dict.fromkeys(("peaks", "scale"), (self.parts.padded,))
        lets, seen = _named("seen", self._keys_here(self.first + (rows - 1)))
        work: Statements = [
            *(AllocOp(make_buffer(n, self.dtype, s), "stack") for n, s in frame.items()),
            *self.queries.pack(self.first),
            ForOp("jq", ceil_div(seen, self.tile.columns), self._scores()),
            ForOp("im", rows, self._maxima(seen)),
            *self.parts.finish("m", "greater", self._peak),
            ForOp("ie", rows, self._powers(seen)),
            *self.parts.finish("e", "add", self._scale),
            ForOp("dq", self.value_panels, self._values(seen)),
        ]
        if self.single or self.visible is None:
            return [*self.naming, *lets, *work]
        return [*self.naming, *lets, IfOp(seen > 0, work)]

    def _tile(self, suffix: str, columns: int, inner: Statements) -> Operation:
        """A loop over a register tile, rows unrolled and columns as vectors."""
        lanes = ForOp(f"j{suffix}", columns, inner, "vector")
        return ForOp(f"i{suffix}", self.tile.rows, [lanes], "unroll")

    def _product(self, tile: str, columns: int, x: Expr, y: Expr, depth: Expr) -> Operation:
        """tile[i, j] += x * y over k < depth, in which x stands at (i, k) and y at (k, j)."""
        place = [var(f"i{tile}k"), var(f"j{tile}k")]
        step = UpdateOp(tile, place, "add", x * y)
        outer = self._tile(f"{tile}k", columns, [step])
        return ForOp(f"k{tile}", depth, [outer], reduction=True)

    def _scores(self) -> Statements:
        columns, zero = self.tile.columns, const(0, self.dtype)
        place = [var("is3"), var("jq") * columns + var("js3")]
        done = load("st", [var("is3"), var("js3")], self.dtype)
        keys = load("kp", [var("jq"), var("kst"), var("jstk")], self.dtype)
        queries = self.queries.at(self.first, var("istk"), var("kst"))
        return [
            AllocOp(make_buffer("st", self.dtype, (self.tile.rows, columns)), "reg"),
            self._tile("s0", columns, [StoreOp("st", [var("is0"), var("js0")], zero)]),
            self._product("st", columns, queries, keys, const(self.depth)),
            self._tile("s3", columns, [StoreOp("sc", place, done)]),
        ]

    def _old(self, name: str, row: Expr) -> Expr:
        """Of a row of the panel, over the keys before this block."""
        return load(name, [var("ip"), row], self.dtype)

    def _maxima(self, seen: Expr) -> Statements:
        """The scores of one row mapped, and their maximum in parts."""
        dtype, i, j = self.dtype, var("im"), var("jm")
        score = load("sc", [i, j], dtype)
        body: Statements = [UpdateOp("whole", [], "greater", score)]
        if self.score is not None:
            row = self.queries.row(self.first, i)
            mapped = substitute(self.score, {self.row: row, self.key: self.start + j})
            value = replace_loads(mapped, lambda n: score if n.value == self.a.scores else None)
            body = [
                LetOp("score", value),
                StoreOp("sc", [i, j], var("score", dtype)),
                UpdateOp("whole", [], "greater", var("score", dtype)),
            ]
        return self.parts.reduced(ForOp("jm", seen, body), i, 2 * self.lanes)

    def _peak(self, row: Expr, most: Expr) -> Statements:
        """A row's maximum over all keys so far, a number also where it sees none."""
        old = self.a.floor if self.single else self._old("tops", row)
        return [StoreOp("peaks", [row], binary("greater", most, old))]

    def _power(self, score: Expr, high: Expr) -> Expr:
        return call("decay2", (score - high) * self.exponent)

    def _powers(self, seen: Expr) -> Statements:
        """One row of scores to powers, and their sum in parts."""
        dtype, i, j = self.dtype, var("ie"), var("je")
        powers: Statements = [
            LetOp("power", self._power(load("sc", [i, j], dtype), var("high", dtype))),
            StoreOp("sc", [i, j], var("power", dtype)),
            UpdateOp("whole", [], "add", var("power", dtype)),
        ]
        return [
            LetOp("high", load("peaks", [i], dtype)),
            *self.parts.reduced(ForOp("je", seen, powers), i, self.powers),
        ]

    def _scale(self, row: Expr, part: Expr) -> Statements:
        """What a row of the results, or what there is of them so far, is multiplied by."""
        if self.single:
            return [StoreOp("scale", [row], self._inverse(part))]
        scale, high = var("less", self.dtype), load("peaks", [row], self.dtype)
        place = [var("ip"), row]
        return [
            LetOp("less", self._power(self._old("tops", row), high)),
            StoreOp("scale", [row], scale),
            StoreOp("tops", place, high),
            StoreOp("sums", place, self._old("sums", row) * scale + part),
        ]

    def _inverse(self, total: Expr) -> Expr:
        name = self.a.total
        return replace_loads(self.a.inverse, lambda n: total if n.value == name else None)

    def _values(self, seen: Expr) -> Statements:
        columns, dtype = self.columns, self.dtype
        start: Expr = const(0, dtype)
        if not self.single:
            start = load("acc", self._place("v0"), dtype) * load("scale", [var("iv0")], dtype)
        powers = load("sc", [var("ivtk"), var("kvt")], dtype)
        values = load("vp", [var("dq"), var("kvt"), var("jvtk")], dtype)
        if self.dense_values:
            values = self._value_at(var("kvt"), var("dq") * columns + var("jvtk"))
        done = load("vt", [var("iv3"), var("jv3")], dtype)
        return [
            AllocOp(make_buffer("vt", dtype, (self.tile.rows, columns)), "reg"),
            self._tile("v0", columns, [StoreOp("vt", [var("iv0"), var("jv0")], start)]),
            self._product("vt", columns, powers, values, seen),
            self._store(done) if self.single
            else self._tile("v3", columns, [StoreOp("acc", self._place("v3"), done)]),
        ]  # fmt: skip

    def _place(self, suffix: str) -> list[Expr]:
        """Of an element of the tile in `acc`."""
        row = var("ip") * self.tile.rows + var(f"i{suffix}")
        return [row, var("dq") * self.columns + var(f"j{suffix}")]

    # --- results ----------------------------------------------------------------------------------

    def _result(self, row: Expr, d: Expr, value: Expr, inverse: Expr) -> StoreOp:
        values = {self.a.values: value, self.a.inverse_name: inverse}
        at, store = {self.row: row, self.d: d}, self.a.result
        made = substitute(store.value, at)
        return StoreOp(
            store.buffer,
            [substitute(i, at) for i in store.indices],
            replace_loads(made, lambda n: values.get(str(n.value))),
        )

    def _store(self, done: Expr) -> Operation:
        """The tile of the only block of keys, scaled."""
        row, d = self.first + var("iv3"), self._place("v3")[1]
        body: Statements = [self._result(row, d, done, load("scale", [var("iv3")], self.dtype))]
        if self.width % self.columns:
            body = [IfOp(d < self.width, body)]
        rows: Statements = [ForOp("jv3", self.columns, body, "vector")]
        if not self.queries.are_whole:
            rows = [IfOp(row < self.n, rows)]
        return ForOp("iv3", self.tile.rows, rows, "unroll")

    def _finish(self) -> Operation:
        """The sums over all blocks of keys, scaled, a row at a time."""
        panel, within, d = var("io"), var("iw2"), var("do")
        lets, first = _named("first2", self.queries.first(self.block, panel))
        value = load("acc", [panel * self.tile.rows + within, d], self.dtype)
        store = self._result(first + within, d, value, var("by", self.dtype))
        copy = vectorize_map(ForOp("do", self.width, [store]), 2 * self.lanes)
        by = LetOp("by", self._inverse(load("sums", [panel, within], self.dtype)))
        count: Expr = const(self.tile.rows)
        if not self.queries.are_whole:
            count = binary("min", count, self.n - first)
        rows = ForOp("iw2", count, [by, *copy])
        return ForOp("io", self.queries.panels(self.block), [*lets, rows])


def tiled_attention(func: FuncOp, a: Attention, *blocking: int) -> list[Operation]:
    """The tiled nest of the attention that a function computes (`AttentionBlocking`)."""
    return _Tiled(func, a, AttentionBlocking(*blocking)).build()
