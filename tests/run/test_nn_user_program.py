"""A user's program runs unchanged with `import tensorscript as torch`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("nn_user_program.py")


def output(text: str, path: Path) -> str:
    path.write_text(text)
    command = [sys.executable, "-W", "ignore", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def ours(text: str) -> str:
    """The program over tensorscript: only its imports differ."""
    text = re.sub(r"^import torch$", "import tensorscript as torch", text, flags=re.M)
    return re.sub(r"^(import|from) torch\b", r"\1 tensorscript", text, flags=re.M)


def test_the_program_runs(tmp_path: Path) -> None:
    printed = output(ours(PROGRAM.read_text()), tmp_path / "program.py")
    assert printed.startswith("Net(\n  (emb): Embedding(20, 8)\n")
    assert printed.splitlines()[-1] == "gains ParameterList"


@pytest.mark.torch
def test_it_prints_what_pytorch_prints(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = PROGRAM.read_text()
    expected = output(text, tmp_path / "program.py")
    assert output(ours(text), tmp_path / "program.py") == expected
