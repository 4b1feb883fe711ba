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


@pytest.mark.parametrize("name", list(ENTRIES)[::20])
def test_compiled(name: str) -> None:
    """A sample as machine code; what native code refuses it refuses with a reason."""
    tally = survey_of.survey(ENTRIES[name], name, "float32", 1, through="native-trace")
    assert tally.verdict in (AGREES, SKIPPED, REFUSED), tally.why


@pytest.mark.slow
@pytest.mark.parametrize("through", ["script", "trace", "native", "native-trace"])
def test_way(through: str) -> None:
    differing = {
        f"{name} {dtype}": tally.why[:1]
        for name, op in ENTRIES.items()
        for dtype in WIDE
        if (tally := survey_of.survey(op, name, dtype, 1, through=through)).verdict
        not in (AGREES, SKIPPED, REFUSED)
    }
    assert not differing


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
