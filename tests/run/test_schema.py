"""The schema table: every line parses and prints back; order and lazy loading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tensorscript.base import schema as table
from tensorscript.base.schema import overloads, parse_schema, schema

LINES = (Path(table.__file__).parent / table.TABLE_FILE).read_text(encoding="utf-8").splitlines()


def test_every_line_prints_back() -> None:
    wrong = [line for line in LINES if str(parse_schema(line)) != line]
    assert not wrong


def test_full_names_are_unique() -> None:
    names = [parse_schema(line).full_name for line in LINES]
    assert len(names) == len(set(names))


def test_overload_order_and_lookup() -> None:
    assert [s.overload for s in overloads("aten::add")][:4] == [
        "Tensor", "Scalar", "out", "Scalar_out",
    ]  # fmt: skip
    found = schema("aten::add.Tensor")
    assert found.full_name == "aten::add.Tensor"
    alpha = found.argument("alpha")
    assert alpha is not None
    assert (alpha.default, alpha.kwarg_only, alpha.type.kind) == (1, True, "Scalar")
    assert not found.is_mutable
    with pytest.raises(KeyError):
        schema("aten::add.nothing")
    assert overloads("aten::no_such_thing") == ()


def test_aliases_and_types() -> None:
    out = schema("aten::add.out")
    assert out.is_mutable and out.is_out
    append = schema("aten::append.t")
    assert str(append.arguments[0].alias) == "(a!)"
    assert str(append.arguments[1].alias) == "(c -> *)"
    assert append.arguments[0].type.element.kind == "var"
    pool = schema("aten::max_pool2d").arguments
    assert pool[1].type.size == 2 and pool[1].type.element.kind == "int"
    assert pool[2].default == ()
    assert schema("aten::index.Tensor").arguments[1].type.element.is_optional
    assert schema("aten::items.int").returns[0].type.element.kind == "Tuple"
    strip = schema("aten::strip").argument("chars")
    assert strip is not None and strip.default == " \n\t\f\v"


def test_import_reads_nothing() -> None:
    code = (
        "import tensorscript.base.schema as s, sys; assert s._lines.cache_info().currsize == 0;"
        "assert not {'torch', 'xdsl', 'llvmlite'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
