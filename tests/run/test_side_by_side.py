"""Long modules are cut into pieces that LLVM compiles at once: the program stays the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.cpu import side_by_side
from tensorscript.backends.cpu.elf import objects
from tensorscript.backends.cpu.jit import compile_object
from tensorscript.backends.cpu.side_by_side import compile_pieces
from tensorscript.backends.llvm.cut import cut
from tensorscript.backends.llvm.optimize import VECTOR_CODE
from tensorscript.backends.target import host
from tensorscript.base.errors import InternalError

MODULE = """
target triple = "x86_64-unknown-linux-gnu"
@table = private unnamed_addr constant [2 x i32] [i32 3, i32 4], align 4
@weights = external global i8, align 64
declare float @llvm.sqrt.f32(float)
declare i32 @ts_unused(ptr)
define internal i32 @three() alwaysinline nounwind {
  %v = load i32, ptr @table
  ret i32 %v
}
define internal i32 @k0(ptr noalias dereferenceable(4) %arg.x) nounwind {
  %a = call i32 @three()
  ret i32 %a
}
define internal i32 @k1(
    ptr %arg.x) nounwind {
  %a = call i32 @k0(ptr @weights)
  ret i32 %a
}
define i32 @entry(ptr %args) {
  %a = call i32 @k1(ptr %args)
  ret i32 %a
}
!0 = !{!"note"}
"""


def test_what_is_in_the_pieces() -> None:
    first, second = cut(MODULE, 2)
    for piece in (first, second):
        assert piece.startswith("target triple")
        assert '!0 = !{!"note"}\n' in piece
        assert "ts_unused" not in piece
        compile_object(piece)
    assert re.findall(r"^define .*@(\w+)", first, re.M) == ["three", "k0"]
    assert "define i32 @k0(" in first
    assert "@weights" not in first
    assert re.findall(r"^define .*@(\w+)", second, re.M) == ["k1", "entry"]
    assert "declare i32 @k0(ptr noalias dereferenceable(4) %arg.x) nounwind\n" in second
    assert "@weights = external" in second
    assert "@table" not in second


@pytest.mark.parametrize(
    "text",
    [MODULE + "@count = global i64 0\n", MODULE + "@again = alias i32, ptr @table\n",
     "define void @f() {\n  ret void\n}\n"],
)  # fmt: skip
def test_what_cannot_be_cut_stays_whole(text: str) -> None:
    assert cut(text, 4) == [text]


def test_what_llvm_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "LEAST_TEXT", 10)
    monkeypatch.setattr(side_by_side, "_processors", lambda: 3)
    with pytest.raises(InternalError, match="undefined value '%missing'"):
        compile_pieces(MODULE.replace("ret i32 %v", "ret i32 %missing"), host(), VECTOR_CODE)


def mixed(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    y = ts.relu(x @ w) + ts.softmax(x, 1).sum(0)
    if float(y.sum()) > 0.0:
        y = ts.tanh(y @ w.t()) // 0.25
    return ts.sort(y, 1)[0] + y.std(0) ** 2


def test_a_program_of_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 40, 40)).astype(np.float32)
    whole = ts.compile(mixed, [x, w], cache=False, fallback="error")
    monkeypatch.setattr(side_by_side, "LEAST_TEXT", 1000)
    monkeypatch.setattr(side_by_side, "_processors", lambda: 3)
    pieces = ts.compile(mixed, [x, w], cache=False, fallback="error")
    np.testing.assert_array_equal(pieces(x, w), whole(x, w))
    data = compile_pieces(whole.ir("ll"), host(), VECTOR_CODE)
    assert len(objects(data)) == 3


def test_objects_in_a_row() -> None:
    one = compile_object("define void @f() {\n  ret void\n}\n")
    two = compile_object(MODULE)
    assert objects(one + two + one) == [one, two, one]
    assert objects(one) == [one]
    assert objects(b"no object") == [b"no object"]
