"""What lies with channels last after the pass, and what stays on planes?"""

from __future__ import annotations

import io

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tensorscript.base.dtypes import DType, bfloat16
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.schedules.cpu import schedule_cpu
from tensorscript.lowering.schedules.cpu_vectors import CPUParameters
from tensorscript.lowering.tg.channels_last import channels_last
from tensorscript.lowering.tg.fuse_cpu import fuse_cpu
from tensorscript.lowering.tg_to_te.host import tg_to_te


def image(channels: int, size: int = 8) -> str:
    return f'!tg.tensor<"f32[1, {channels}, {size}, {size}]">'


def constant(name: str, *shape: int) -> str:
    sizes = ",".join(map(str, shape))
    count = 4
    for size in shape:
        count *= size
    kind = f'!tg.tensor<"f32[{sizes.replace(",", ", ")}]">'
    return f'  %{name} = tg.constant <"hex\\22<f4({sizes}){"00" * count}\\22"> : {kind}\n'


WINDOW = (
    "select((i2 + (r0 - 1) >= 0) & (i2 + (r0 - 1) < 8) & (i3 + r1 < 8),"
    " a0.f32[0, i1, i2 + (r0 - 1), i3 + r1], (0.0).f32) * a1.f32[i1, 0, r0, r1]"
)
FILTER_TYPE = '!tg.tensor<"f32[32, 1, 2, 2]">'
POINTS_TYPE = '!tg.tensor<"f32[32, 16, 1, 1]">'
BACK_TYPE = '!tg.tensor<"f32[16, 32, 1, 1]">'


def function(body: str, result: str) -> str:
    arguments = f"%x: {image(16)}, %w: {FILTER_TYPE}"
    return (
        '"tg.func"() <{sym_name = "f", argument_names = ["x", "w"], sizes = [], '
        f"input_strides = [unit, unit]}}> ({{\n^bb0({arguments}):\n"
        f"{constant('k', 32, 1, 2, 2)}{constant('p', 32, 16, 1, 1)}{constant('q', 16, 32, 1, 1)}"
        f"{constant('v', 32, 32, 2, 2)}"
        f"{body}  tg.return %o : {result}\n}}) : () -> ()"
    )


def points(name: str, source: str, weight: str, channels: int, out: int) -> str:
    """A convolution by single pixels."""
    kind = POINTS_TYPE if out == 32 else BACK_TYPE
    return (
        f'  %{name} = tg.contract %{source}, %{weight} "add" <"a0.f32[0, r0, i2, i3] * '
        f'a1.f32[i1, r0, 0, 0]"> over <"{channels}"> : ({image(channels)}, {kind}) -> '
        f"{image(out)}\n"
    )


def filtered(name: str, source: str, weight: str = "k") -> str:
    return (
        f'  %{name} = tg.contract %{source}, %{weight} "add" <"{WINDOW}"> over <"2, 2"> : '
        f"({image(32)}, {FILTER_TYPE}) -> {image(32)}\n"
    )


RELU = (
    '  %r = tg.pointwise %y <"max(a0.f32[0, i1, i2, i3], (0.0).f32)"> : '
    f"({image(32)}) -> {image(32)}\n"
)
INVERTED = points("a", "x", "p", 16, 32) + filtered("y", "a") + RELU + points("o", "r", "q", 32, 16)
MIXING = (
    '  %m = tg.contract %a, %v "add" <"select((i2 + r1 < 8) & (i3 + r2 < 8), '
    'a0.f32[0, r0, i2 + r1, i3 + r2], (0.0).f32) * a1.f32[i1, r0, r1, r2]"> over <"32, 2, 2"> : '
    f'({image(32)}, !tg.tensor<"f32[32, 32, 2, 2]">) -> {image(32)}\n'
)
SHUFFLED = (
    f'  %s = tg.pointwise %y <"a0.f32[0, i1 % 2 * 16 + i1 // 2, i2, i3]"> : ({image(32)}) -> '
    f"{image(32)}\n"
)

LAST = {
    "an inverted residual": (
        function(INVERTED, image(16)),
        [
            'tg.constant', '-> !tg.tensor<"f32[1, 8, 8, 32]">',
            "a0.f32[0, i1 + (r0 - 1), i2 + r1, i3], (0.0).f32) * a1.f32[0, r0, r1, i3]",
            '"max(a0.f32[0, i1, i2, i3], (0.0).f32)"', '-> !tg.tensor<"f32[1, 8, 8, 32]">',
            '"a0.f32[0, i2, i3, r0] * a1.f32[i1, r0, 0, 0]"', f"-> {image(16)}",
        ],
    ),
    "a filter that reads what a mixing convolution gives, which reads planes": (
        function(
            points("a", "x", "p", 16, 32) + MIXING + filtered("y", "m") + RELU
            + points("o", "r", "q", 32, 16),
            image(16),
        ),
        [
            '"a0.f32[0, r0, i2, i3] * a1.f32[i1, r0, 0, 0]"', f"-> {image(32)}",
            "a0.f32[0, r0, i1 + r1, i2 + r2], (0.0).f32) * a1.f32[i3, r0, r1, r2]",
            '-> !tg.tensor<"f32[1, 8, 8, 32]">',
            "a0.f32[0, i1 + (r0 - 1), i2 + r1, i3], (0.0).f32) * a1.f32[0, r0, r1, i3]",
        ],
    ),
}  # fmt: skip
PLANES = {
    "weights that the caller gives": points("a", "x", "p", 16, 32) + filtered("y", "a", "w")
    + RELU + points("o", "r", "q", 32, 16),
    "a filter whose result a mixing convolution reads, too": points("b", "x", "p", 16, 32)
    + filtered("a", "b") + MIXING + points("o", "m", "q", 32, 16),
    "channels in another order": points("a", "x", "p", 16, 32) + filtered("y", "a") + SHUFFLED
    + points("o", "s", "q", 32, 16),
}  # fmt: skip


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


def after(text: str, units: frozenset[DType] = frozenset()) -> ModuleOp:
    module = parse_module(text)
    for func in functions(module):
        channels_last(func, units)
    module.verify()
    return module


def in_order(text: str, fragments: list[str]) -> None:
    position = 0
    for fragment in fragments:
        found = text.find(fragment, position)
        assert found >= 0, f"{fragment!r} not found in\n{text[position:]}"
        position = found + len(fragment)


@pytest.mark.parametrize("name", LAST)
def test_channels_last(name: str) -> None:
    text, fragments = LAST[name]
    in_order(printed(after(text)), fragments)


@pytest.mark.parametrize("name", PLANES)
def test_planes_stay(name: str) -> None:
    text = function(PLANES[name], image(16))
    assert printed(after(text)) == printed(parse_module(text))


HALF_IMAGE = '!tg.tensor<"bf16[1, 16, 8, 8]">'
SUMS = HALF_IMAGE.replace("bf16", "f32")


def halves(name: str, source: str) -> str:
    """A convolution of bfloat16 that mixes channels, in float32."""
    return (
        f'  %{name} = tg.contract %{source}, %h "add" <"select((i2 + r1 < 8) & (i3 + r2 < 8), '
        'f32(a0.bf16[0, r0, i2 + r1, i3 + r2]), (0.0).f32) * f32(a1.bf16[i1, r0, r1, r2])"> over '
        f'<"16, 2, 2"> : ({HALF_IMAGE}, !tg.tensor<"bf16[16, 16, 2, 2]">) -> {SUMS}\n'
    )


def rounded(name: str, source: str) -> str:
    return (
        f'  %{name} = tg.pointwise %{source} <"bf16(a0.f32[0, i1, i2, i3])"> : ({SUMS}) -> '
        f"{HALF_IMAGE}\n"
    )


ADDED = (
    '  %o = tg.pointwise %b, %x <"bf16(a0.f32[0, i1, i2, i3] + f32(a1.bf16[0, i1, i2, i3]))"> : '
    f"({SUMS}, {HALF_IMAGE}) -> {HALF_IMAGE}\n"
)
HALVES = (
    '"tg.func"() <{sym_name = "f", argument_names = ["x"], sizes = [], input_strides = [unit]}> '
    f"({{\n^bb0(%x: {HALF_IMAGE}):\n"
    + constant("h", 16, 16, 2, 2).replace("f4", "u2").replace("f32", "bf16").replace("00" * 4096,
                                                                                   "00" * 2048)
    + halves("a", "x") + rounded("r", "a") + halves("b", "r") + ADDED + halves("c", "o")
    + rounded("z", "c") + f"  tg.return %z : {HALF_IMAGE}\n}}) : () -> ()"
)  # fmt: skip
WINDOWS = "f32(a0.bf16[0, i1 + r0, i2 + r1, r2]), (0.0).f32) * f32(a1.bf16[i3, r2, r0, r1])"


def test_halves_go_channels_last_where_a_matrix_unit_takes_them() -> None:
    assert printed(after(HALVES)) == printed(parse_module(HALVES))
    text = printed(after(HALVES, frozenset([bfloat16])))
    in_order(text, ["tg.view", '"a0.bf16[i0, i3, i1, i2]"', WINDOWS, WINDOWS, "tg.view", WINDOWS])
    assert text.count("tg.contract") == 3  # none is computed twice for those who read planes


def test_the_filter_is_a_tile_of_pixels_by_channels() -> None:
    module = after(LAST["an inverted residual"][0])
    for func in functions(module):
        fuse_cpu(func)
    module = tg_to_te(module)
    schedule_cpu(module, CPUParameters(vector_bytes=32))
    module.verify()
    fragments = [
        "te.alloc reg tilef: f32[4, 8]",
        "te.for s0_r0 in 0 .. 2 unroll reduce {",
        "te.if (i1 + (s0_r0 - 1) >= 0) & (i1 + (s0_r0 - 1) < 8) {",
        "te.for s0_r1 in 0 .. 2 unroll reduce {",
        "te.update tilef[i1f, j1f] add= select(i1f + s0_r1 < 8, p0.f32[",
        "te.store o0[i0, i1, i2f, cbf * 8 + j2f] = max(tilef.f32[i2f, j2f], (0.0).f32)",
        "te.alloc reg tilel: f32[4, 8]",
    ]
    in_order(printed(module), fragments)
