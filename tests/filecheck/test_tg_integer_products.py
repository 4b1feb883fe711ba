"""Which products become products of bytes, and what do constants fold to?"""

from __future__ import annotations

import io

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.pipeline import PASSES
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.tg.channels_last import channels_last
from tensorscript.lowering.tg.fold_constants import fold_constants
from tensorscript.lowering.tg.inline_producers import inline_producers
from tensorscript.lowering.tg.integer_products import integer_products

DEPTH = 16


def tensor(dtype: str, *shape: int) -> str:
    return f'!tg.tensor<"{dtype}[{", ".join(map(str, shape))}]">'


def constant(name: str, kind: str, dtype: str, shape: tuple[int, ...], data: str) -> str:
    sizes = ",".join(map(str, shape))
    text = f"hex\\22{kind}({sizes}){data}\\22"
    return f'  %{name} = tg.constant <"{text}"> : {tensor(dtype, *shape)}\n'


BYTES, NUMBERS = tensor("u8", 8, DEPTH), tensor("f32", 8, DEPTH)
WEIGHTS, WIDE = tensor("i8", 4, DEPTH), tensor("f32", 4, DEPTH)
OUT = tensor("f32", 8, 4)
W = constant("w", "|i1", "i8", (4, DEPTH), "0102" * (2 * DEPTH))


def function(body: str, arguments: str = f"%x: {BYTES}", names: str = '"x"') -> str:
    strides = ", ".join("unit" for _ in names.split(","))
    return (
        f'"tg.func"() <{{sym_name = "f", argument_names = [{names}], sizes = [], '
        f"input_strides = [{strides}]}}> ({{\n^bb0({arguments}):\n{body}"
        f"  tg.return %y : {OUT}\n}}) : () -> ()"
    )


def product(zero_x: str, zero_w: str, body: str = "a0.f32[i0, r0] * a1.f32[i1, r0]") -> str:
    return (
        f'  %u = tg.pointwise %x <"f32(a0.u8[i0, i1]){zero_x}"> : ({BYTES}) -> {NUMBERS}\n'
        f'  %v = tg.pointwise %w <"f32(a0.i8[i0, i1]){zero_w}"> : ({WEIGHTS}) -> {WIDE}\n'
        f'  %y = tg.contract %u, %v "add" <"{body}"> over <"{DEPTH}"> : '
        f"({NUMBERS}, {WIDE}) -> {OUT}\n"
    )


BY_TENSOR = (
    f'  %u = tg.pointwise %x, %z <"f32(a0.u8[i0, i1]) - f32(a1.u8[()])"> : '
    f"({BYTES}, {tensor('u8')}) -> {NUMBERS}\n" + product("", "").split("\n", 1)[1]
)
PRODUCT = '"add" <"i32(a1.u8[i0, r0]) * i32(a0.i8[i1, r0])">'


INTEGERS = {
    "weights without a zero point: their sums are a constant": (
        function(W + product(" - (61.0).f32", "")),
        [
            PRODUCT, 'tg.constant <"hex\\22<i4(4)18000000',
            '"f32(a0.i32[i0, i1] - (61).i32 * a1.i32[i1])"',
        ],
    ),
    "numbers without a zero point: nothing is left to subtract": (
        function(W + product("", " - (0.0).f32")),
        [PRODUCT, '"f32(a0.i32[i0, i1])"'],
    ),
    "two zero points: the rows are summed up, too": (
        function(W + product(" - (61.0).f32", " - (3.0).f32")),
        [
            PRODUCT, "tg.constant",
            'tg.reduce %x "add" <"i32(a0.u8[i0, r0])">', f'-> {tensor("i32", 8)}',
            "(61).i32 * a1.i32[i1] - (3).i32 * a2.i32[i0] + (61).i32 * (3).i32 * (16).i32",
        ],
    ),
    "a zero point that the program finds": (
        function(W + BY_TENSOR, f"%x: {BYTES}, %z: {tensor('u8')}", '"x", "z"'),
        ["tg.contract", '"f32(a1.i32[i0, i1] - i32(a0.u8[()]) * a2.i32[i1])"'],
    ),
}  # fmt: skip
PIXELS, PLANES = tensor("u8", 1, 16, 6, 6), tensor("f32", 1, 16, 6, 6)
TAPS, WIDE_TAPS = tensor("i8", 32, 16, 2, 1), tensor("f32", 32, 16, 2, 1)
RESULT = tensor("f32", 1, 32, 6, 6)
CONVOLUTION = (
    constant("w", "|i1", "i8", (32, 16, 2, 1), "0102" * 512)
    + '  %u = tg.pointwise %x <"f32(a0.u8[0, i1, i2, i3]) - (61.0).f32"> : '
    f"({PIXELS}) -> {PLANES}\n"
    f'  %v = tg.pointwise %w <"f32(a0.i8[i0, i1, i2, 0])"> : ({TAPS}) -> {WIDE_TAPS}\n'
    '  %y = tg.contract %u, %v "add" <"select(i2 + r1 < 6, a0.f32[0, r0, i2 + r1, i3], (0.0).f32)'
    f' * a1.f32[i1, r0, r1, 0]"> over <"16, 2, 1"> : ({PLANES}, {WIDE_TAPS}) -> {RESULT}\n'
)
FLOATS = {
    "a zero point off every grid": W + product(" - (256.0).f32", ""),
    "a zero point that is no integer": W + product(" - (0.5).f32", ""),
    "a factor that changes by more": W + product(" * (2.0).f32", ""),
    "an image that is read by windows": W
    + product("", "", "a0.f32[i0, (i1 + r0) % 16] * a1.f32[i1, r0]"),
}


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def after(text: str) -> str:
    module = parse_module(text)
    for func in functions(module):
        fold_constants(func)
        integer_products(func)
    module.verify()
    return printed(module)


def in_order(text: str, fragments: list[str]) -> None:
    position = 0
    for fragment in fragments:
        found = text.find(fragment, position)
        assert found >= 0, f"{fragment!r} not found in\n{text[position:]}"
        position = found + len(fragment)


@pytest.mark.parametrize("name", INTEGERS)
def test_multiplies_integers(name: str) -> None:
    text, fragments = INTEGERS[name]
    in_order(after(text), fragments)


def convolution(arguments: str = f"%x: {PIXELS}") -> str:
    return function(CONVOLUTION, arguments).replace(f"%y : {OUT}", f"%y : {RESULT}")


def test_windows_have_the_zero_point_around_them() -> None:
    in_order(
        after(convolution()),
        [
            "i32(select(i2 + r1 < 6, a1.u8[0, r0, i2 + r1, i3], (61).u8))",
            " * i32(a0.i8[i1, r0, r1, 0])",
            'over <"16, 2, 1">', 'tg.constant <"hex\\22<i4(32)30000000',
            '"f32(a0.i32[i0, i1, i2, i3] - (61).i32 * a1.i32[i1])"',
        ],
    )  # fmt: skip


def test_windows_of_bytes_lie_channels_last() -> None:
    """Of what a sum runs along, channels come last, too."""
    module = parse_module(convolution())
    for func in functions(module):
        fold_constants(func)
        integer_products(func)
        inline_producers(func)
        channels_last(func)
    module.verify()
    in_order(
        printed(module),
        [
            'tg.view %x <"a0.u8[i0, i3, i1, i2]">', '-> !tg.tensor<"u8[1, 6, 6, 16]">',
            "i32(select(i1 + r0 < 6, a1.u8[0, i1 + r0, i2, r2], (61).u8))",
            " * i32(a0.i8[i3, r2, r0, 0])",
            'over <"2, 1, 16">', '-> !tg.tensor<"i32[1, 6, 6, 32]">',
            '"f32(a0.i32[i0, i2, i3, i1] - (61).i32 * a1.i32[i1])"',
        ],
    )  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_multiplies_numbers(name: str) -> None:
    assert '-> !tg.tensor<"i32' not in after(function(FLOATS[name]))


def test_weights_that_the_caller_gives_stay_numbers() -> None:
    text = function(product("", ""), f"%x: {BYTES}, %w: {WEIGHTS}", '"x", "w"')
    assert '-> !tg.tensor<"i32' not in after(text)


@pytest.mark.parametrize(
    ("options", "is_integer"),
    [
        (CompileOptions(target="x86_64-unknown-linux-gnu"), True),
        (CompileOptions(target="x86_64-unknown-linux-gnu", strict=True), False),
        (CompileOptions(target="aarch64-unknown-linux-gnu"), False),
        (CompileOptions(target="ptx-emulate"), False),
    ],
)
def test_targets(options: CompileOptions, is_integer: bool) -> None:
    """Sums in another order are not for strict programs, bytes not for all machines."""
    (step,) = (p for p in PASSES if p.name == "integer-products")
    module = step.run(parse_module(function(W + product("", ""))), options)
    assert ('-> !tg.tensor<"i32' in printed(module)) == is_integer


# --- constants ------------------------------------------------------------------------------------

V = tensor("f32", 4)
STEPS = constant("s", "<f8", "f64", (4,), "000000000000e03f" * 2 + "000000000000f03f" * 2)
SAME = constant("n", "<i8", "i64", (4,), "0300000000000000" * 4)
NUMBER = constant("c", "<f4", "f32", (), "0000803e")


def folded(body: str) -> str:
    module = parse_module(function(body, f"%x: {OUT}"))
    for func in functions(module):
        fold_constants(func)
    module.verify()
    return printed(module)


def scaled(made: str) -> str:
    return made + (
        f'  %y = tg.pointwise %x, %q <"a0.f32[i0, i1] * a1.f32[i1]"> : ({OUT}, {V}) -> {OUT}\n'
    )


def test_numbers_enter_bodies_and_vectors_are_made() -> None:
    text = folded(
        STEPS + NUMBER
        + f'  %t = tg.scalar %c <"f64(a0.f32[()])"> : ({tensor("f32")}) -> !tg.scalar<"f64">\n'
        + scaled(f'  %q = tg.pointwise %s, %t <"f32(a0.f64[i0] * a1.f64)"> : '
                 f'({tensor("f64", 4)}, !tg.scalar<"f64">) -> {V}\n')
    )  # fmt: skip
    in_order(text, [f"hex\\22<f4(4){'0000003e' * 2}{'0000803e' * 2}\\22", "a0.f32[i0, i1] * a1"])


def test_equal_elements_are_one_number() -> None:
    made = f'  %q = tg.pointwise %n <"f32(a0.i64[i0])"> : ({tensor("i64", 4)}) -> {V}\n'
    assert '"a0.f32[i0, i1] * (3.0).f32"' in folded(SAME + scaled(made))


@pytest.mark.parametrize(
    "made",
    [
        # Machine code has its own powers, bytes are read more quickly than what they widen to.
        f'  %q = tg.pointwise %s <"exp(f32(a0.f64[i0]))"> : ({tensor("f64", 4)}) -> {V}\n',
        f'  %q = tg.pointwise %b <"f32(a0.i8[i0])"> : ({tensor("i8", 4)}) -> {V}\n',
    ],
)
def test_what_is_left_to_machine_code(made: str) -> None:
    data = constant("b", "|i1", "i8", (4,), "01020304")
    assert made.split("<")[1].split(">")[0] in folded(STEPS + data + scaled(made))
