"""Which convolutions become Winograd's, and what do these look like?"""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from xdsl.printer import Printer

from tensorscript.base.dtypes import float32
from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.te.expr import Expr, var
from tensorscript.dialects.te.rewriting import walk
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.tg.winograd import winograd
from tensorscript.lowering.tg.winograd_transforms import FILTERS, INPUTS, OUTPUTS, TILES

INSIDE = "(i2 + (r1 - 1) >= 0) & (i2 + (r1 - 1) < 13) & (i3 + (r2 - 1) >= 0) & (i3 + (r2 - 1) < 14)"
ELEMENT = "a0.f32[i0, r0, i2 + (r1 - 1), i3 + (r2 - 1)]"
FACTOR = "a1.f32[i1, r0, r1, r2]"
BODY = f"select({INSIDE}, {ELEMENT}, (0.0).f32) * {FACTOR}"


def tensor(*sizes: int, dtype: str = "f32") -> str:
    return f'!tg.tensor<"{dtype}[{", ".join(map(str, sizes))}]">'


IMAGE = tensor(2, 64, 13, 14)
WEIGHTS = tensor(64, 64, 3, 3)
ADDED = (
    '  %p = tg.pointwise %o, %x <"max(a0.f32[i0, i1, i2, i3] + a1.f32[i0, i1, i2, i3],'
    f' (0.0).f32)"> : ({IMAGE}, {IMAGE}) -> {IMAGE}\n'
)


def function(lines: str, result: str = "%o") -> str:
    return (
        '"tg.func"() <{sym_name = "f", argument_names = ["x", "w"], sizes = [], '
        f"input_strides = [unit, unit]}}> ({{\n^bb0(%x: {IMAGE}, %w: {WEIGHTS}):\n"
        f"{lines}  tg.return {result} : {IMAGE}\n}}) : () -> ()"
    )


def convolution(
    name: str = "o", source: str = "x", body: str = BODY, over: str = "64, 3, 3"
) -> str:
    return (
        f'  %{name} = tg.contract %{source}, %w "add" <"{body}"> over <"{over}"> :'
        f" ({IMAGE}, {WEIGHTS}) -> {IMAGE}\n"
    )


def after(text: str, largest: int = 2) -> list[str]:
    """The operations of the function; where a value is chosen by its place, the first case."""
    module = parse_module(text)
    for func in functions(module):
        winograd(func, largest)
    module.verify()
    out = io.StringIO()
    Printer(out).print_op(module)
    lines = [line.strip() for line in out.getvalue().split("\n") if "= tg." in line]
    return [re.sub(r"(select\(i[01] (% 2 )?== 0, .*?),? select\(i0 == 1[^\"]*\"", r'\1 .."', line)
            for line in lines]  # fmt: skip


def test_transforms_around_a_product() -> None:
    image, inputs, weights, products, outputs, added = after(function(convolution() + ADDED, "%p"))
    copied, squares = tensor(2, 16, 16, 64), tensor(16, 2, 7, 7, 64)
    assert image == (
        '%0 = tg.pointwise %x <"select(i1 < 15, select((0 < i1) & (i1 < 14) & (0 < i2) & (i2 < 15),'
        f' a0.f32[i0, i3, i1 - 1, i2 - 1], (0.0).f32), (0.0).f32)"> : ({IMAGE}) -> {copied}'
    )
    assert inputs == (
        '%1 = tg.pointwise %0 <"select(i0 == 0, a0.f32[i1, i2 * 2, i3 * 2, i4]'
        " - a0.f32[i1, i2 * 2 + 2, i3 * 2, i4] - (a0.f32[i1, i2 * 2, i3 * 2 + 2, i4]"
        f' - a0.f32[i1, i2 * 2 + 2, i3 * 2 + 2, i4]) .."> : ({copied}) -> {squares}'
    )
    assert weights == (
        '%2 = tg.pointwise %w <"select(i0 == 0, a0.f32[i2, i1, 0, 0] .."> :'
        f" ({WEIGHTS}) -> {tensor(16, 64, 64)}"
    )
    assert products == (
        '%3 = tg.contract %1, %2 "add" <"a0.f32[i0, i1, i2, i3, r0] * a1.f32[i0, r0, i4]">'
        f' over <"64"> : ({squares}, {tensor(16, 64, 64)}) -> {squares}'
    )
    assert "select(i1 % 2 == 0, select(i2 % 2 == 0, a0.f32[0, i0, i1 // 2, i2 // 2, i3]" in outputs
    assert outputs.endswith(f"({squares}) -> {tensor(2, 14, 14, 64)}")
    assert '<"max(a0.f32[i0, i2, i3, i1] + a1.f32[i0, i1, i2, i3], (0.0).f32)">' in added


def test_images_come_first_where_their_tiles_are_many() -> None:
    wide = function(convolution()).replace("13", "30").replace("14]", "32]").replace("14)", "32)")
    assert f"-> {tensor(2, 16, 15, 16, 64)}" in after(wide)[1]


def test_strips_where_an_image_does_not_stay_cached() -> None:
    large = function(convolution()).replace("13", "130").replace("14]", "140]")
    large = large.replace("14)", "140)")
    image, inputs, *_, tiles, result = after(large)
    assert "a0.f32[i0 // 22, i3, i0 % 22 * 6 + i1 - 1, i2 - 1]" in image
    assert f"-> {tensor(44, 16, 3, 70, 64)}" in inputs
    assert f"-> {tensor(44, 6, 140, 64)}" in tiles
    assert "a0.f32[i0 * 22 + i2 // 6, i2 % 6, i3, i1]" in result


def test_channels_stay_last_between_two() -> None:
    body = "max(a0.f32[i0, i1, i2, i3], (0.0).f32)"
    relu = f'  %r = tg.pointwise %o <"{body}"> : ({IMAGE}) -> {IMAGE}\n'
    lines = after(function(convolution() + relu + convolution("q", "r"), "%q"))
    assert [re.sub(r" <.*", "", line) for line in lines] == [
        "%0 = tg.pointwise %x", "%1 = tg.pointwise %0", "%2 = tg.pointwise %w",
        '%3 = tg.contract %1, %2 "add"', "%4 = tg.pointwise %3", "%5 = tg.pointwise %4",
        "%6 = tg.pointwise %5", '%7 = tg.contract %6, %2 "add"', "%8 = tg.pointwise %7",
        "%q = tg.view %8",
    ]  # fmt: skip
    assert "max(a0.f32[i0, i1 - 1, i2 - 1, i3], (0.0).f32)" in lines[5]


def test_images_and_weights_are_transformed_once() -> None:
    both = '  %q = tg.pointwise %o, %p <"a0.f32[i0, i1, i2, i3] - a1.f32[i0, i1, i2, i3]"> :'
    both += f" ({IMAGE}, {IMAGE}) -> {IMAGE}\n"
    lines = after(function(convolution() + convolution("p") + both, "%q"))
    assert [re.sub(r" <.*", "", line) for line in lines] == [
        "%0 = tg.pointwise %x", "%1 = tg.pointwise %0",
        "%2 = tg.pointwise %w", '%3 = tg.contract %1, %2 "add"', "%4 = tg.pointwise %3",
        '%5 = tg.contract %1, %2 "add"', "%6 = tg.pointwise %5", "%q = tg.pointwise %4, %6",
    ]  # fmt: skip


def test_what_is_computed_on_the_way_goes_into_the_image() -> None:
    body = f"select({INSIDE}, exp({ELEMENT}), (1.0).f32) * {FACTOR}"
    assert (
        "exp(a0.f32[i0, i3, i1 - 1, i2 - 1]), (1.0).f32)"
        in after(function(convolution(body=body)))[0]
    )


STAYS = {
    "steps of two": convolution(body=f"a0.f32[i0, r0, i2 // 2 + r1, i3 // 2 + r2] * {FACTOR}"),
    "dilated": convolution(body=f"a0.f32[i0, r0, (i2 // 4) + r1 * 2, (i3 // 4) + r2] * {FACTOR}"),
    "of two groups": convolution(
        body=f"a0.f32[i0, i1 // 32 * 32 + r0, i2 % 9 + r1, i3 % 9 + r2] * {FACTOR}", over="32, 3, 3"
    ),
    "kernel of 2x3": convolution(over="64, 2, 3"),
    "turned kernel": convolution(body=BODY.replace("i1, r0, r1, r2", "i1, r0, 2 - r1, r2")),
    "turned weights": convolution(body=BODY.replace("i1, r0, r1, r2", "r0, i1, r1, r2")),
    "the tap counts": convolution(body=f"{ELEMENT} * f32(r1) * {FACTOR}"),
    "greatest": convolution().replace('"add"', '"max"').replace("contract", "reduce"),
    "few channels": convolution(over="3, 3, 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", STAYS)
def test_others_stay(name: str) -> None:
    (line,) = after(function(STAYS[name]), 4)
    assert "tg.contract %x, %w" in line or "tg.reduce" in line


def test_sizes_that_are_named_stay() -> None:
    text = function(convolution()).replace("2, 64, 13, 14", "2, 64, 13, N")
    text = text.replace("sizes = []", 'sizes = ["N"]').replace("%w: ", "%w: ", 1)
    text = (
        text.replace(f"{WEIGHTS}):", f'{WEIGHTS}, %N: !tg.scalar<"i64">):')
        .replace('["x", "w"]', '["x", "w", "N"]')
        .replace("[unit, unit]", "[unit, unit, unit]")
    )
    assert len(after(text)) == 1


def value_of(e: Expr, given: dict[str, float]) -> float:
    if e.op == "var":
        return given[str(e.value)]
    if e.op == "const":
        return float(str(e.value))
    a, b = (value_of(part, given) for part in e.args)
    return {"add": a + b, "sub": a - b, "mul": a * b}[e.op]


@pytest.mark.parametrize("tile", TILES)
def test_a_filter_of_three(tile: int) -> None:
    """F(m, 3) in exact numbers: small integers, and weights that 24 divides."""
    random = np.random.default_rng(tile)
    data, taps = random.integers(-9, 9, tile + 2), 24.0 * random.integers(-9, 9, 3)
    line = [var(f"d{k}", float32) for k in range(tile + 2)]
    given = {f"d{k}": float(d) for k, d in enumerate(data)}
    inputs = [value_of(e, given) for e in INPUTS[tile](line)]
    products = np.array(FILTERS[tile]) @ taps * inputs
    given = {f"d{k}": float(p) for k, p in enumerate(products)}
    found = [value_of(e, given) for e in OUTPUTS[tile](line)]
    np.testing.assert_allclose(found, np.correlate(data, taps, "valid"), rtol=1e-12)


def test_transforms_take_few_operations() -> None:
    counts = {}
    for tile in TILES:
        line = [var(f"d{k}", float32) for k in range(tile + 2)]
        for name, transform in (("inputs", INPUTS[tile]), ("outputs", OUTPUTS[tile])):
            nodes = {n for e in transform(line) for n in walk(e) if n.args}
            counts[name, tile] = len(nodes)
    assert counts == {("inputs", 2): 4, ("outputs", 2): 4, ("inputs", 4): 17, ("outputs", 4): 13}
