"""Eager operators against PyTorch over its operator database: a few samples of every entry.

`conformance.py` runs all of them and prints the counts.
"""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("needs PyTorch and expecttest", allow_module_level=True)

import conformance as survey_of
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
