"""The files that `make test-torch` runs are those that can see PyTorch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from oracle_files import TESTS, compares_with_torch

LOOSE = re.compile(r"^\s*(?:import|from) torch\b|importorskip\(.torch|mark\.torch", re.MULTILINE)


def test_what_compares_is_kept() -> None:
    for file in TESTS.rglob("test_*.py"):
        if file != Path(__file__) and LOOSE.search(file.read_text()):
            assert compares_with_torch(file), file


@pytest.mark.parametrize("name", ["test_cli_errors", "test_te_schedule", "test_ptx_kernels"])
def test_what_needs_no_torch_is_left_out(name: str) -> None:
    (file,) = TESTS.rglob(f"{name}.py")
    assert not compares_with_torch(file)
