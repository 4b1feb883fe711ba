"""Layers against PyTorch over its module database: a case of every entry in every mode.

`module_conformance.py` runs all of them and prints the counts.
"""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("needs PyTorch and expecttest", allow_module_level=True)

from conformance import AGREES, REFUSED, SKIPPED
from module_conformance import THROUGH, compared, refusal
from module_samples import cases, entries, refused, torch

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
LIMIT = 2


@pytest.mark.parametrize("name", entries())
def test_eager(name: str) -> None:
    for training in (True, False):
        for case in cases(entries()[name], torch.float32, training, LIMIT):
            outcome, why = compared(case, "eager")
            assert outcome in (AGREES, SKIPPED), f"{case}: {why}"


@pytest.mark.slow
@pytest.mark.parametrize("through", [way for way in THROUGH if way != "eager"])
@pytest.mark.parametrize("name", list(entries())[::10])
def test_program(name: str, through: str) -> None:
    for case in cases(entries()[name], torch.float64, False, 1):
        outcome, why = compared(case, through)
        assert outcome in (AGREES, SKIPPED, REFUSED), f"{case}: {why}"


@pytest.mark.parametrize("name", [n for n, info in entries().items()
                                  if info.module_error_inputs_func])  # fmt: skip
def test_refusals(name: str) -> None:
    for case in refused(entries()[name], torch.float32, True):
        outcome, why = refusal(case)
        assert outcome in (AGREES, SKIPPED), f"{case}: {why}"
