"""Which runs of ops become loops over images, and what does such a loop look like?"""

from __future__ import annotations

import io

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tensorscript.compiler.stages import parse_module
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.te.storage import plan_storage
from tensorscript.lowering.tg.fuse_cpu import fuse_cpu
from tensorscript.lowering.tg.split_batch import split_batch
from tensorscript.lowering.tg_to_te.host import tg_to_te

SMALL = '!tg.tensor<"f32[8, 100]">'
LARGE = '!tg.tensor<"f32[8, 100000]">'
"""3.2 MB: more than the second cache holds, and an image is less."""


def function(body: str, result: str = SMALL) -> str:
    return (
        '"tg.func"() <{sym_name = "f", argument_names = ["x"], sizes = [], '
        f"input_strides = [unit]}}> ({{\n^bb0(%x: {SMALL}):\n"
        f"{body}  tg.return %o : {result}\n}}) : () -> ()"
    )


def widened(name: str, source: str, read: str = "i0, i1 % 100") -> str:
    return f'  %{name} = tg.pointwise %{source} <"exp(a0.f32[{read}])"> : ({SMALL}) -> {LARGE}\n'


def changed(name: str, source: str, body: str = "a0.f32[i0, 99999 - i1] * (2.0).f32") -> str:
    return f'  %{name} = tg.pointwise %{source} <"{body}"> : ({LARGE}) -> {LARGE}\n'


def narrowed(name: str, source: str, read: str = "i0, i1 * 1000 + r0") -> str:
    return (
        f'  %{name} = tg.reduce %{source} "add" <"a0.f32[{read}]"> over <"1000"> : '
        f"({LARGE}) -> {SMALL}\n"
    )


def weighted(columns: int) -> str:
    """A product of each image with a constant of so many rows of 100000 numbers."""
    kind, result = f'!tg.tensor<"f32[{columns}, 100000]">', f'!tg.tensor<"f32[8, {columns}]">'
    data = f"hex\\22<f4({columns},100000){'00' * 400000 * columns}\\22"
    return (
        f'  %w = tg.constant <"{data}"> : {kind}\n'
        f'  %o = tg.contract %a, %w "add" <"a0.f32[i0, r0] * a1.f32[i1, r0]"> over <"100000"> : '
        f"({LARGE}, {kind}) -> {result}\n"
    )


def after(text: str) -> ModuleOp:
    module = parse_module(text)
    for func in functions(module):
        split_batch(func)
    module.verify()
    return module


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    Printer(out).print_op(module)
    return out.getvalue()


CHAIN = function(widened("a", "x") + changed("b", "a") + narrowed("o", "b"))


def test_a_loop_computes_one_image_of_each_result() -> None:
    text = printed(after(CHAIN))
    position = 0
    for fragment in (
        'tg.scalar <"8">',
        'tg.pointwise <"(0.0).f32"> : () -> !tg.tensor<"f32[8, 100]">',
        '"tg.loop"',
        '<"exp(a0.f32[a1, i1 % 100])">',
        '-> !tg.tensor<"f32[1, 100000]">',
        '<"a0.f32[0, 99999 - i1] * (2.0).f32">',
        '-> !tg.tensor<"f32[1, 100000]">',
        '<"a0.f32[0, i1 * 1000 + r0]">',
        '-> !tg.tensor<"f32[1, 100]">',
        '"tg.scatter"',
        "tg.yield",
        "tg.return",
    ):
        found = text.find(fragment, position)
        assert found >= 0, f"{fragment!r} not found\n{text}"
        position = found


def test_what_an_image_hands_on_takes_the_memory_of_one() -> None:
    module = after(CHAIN)
    for func in functions(module):
        fuse_cpu(func)
    loops = tg_to_te(module)
    (host,) = (f for f in loops.ops if getattr(f, "role", None) and f.role.data == "host")
    assert plan_storage(host).total < 1 << 20
    text = printed(loops)
    assert text.count(": f32[1, 100000]") >= 2
    assert ": f32[1, 100000]" not in text[text.index("te.func @f host") : text.index("te.while")]


STAYS = {
    "nothing is handed on": widened("a", "x")
    + f'  %o = tg.view %a <"a0.f32[i0, i1]"> : ({LARGE}) -> {SMALL}\n'.replace(
        "a0.f32[i0, i1]", "a0.f32[7 - i0, i1]"
    ),
    "an image is made from its neighbour": widened("a", "x")
    + changed("b", "a", "a0.f32[(i0 + 1) % 8, i1]")
    + narrowed("o", "b", "7 - i0, i1 * 1000 + r0"),
    "the number of the image counts": widened("a", "x")
    + changed("b", "a", "select(i0 == 3, a0.f32[i0, i1], (0.0).f32)")
    + narrowed("o", "b", "7 - i0, i1 * 1000 + r0"),
}


@pytest.mark.parametrize("name", STAYS)
def test_runs_that_stay(name: str) -> None:
    assert "tg.loop" not in printed(after(function(STAYS[name])))


@pytest.mark.parametrize(("columns", "splits"), [(2, True), (20, False)])
def test_weights_that_do_not_stay_cached_are_read_once(columns: int, splits: bool) -> None:
    text = function(widened("a", "x") + weighted(columns), f'!tg.tensor<"f32[8, {columns}]">')
    assert ("tg.loop" in printed(after(text))) == splits
