"""The suite that runs PyTorch's tests counts how they end, in a checkout that it only reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPERS = """
import torch
import torch.jit._logging
from torch.testing._internal.common_utils import TestCase, suppress_warnings

class JitTestCase(TestCase):
    pass
"""

TESTS = """
import os
import unittest
import torch
import torch.nn.functional as F
from torch._C import no_such_name
from torch.testing import FileCheck
from torch.testing._internal.jit_utils import JitTestCase
from torch.no.such.module import decorated

class TestIt(JitTestCase):
    def test_passes(self):
        import torch.jit
        f = torch.jit.script(lambda_free)
        FileCheck().check("aten::relu").run(f.graph)
        self.assertEqual(f(torch.ones(2)), F.relu(torch.ones(2)))
        self.assertEqual(torch.__name__, "tensorscript")

    def test_opens_what_scripts_share(self):
        self.assertEqual(torch.jit.script([1, 2]), [1, 2])
        self.assertEqual(torch.jit.script({"a": [1]}), {"a": [1]})
        self.assertEqual(range(2), [0, 1])
        self.assertNotEqual(torch.jit.script([1, 2]), [1, 3])
        self.assertEqual(torch.tensor([3]), 3)

    def test_fails(self):
        self.assertEqual(torch.ones(1), torch.zeros(1))

    def test_has_other_dtype(self):
        self.assertEqual(torch.ones(1), torch.ones(1).double())

    def test_dies(self):
        os._exit(3)

    def test_asks_for_more(self):
        no_such_name(1)

    @decorated("of something")
    def test_is_decorated_by_more(self):
        raise AssertionError

def lambda_free(x):
    return torch.relu(x)
"""


def test_counts(tmp_path: Path) -> None:
    helpers = tmp_path / "torch" / "testing" / "_internal"
    tests = tmp_path / "test" / "jit"
    for folder in (helpers, tests):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (helpers / "jit_utils.py").write_text(HELPERS)
    (tests / "test_it.py").write_text(TESTS)
    files = sorted(tmp_path.rglob("*"))
    suite = Path(__file__).with_name("pytorch_suite.py")
    command = [sys.executable, str(suite), str(tmp_path), "jit.test_it", "-v"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split(maxsplit=1) == [
        "all", "2 passed, 2 failed, 2 skipped, 1 died",
    ]  # fmt: skip
    assert "no torch._C.no_such_name" in done.stdout
    assert sorted(tmp_path.rglob("*")) == files
