"""Which windows are combined by rows first, and what does that look like?"""

from __future__ import annotations

import io

import pytest
from xdsl.printer import Printer

from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.tg.separate_windows import separate_windows

IMAGE, POOLED = '!tg.tensor<"f32[4, 20, 30]">', '!tg.tensor<"f32[4, 10, 15]">'
BODY = (
    "select((0 < i1 * 2 + r0) & (0 < i2 * 2 + r1),"
    " a0.f32[i0, i1 * 2 + r0 - 1, i2 * 2 + r1 - 1], (-inf).f32)"
)


def program(body: str = BODY, combiner: str = "max", over: str = "3, 3") -> str:
    return (
        '"tg.func"() <{sym_name = "f", argument_names = ["x"], sizes = [], '
        f"input_strides = [unit]}}> ({{\n^bb0(%x: {IMAGE}):\n"
        f'  %o = tg.reduce %x "{combiner}" <"{body}"> over <"{over}"> : ({IMAGE}) -> {POOLED}\n'
        f"  tg.return %o : {POOLED}\n}}) : () -> ()"
    )


def separated(text: str, strict: bool = False) -> str:
    module = parse_module(text)
    for func in functions(module):
        separate_windows(func, strict)
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def test_rows_come_first() -> None:
    lines = [line.strip() for line in separated(program()).split("\n") if "reduce" in line]
    tall = '!tg.tensor<"f32[4, 10, 30]">'
    assert lines == [
        '%0 = tg.reduce %x "max" <"select(0 < i1 * 2 + r0, a0.f32[i0, i1 * 2 + r0 - 1, i2],'
        f' (-inf).f32)"> over <"3"> : ({IMAGE}) -> {tall}',
        '%o = tg.reduce %0 "max" <"select(0 < i2 * 2 + r0, a0.f32[i0, i1, i2 * 2 + r0 - 1],'
        f' (-inf).f32)"> over <"3"> : ({tall}) -> {POOLED}',
    ]


def test_a_value_is_computed_before_rows_are_combined() -> None:
    body = "max(a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1], (0.0).f32)"
    text = separated(program(body, over="3, 2"))
    assert '"max(a0.f32[i0, i1 * 2 + r0, i2], (0.0).f32)"' in text
    assert '"a0.f32[i0, i1, i2 * 2 + r0]"' in text


def test_borders_of_the_identity_are_conditions() -> None:
    inner = "select(0 < i2 * 2 + r1, a0.f32[i0, i1 * 2 + r0 - 1, i2 * 2 + r1 - 1], (-inf).f32)"
    text = separated(program(f"select(0 < i1 * 2 + r0, {inner}, (-inf).f32)"))
    assert text == separated(program())


@pytest.mark.parametrize(
    ("body", "combiner", "over"),
    [
        (BODY.replace("&", "|"), "max", "3, 3"),
        (BODY.replace("i2 * 2 + r1 - 1]", "i2 * 2 + r1 * i1]"), "max", "3, 3"),
        (BODY.replace("-inf", "0.0"), "max", "3, 3"),
        ("a0.f32[i0, i1 * 2 + r0, r1]", "max", "3, 30"),
        ("a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1] * f32(r1)", "max", "3, 3"),
        ("a0.f32[i0, i2 * 2 + r1, i1 * 2 + r0]", "max", "3, 3"),
        ("a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1]", "max", "2, 2"),
        # A border of zeros: the value of place -1 is no place of a row.
        ("select(0 < r1, a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1 - 1], (0.0).f32)", "max", "3, 3"),
        ("a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1]", "mul", "3, 3"),
    ],
)
def test_others_stay(body: str, combiner: str, over: str) -> None:
    assert separated(program(body, combiner, over)).count("tg.reduce") == 1


def test_sums_keep_their_order_in_strict_code() -> None:
    text = program("a0.f32[i0, i1 * 2 + r0, i2 * 2 + r1]", "add")
    assert separated(text).count("tg.reduce") == 2
    assert separated(text, strict=True).count("tg.reduce") == 1
