"""What specialisation prints: views by index maps, branches, loops, assertions."""

from __future__ import annotations

import io

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.base import dtypes
from tensorscript.dialects.te.ops import TE
from tensorscript.dialects.tg.ops import TG
from tensorscript.frontends.script.api import compile_function
from tensorscript.lowering.ts_to_tg.specialise import Specialised, specialise
from tensorscript.lowering.ts_to_tg.specs import ScalarSpec, TensorSpec

torch = pytest.importorskip("torch")
Tensor = torch.Tensor

MATRIX = TensorSpec(dtypes.float32, ("N", 4))


def text_of(out: Specialised) -> str:
    stream = io.StringIO()
    Printer(stream).print_op(out.module)
    return stream.getvalue()


def printed(fn, *specs) -> str:
    """The text, which must parse back to itself."""
    compiled = compile_function(fn)
    out = specialise(compiled.module, compiled.name, specs)
    text = text_of(out)
    context = Context()
    for dialect in (Builtin, TG, TE):
        context.load_dialect(dialect)
    again = Parser(context, text).parse_module()
    again.verify()
    stream = io.StringIO()
    Printer(stream).print_op(again)
    assert stream.getvalue() == text
    return text


def transposed(x: Tensor):
    return x.t()[1:] + 1


def test_views_are_index_maps() -> None:
    text = printed(transposed, MATRIX)
    assert "a0.f32[i1, i0 + 1] + (1.0).f32" in text
    assert "tg.view" not in text


def choose(x: Tensor, n: int):
    return x * 2 if n > 3 else x.relu()


def test_branch() -> None:
    text = printed(choose, MATRIX, ScalarSpec(dtypes.int64))
    assert text.count("tg.if") == 1
    assert text.count("tg.yield") == 2


def pruned(x: Tensor):
    if x.size(1) == 4:
        return x + 1
    return x.sum()


def test_known_branch_is_pruned() -> None:
    text = printed(pruned, MATRIX)
    assert "tg.if" not in text
    assert "tg.reduce" not in text


def repeated(x: Tensor, n: int):
    for i in range(n):
        x = x * i
    return x


def test_loop() -> None:
    assert printed(repeated, MATRIX, ScalarSpec(dtypes.int64)).count("tg.loop") == 1


def halved(x: Tensor, n: int):
    return x * (10 // n)


def test_division_is_checked() -> None:
    text = printed(halved, MATRIX, ScalarSpec(dtypes.int64))
    assert "tg.assert" in text
    assert "division by 0" in text
