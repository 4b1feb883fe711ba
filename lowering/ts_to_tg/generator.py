"""The random generator of eager mode as tensors: one stream for a seed, whoever draws from it.

MT19937 (Matsumoto and Nishimura, 1998). The state is one float64 tensor, an argument and a result
of the program: 624 words, how many of them are used, whether a normal number is left over from the
last pair drawn one by one, and that number. A draw copies the words into row 0 of a table, makes
every further block of 624 in the next row from the one before, and reads its words from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorscript.base.dtypes import float32, float64, int64
from tensorscript.dialects.te.expr import Expr, binary, call, cast, const, select

from .branches import branch
from .builder import Builder
from .elements import as_expr, known
from .emission import Body
from .loops import loop
from .sizes import simplify
from .slicing import narrow, select_at
from .values import Storage, Tensor, Value

WORDS, USED, HAS_SPARE, SPARE = 624, 624, 625, 626
"""How many words a block has, and where the other numbers of the state stand."""
STATE_SIZE = 627
SMALL_NORMAL = 16
"""Below this many, normal numbers are drawn one by one in double precision."""


class DrawsNumbers(Exception):
    """The program draws random numbers: the generator's state has to be an argument."""


def _state(b: Builder) -> Tensor:
    """The state as it is now.

    Raises:
        DrawsNumbers: there is none.
    """
    if b.generator is None:
        raise DrawsNumbers
    storage: Storage = b.generator
    return Tensor(storage, storage.shape)


def seed(b: Builder, number: Value, *_: Value) -> None:
    """Start the stream again from a seed."""
    if not isinstance(number, int):
        b.cannot("a seed that is not known")
    key = np.random.RandomState(number & 0xFFFFFFFF).get_state(legacy=False)["state"]["key"]
    start = np.concatenate([key.astype(np.float64), [WORDS, 0.0, 0.0]])
    b.kept.append(start)
    b.write(_state(b), b.literal(start, float64))


def _xor(*parts: Expr) -> Expr:
    out = parts[0]
    for part in parts[1:]:
        out = binary("xor", out, part)
    return out


def _twisted(left: Expr, right: Expr) -> Expr:
    """The upper bit of one word and the others of the next, times the recurrence's matrix."""
    joined = binary("or", binary("and", left, 0x80000000), binary("and", right, 0x7FFFFFFF))
    odd = binary("and", joined, 1).equals(1)
    return _xor(binary("shr", joined, 1), select(odd, const(0x9908B0DF), const(0)))


def _tempered(e: Expr) -> Expr:
    e = _xor(e, binary("shr", e, 11))
    e = _xor(e, binary("and", binary("shl", e, 7), 0x9D2C5680))
    e = _xor(e, binary("and", binary("shl", e, 15), 0xEFC60000))
    return _xor(e, binary("shr", e, 18))


_SPANS = ((0, 227), (227, 454), (454, 623), (623, 624))
"""A block in parts, each of which needs those before it and the block before."""


def _fill_block(b: Builder, table: Tensor, row: Value) -> None:
    """Row + 1 of the table from row `row`."""
    old = select_at(b, table, 0, row)
    new = select_at(b, table, 0, simplify(as_expr(row) + 1))
    for low, high in _SPANS:

        def make(body: Body, i: list[Expr], low: int = low) -> Expr:
            if low == 623:
                at, following = const(low), body.read(new, [0], int64)
            else:
                at = i[0] + low
                following = body.read(old, [at + 1], int64)
            beside = body.read(new, [at - 227], int64) if low else body.read(old, [at + 397], int64)
            return _xor(beside, _twisted(body.read(old, [at], int64), following))

        part = b.compute([high - low], int64, make)
        b.write(narrow(b, new, 0, low, high - low), part)


def draw(b: Builder, count: Expr, used: Expr | None = None) -> Tensor:
    """The next `count` 32-bit words, as int64; the state moves on by `used` of them.

    Args:
        count: a size.
        used: at most `count` (default: all); the words behind it are not determined.
    """
    state = _state(b)
    moved = count if used is None else used
    start = b.item(b.cast(select_at(b, state, 0, USED), int64))
    most = simplify((count + (2 * WORDS - 1)) // WORDS)
    table = b.full([simplify(most + 1), WORDS], 0, int64)
    b.write(select_at(b, table, 0, 0), b.cast(narrow(b, state, 0, 0, WORDS), int64))
    last = b.unsized(simplify(start + moved - 1))
    blocks = b.shortened(known(select(b.unsized(moved) > 0, last // WORDS, const(0))))

    def step(arguments: Sequence[Value]) -> list[Value]:
        row = arguments[0]
        if isinstance(row, Expr) and row.op == "var":
            b.bounds.setdefault(str(row.value), most)
        _fill_block(b, table, row)
        return [True]

    loop(b, blocks, True, [], step, 64)
    words = b.compute(
        [count],
        int64,
        lambda body, i: _word(body, table, i[0], start),
    )
    _advance(b, state, table, blocks, start, moved)
    return words


def _word(body: Body, table: Tensor, k: Expr, start: Expr) -> Expr:
    at = body.scalar(start, int64) + k
    return _tempered(body.read(table, [at // WORDS, at % WORDS], int64))


def _advance(
    b: Builder, state: Tensor, table: Tensor, blocks: Value, start: Expr, moved: Expr
) -> None:
    used = b.unsized(simplify(start + moved)) - as_expr(blocks) * WORDS
    row = select_at(b, table, 0, blocks)
    b.write(narrow(b, state, 0, 0, WORDS), b.cast(row, float64))
    b.write(narrow(b, state, 0, USED, 1), b.full([1], known(used), float64))


# --- numbers --------------------------------------------------------------------------------------


def _double(body: Body, words: Tensor, k: Expr) -> Expr:
    """53 bits of words 2k and 2k + 1 as a number in [0, 1)."""
    high = binary("and", body.read(words, [k * 2], int64), (1 << 21) - 1)
    bits = binary("or", binary("shl", high, 32), body.read(words, [k * 2 + 1], int64))
    return cast(bits, float64) * 2.0**-53


def _single(body: Body, words: Tensor, k: Expr) -> Expr:
    """24 bits of word k as a number in [0, 1)."""
    return cast(binary("and", body.read(words, [k], int64), (1 << 24) - 1), float32) * 2.0**-24


def uniform(b: Builder, count: Expr, double: bool, used: Expr | None = None) -> Tensor:
    """`count` numbers in [0, 1), of which `used` count as drawn: float64 if `double`, else
    float32."""
    per = 2 if double else 1
    moved = None if used is None else simplify(used * per)
    words = draw(b, simplify(count * per), moved)
    read = _double if double else _single
    return b.compute(
        [count], float64 if double else float32, lambda body, i: read(body, words, i[0])
    )


def normal(b: Builder, count: Expr, double: bool) -> Tensor:
    """`count` standard normal numbers, by Box and Muller's transform: float64 if `double` or few,
    else float32."""
    if count.op == "const":
        few = int(str(count.value)) < SMALL_NORMAL
        return _few_normal(b, count) if few else _many_normal(b, count, double)
    dtype = float64 if double else float32

    def side(make: Value) -> Value:
        return lambda _: [b.cast(make(), dtype)]

    (found,) = branch(
        b,
        binary("lt", b.unsized(count), SMALL_NORMAL),
        side(lambda: _few_normal(b, count)),
        side(lambda: _many_normal(b, count, double)),
    )
    made: Tensor = found
    return made


def _many_normal(b: Builder, count: Expr, double: bool) -> Tensor:
    """Blocks of 16: the first 8 uniforms give radii, the last 8 angles. The last 16 numbers are of
    a block of their own if there is a rest."""
    dtype = float64 if double else float32
    rest = simplify(count % 16)
    extra = simplify(select(binary("ne", rest, 0), const(16), const(0)))
    numbers = uniform(b, simplify(count + 16), double, simplify(count + extra))

    def make(body: Body, i: list[Expr]) -> Expr:
        in_tail = binary("and", binary("ne", rest, 0), binary("ge", i[0], count - 16))
        within = select(in_tail, i[0] - (count - 16), i[0] % 16)
        first = select(in_tail, count, i[0] - i[0] % 16) + within % 8
        one = const(1, dtype)
        radius = call("sqrt", call("log", one - body.read(numbers, [first], dtype)) * -2.0)
        turn = body.read(numbers, [first + 8], dtype) * (2 * 3.141592653589793)
        return radius * select(within < 8, call("cos", turn), call("sin", turn))

    return b.compute([count], dtype, make)


def _few_normal(b: Builder, count: Expr) -> Tensor:
    """One by one: each pair of uniforms gives two, and the second may be left for later."""
    state = _state(b)
    has = b.item(b.cast(select_at(b, state, 0, HAS_SPARE), int64))
    spare = b.item(select_at(b, state, 0, SPARE))
    pairs = b.shortened(known((b.unsized(count) - has + 1) // 2))
    numbers = uniform(b, const(SMALL_NORMAL + 2), True, as_expr(pairs) * 2)

    def one(body: Body, k: Expr) -> Expr:
        """The k-th of the pairs; before the first the one that was left."""
        pair = binary("max", k // 2, 0)
        radius = call("sqrt", call("log1p", -body.read(numbers, [pair * 2 + 1], float64)) * -2.0)
        turn = body.read(numbers, [pair * 2], float64) * (2 * 3.141592653589793)
        made = radius * select((k % 2).equals(0), call("cos", turn), call("sin", turn))
        return select(binary("lt", k, 0), body.scalar(spare, float64), made)

    out = b.compute(
        [count],
        float64,
        lambda body, i: one(body, binary("min", i[0], SMALL_NORMAL - 1) - body.scalar(has, int64)),
    )
    left = b.shortened(known((b.unsized(count) - has) % 2))
    index = b.shortened(known(b.unsized(count) - has))
    kept = b.compute([1], float64, lambda body, i: one(body, body.scalar(index, int64)))
    b.write(narrow(b, state, 0, HAS_SPARE, 1), b.full([1], left, float64))
    b.write(narrow(b, state, 0, SPARE, 1), kept)
    return out


def integers(b: Builder, low: Value, high: Value, count: Expr) -> Tensor:
    """`count` int64 in [low, high)."""
    span = known(as_expr(high) - as_expr(low))
    if isinstance(span, int) and span >= 1 << 32:
        b.cannot("random integers over more than 32 bits")
    if not isinstance(span, int):
        b.check(known(binary("lt", span, 1 << 32)), "random integers over more than 32 bits")
    words = draw(b, count)

    def make(body: Body, i: list[Expr]) -> Expr:
        e = body.read(words, [i[0]], int64)
        return e % body.scalar(span, int64) + body.scalar(low, int64)

    return b.compute([count], int64, make)


def permutation(b: Builder, n: Expr) -> Tensor:
    """A random order of 0 .. n - 1 (Fisher and Yates)."""
    words = draw(b, simplify(binary("max", n - 1, 0)))
    out = b.compute([n], int64, lambda body, i: i[0])

    def step(arguments: Sequence[Value]) -> list[Value]:
        here = arguments[0]
        word = b.item(select_at(b, words, 0, here))
        there = b.shortened(known(as_expr(here) + word % (b.unsized(n) - as_expr(here))))
        pair = [b.item(select_at(b, out, 0, at)) for at in (here, there)]
        b.write(select_at(b, out, 0, here), b.full((), pair[1], int64))
        b.write(select_at(b, out, 0, there), b.full((), pair[0], int64))
        return [True]

    loop(b, known(b.unsized(simplify(binary("max", n - 1, 0)))), True, [], step, 64)
    return out
