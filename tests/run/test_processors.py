"""The names of processors are LLVM's: it takes every one of the table, and others are refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tensorscript.backends import target
from tensorscript.backends.processors import PROCESSORS
from tensorscript.base.errors import UserError

_SHOW = """
import sys
import llvmlite.binding as llvm

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""


@pytest.mark.parametrize("architecture", sorted(PROCESSORS))
def test_llvm_knows_every_name(architecture: str) -> None:
    command = [sys.executable, "-c", _SHOW, f"{architecture}-unknown-linux-gnu"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    listed = done.stderr.partition("Available features")[0].splitlines()
    known = {words[0] for line in listed if (words := line.split())}
    assert len(known) > 50
    assert not PROCESSORS[architecture] - known


@pytest.mark.parametrize("triple", ["cpu", "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_unknown_processors_are_refused(triple: str) -> None:
    with pytest.raises(UserError, match=r"unknown processor 'abacus' for .*: give LLVM's name"):
        target.parse(triple, "abacus")
