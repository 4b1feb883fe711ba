"""Does the simplifier keep values, and does it reach the forms that schedules rely on?"""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscript.base.dtypes import bool_, float32, int32, int64
from tensorscript.base.errors import NotKnown
from tensorscript.dialects.te.expr import (
    Expr,
    binary,
    bitcast,
    cast,
    const,
    load,
    select,
    unary,
    var,
)
from tensorscript.dialects.te.expr_parse import parse
from tensorscript.dialects.te.expr_text import text
from tensorscript.dialects.te.ranges import SIZE, Interval, inside_loop, loop_interval, prove
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.te.simplify import simplify

RANGES = {
    "N": Interval(0, None),
    "M": Interval(1, None),
    "i": Interval(0, 7),
    "j": Interval(0, 3),
    "k": Interval(-5, 20),
    "n": Interval(0, None, (), (parse("N - 1"),)),
    "m": Interval(0, None, (), (parse("M - 1"),)),
    "q": Interval(0, None, (), (parse("M * 2 - 1"),)),
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("i // 8", "0"),
        ("i % 8", "i"),
        ("i // 4 * 4 + i % 4", "i"),
        ("(k * 8 + i) // 8", "k"),
        ("(k * 8 + i) % 8", "i"),
        ("(n * M + m) // M", "n"),
        ("(n * M + m) % M", "m"),
        ("(k // M) * M + k % M", "k"),
        ("(k * M * 2 + m) // (M * 4)", "k // 2"),
        ("(k * M * 2 + m) % (M * 4)", "M * (k % 2) * 2 + m"),
        ("(k * M * 2 + q) // (M * 4)", "k // 2"),
        ("q // 2 // M", "0"),
        ("q // 2 % M", "q // 2"),
        ("k // 4 // 3", "k // 12"),
        ("k % 12 % 4", "k % 4"),
        ("(k // 4) % 3 * 4 + k % 4", "k % 12"),
        ("(k * 16 + j * 4 + 3) // 8", "k * 2 + j // 2"),
        ("(k * 4 + j) // 8", "k // 2"),
        ("(k * 4 + j) % 8", "k % 2 * 4 + j"),
        ("3 + i - 3 - i", "0"),
        ("(k + 8) // 8", "k // 8 + 1"),
        ("(k - 1) * 2 + 2", "k * 2"),
        ("min(i, 7)", "i"),
        ("max(j, 3)", "3"),
        ("min(i, 9 + n)", "i"),
        ("n < N", "True"),
        ("n * M + m < N * M", "True"),
        ("i * 8 < 13", "i < 2"),
        ("~(i < 3)", "2 < i"),
        ("select(i < 8, k, 3)", "k"),
        ("(k // M * M * 3 + k % M * 3)", "k * 3"),
        ("(N // 8) * 8 <= N", "True"),
        ("x.i64[i] + 1 > x.i64[i]", "x.i64[i] + 1 > x.i64[i]"),
        ("x.i64[0] % 8 < 8", "True"),
        ("(i < 8) & (k < 3)", "k < 3"),
        ("i64(sqrt((64.0).f32)) + 1", "9"),
        ("i64(ceil((2.25).f64)) * 2", "6"),
        ("exp((0.0).f32)", "exp((0.0).f32)"),
    ],
)
def test_forms(before: str, after: str) -> None:
    assert text(simplify(parse(before), RANGES)) == after


def test_split_tail_is_inside() -> None:
    ranges = {"N": Interval(0, None)}
    ranges = inside_loop("o", const(0), parse("N // 8"), ranges)
    ranges = inside_loop("q", const(0), const(8), ranges)
    assert prove(parse("o * 8 + q < N"), ranges) is True
    assert prove(parse("o * 8 + q >= 0"), ranges) is True
    assert prove(parse("o * 8 + q < N - 1"), ranges) is None
    inner = {**ranges, "t": loop_interval(const(0), parse("min(8, N - o * 8)"), ranges)}
    assert prove(parse("o * 8 + t < N"), inner) is True
    assert prove(parse("t < 8"), inner) is True
    assert prove(parse("k < N"), {**ranges, "k": Interval()}, [parse("k + 1 < N")]) is True
    assert prove(parse("t < 8"), {**ranges, "t": SIZE}, [parse("t < min(N, 8)")]) is True
    assert prove(parse("t < N"), {**ranges, "t": SIZE}, [parse("t < min(N, 8)")]) is True
    assert prove(parse("t < 7"), {**ranges, "t": SIZE}, [parse("t < min(N, 8)")]) is None
    assert prove(parse("min(4, N - o * 8) // 2 >= 0"), ranges) is True
    assert prove(parse("min(4, N - o * 9) // 2 >= 0"), ranges) is None
    beyond = {**ranges, "t": SIZE}
    assert prove(parse("N // 8 * 8 + t < N"), beyond, [parse("t < N % 8")]) is True
    assert prove(parse("N // 8 * 8 + t < N - 1"), beyond, [parse("t < N % 8")]) is None
    assert prove(parse("N // 4 * 4 + t < N"), beyond, [parse("t < N % 8")]) is None


def test_names_in_chains_deeper_than_the_stack() -> None:
    chain = var("a")
    for _ in range(2 * sys.getrecursionlimit()):
        chain = chain * 3 + var("b")
    assert chain.free == {"a", "b"}


NAMES = ("a", "b", "c", "N")


def _index(depth: int = 4) -> st.SearchStrategy[Expr]:
    leaf = st.one_of(
        st.sampled_from([var(n) for n in NAMES]), st.integers(-9, 17).map(lambda v: const(v))
    )

    def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        arithmetic = st.builds(
            binary, st.sampled_from(["add", "sub", "mul", "min", "max"]), inner, inner
        )
        divisor = st.one_of(
            st.integers(1, 12).map(const),
            st.sampled_from([-4, -1, 1, 1, 2, 4, 6]).map(lambda k: var("N") * k),
        )
        division = st.builds(binary, st.sampled_from(["floordiv", "mod"]), inner, divisor)
        compare = st.builds(binary, st.sampled_from(["lt", "le", "eq", "ne", "ge"]), inner, inner)
        chosen = st.builds(select, compare, inner, inner)
        return st.one_of(arithmetic, arithmetic, division, division, chosen)

    return st.recursive(leaf, extend, max_leaves=12)


def evaluate(e: Expr, values: dict[str, int]) -> int | bool:
    args = [evaluate(a, values) for a in e.args]
    table = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "min": min, "max": max, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
        "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
        "select": lambda c, a, b: a if c else b, "neg": lambda a: -a, "not": lambda a: not a,
        "and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b,
    }  # fmt: skip
    if e.op == "const":
        return e.value  # type: ignore[return-value]
    if e.op == "var":
        return values[str(e.value)]
    return table[e.op](*args)  # type: ignore[operator]


@settings(max_examples=400, deadline=None)
@given(_index(), st.data())
def test_values_are_kept(e: Expr, data: st.DataObject) -> None:
    ranges = {
        "N": Interval(1, None),
        "a": Interval(0, None, (), (parse("N - 1"),)),
        "b": Interval(0, 7),
        "c": Interval(-4, 11),
    }
    simple = simplify(e, ranges)
    assert simplify(simple, ranges) is simple
    for _ in range(6):
        n = data.draw(st.integers(1, 20))
        values = {"N": n, "a": data.draw(st.integers(0, n - 1))}
        values |= {"b": data.draw(st.integers(0, 7)), "c": data.draw(st.integers(-4, 11))}
        assert evaluate(e, values) == evaluate(simple, values), text(simple)


def test_floats_are_not_reassociated() -> None:
    x = var("x", float32)
    three = (x + 1.0) + 2.0
    assert simplify(three, {}) is three
    assert simplify((const(1.0, float32) + 2.0) * x, {}) is const(3.0, float32) * x
    zero = x + 0.0
    assert simplify(zero, {}) is zero
    assert simplify(x * 1.0, {}) is x
    assert simplify(binary("sub", x, x), {}).op == "sub"


def test_narrow_integers_wrap() -> None:
    e = binary("add", const(2**31 - 1, int32), const(1, int32))
    assert simplify(e, {}) is const(-(2**31), int32)
    assert simplify(cast(const(2.7, float32), int64), {}) is const(2)
    assert (
        simplify(binary("and", unary("not", const(False, bool_)), var("p", bool_)), {}).op == "var"
    )


def test_bits_of_another_dtype() -> None:
    one = bitcast(const(1.0, float32), int32)
    assert text(one) == "bits_i32((1.0).f32)" and parse(text(one)) is one
    assert simplify(one, {}) is const(0x3F800000, int32)
    x = var("x", float32)
    assert bitcast(bitcast(x, int32), float32) is x
    with pytest.raises(TypeError, match="the bits of"):
        bitcast(x, int64)


def test_loaded_indices_are_data() -> None:
    e = load("x", [parse("i // 8 + k - k")], float32)
    assert text(simplify(e, RANGES)) == "x.f32[0]"


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        (var("i") * 16 + var("j"), {"i": const(0), "j": var("i")}, "i"),
        (var("i") * var("j") + var("k"), {"i": var("k"), "j": const(1), "k": const(0)}, "k"),
        (var("i") + var("j"), {"i": var("j"), "j": var("i")}, "j + i"),
    ],
)
def test_substitution_is_of_all_variables_at_once(
    before: Expr, values: dict[str, Expr], after: str
) -> None:
    assert text(substitute(before, values)) == after


@pytest.mark.parametrize(("x", "y"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (0, 5)])
def test_division_towards_zero_folds(x: int, y: int) -> None:
    quotient, rest = (binary(op, const(x), const(y)) for op in ("truncdiv", "truncmod"))
    assert quotient.is_int(int(x / y)) and rest.is_int(x - y * int(x / y))


@pytest.mark.parametrize("known", [True, False])
def test_a_literal_decides_a_condition_when_it_is_made(known: bool) -> None:
    """Loops that are unrolled as text put numbers for their variables, and nobody simplifies
    afterwards: a guard that stays is a branch in the code."""
    guard = parse("(i < 4) & (0 < k)")
    assert substitute(guard, {"i": const(0 if known else 9)}) is (
        parse("0 < k") if known else const(False, bool_)
    )
    other = parse("(i < 4) | (0 < k)")
    assert substitute(other, {"i": const(0 if known else 9)}) is (
        const(True, bool_) if known else parse("0 < k")
    )
    assert unary("not", const(known, bool_)) is const(not known, bool_)


def test_whether_a_number_is_equal_only_the_running_program_knows() -> None:
    assert const(3) == 3 and const(3) != 4 and const(True) == 1
    assert var("n") == var("n") and var("n") != var("m") and var("n") != "n"
    for number in (0, 1.0, True):
        with pytest.raises(NotKnown):
            assert var("n") == number
        with pytest.raises(NotKnown):
            assert var("n") in (number, None)
