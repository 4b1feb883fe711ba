"""Eager operators against PyTorch over its operator database: a few samples of every entry.

`conformance.py` runs all of them and prints the counts.
"""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("needs PyTorch and expecttest", allow_module_level=True)

import conformance as survey_of
import operator_tiers
from conformance import AGREES, KNOWN, REFUSED, SKIPPED
from opinfo_programs import THROUGH

pytestmark = pytest.mark.torch
LIMIT = 2
WIDE, NARROW = ("float32", "int64"), ("bool", "bfloat16", "complex64", "float64", "float16")
ENTRIES = survey_of.in_scope()


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str) -> None:
    """Samples in the two dtypes that everybody uses."""
    for dtype in WIDE:
        if (name, dtype) in KNOWN:
            continue
        tally = survey_of.survey(ENTRIES[name], name, dtype, LIMIT)
        assert tally.verdict in (AGREES, SKIPPED), tally.why


def test_tiers_name_entries() -> None:
    """No row of the map of entries to operators is dead, and each function has an entry."""
    named = {n for name, op in ENTRIES.items() for n in operator_tiers.names_of(name, op)}
    functions = " ".join(operator_tiers.FUNCTIONS.values()).split()
    assert set(operator_tiers.RUNS) <= set(ENTRIES)
    assert {n for names in operator_tiers.RUNS.values() for n in names.split()} <= set(
        operator_tiers.tiers()
    )
    assert set(functions) <= named


@pytest.mark.parametrize("tier", [1, 2])
def test_tiers_without_entries_are_provided(tier: int) -> None:
    """What the database cannot compare has at least a row of ours."""
    states = operator_tiers.uncovered(ENTRIES)[tier]
    assert states
    assert "not provided" not in states.values()


@pytest.mark.parametrize("entry, tier", [("add", 1), ("T", 1), ("__radd__", 1), ("half", 1),
    ("nn.functional.interpolate/nearest-exact", 2), ("nn.functional.interpolate/bilinear", 1),
    ("logical_and", 2), ("masked.sum", 3), ("linalg.svd", 3), ("special.i0e", 3)])  # fmt: skip
def test_tier_of(entry: str, tier: int) -> None:
    assert operator_tiers.tier_of(entry, ENTRIES[entry]) == tier


@pytest.mark.parametrize("name, dtype", KNOWN, ids=[" ".join(k) for k in KNOWN])
def test_known_difference(name: str, dtype: str) -> None:
    """Strict: an entry that agrees leaves the table."""
    tally = survey_of.survey(ENTRIES[name], name, dtype, limit=48)
    assert tally.verdict not in (AGREES, SKIPPED), "agrees by now: take it out of KNOWN"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("name", list(ENTRIES)[::20])
def test_program(name: str, through: str) -> None:
    """A sample traced, scripted and compiled; what native code refuses it refuses with a reason."""
    tally = survey_of.survey(ENTRIES[name], name, "float32", 1, through=through)
    assert tally.verdict in (AGREES, SKIPPED, REFUSED), tally.why


@pytest.mark.slow
@pytest.mark.parametrize("dtype", NARROW)
def test_dtype(dtype: str) -> None:
    differing = {
        name: tally.why[:1]
        for name, op in ENTRIES.items()
        if (name, dtype) not in KNOWN
        and (tally := survey_of.survey(op, name, dtype, LIMIT)).verdict not in (AGREES, SKIPPED)
    }
    assert not differing
