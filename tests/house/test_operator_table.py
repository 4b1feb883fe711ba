"""Operator x table: what of the schema table runs natively, in the interpreter, or nowhere."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tensorscript.base.schema import has_operator, schema
from tensorscript.eager.kernels.table import KERNELS
from tensorscript.lowering.ts_to_tg.further_rows import FURTHER
from tensorscript.lowering.ts_to_tg.table import ORDINARY, SPLIT, TABLES

ROOT = Path(__file__).resolve().parents[2]


def _load() -> ModuleType:
    """docs/make_operators.py, which is a script and no module of the package."""
    name = "make_operators"
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = _load()
TIER_1 = [n for text in TABLE.TIER_1.values() for n in text.split()]
# Overloads of tier-1 operators that run nowhere, for a reason that is a decision and no omission.
ALLOWED_REASONS = {
    "named tensors", "an internal twin of another overload",
}  # fmt: skip
KNOWN_GAPS: frozenset[str] = frozenset()


@pytest.mark.parametrize("tier", [1, 2])
def test_tiers_name_operators_of_the_schema_table(tier: int) -> None:
    names = [n for text in TABLE.TIERS[tier].values() for n in text.split()]
    assert [n for n in names if not has_operator(f"aten::{n}")] == []


@pytest.mark.parametrize("tier", [1, 2])
def test_every_operator_of_the_tiers_is_native_or_interpreted(tier: int) -> None:
    names = {n for text in TABLE.TIERS[tier].values() for n in text.split()}
    assert {n for n in names if TABLE.state(n) == "not provided"} == set()


def test_the_missing_overloads_of_tier_1_are_known() -> None:
    missing = {
        row.schema.full_name
        for name in TIER_1
        for row in TABLE.gaps(name)
        if row.reason not in ALLOWED_REASONS and not row.schema.is_out
    }
    assert missing == set(KNOWN_GAPS)


def test_every_row_names_an_operator() -> None:
    """A row for a name that no program can contain is dead or misspelt."""
    for key in KERNELS:
        assert schema(key).full_name == key
    keys = [k for table in TABLES.values() for k in table if k.startswith("aten::")]
    for key in keys:
        if "." in key:
            assert schema(key).full_name == key


def test_ordinary_families_have_all_rows_of_their_operators() -> None:
    """What an ordinary operator has no row for is not looked for in families not yet imported."""
    ordinary, further = ({key.partition(".")[0] for key in rows} for rows in (ORDINARY, FURTHER))
    assert ordinary & further == SPLIT
    assert not ORDINARY.keys() & FURTHER.keys()


def test_the_page_is_current() -> None:
    page = TABLE.PAGE.read_text(encoding="utf-8")
    assert page == TABLE.page(), "run `python docs/make_operators.py`"
