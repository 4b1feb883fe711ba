"""How often the weights of a model are in memory: once when loaded, once more when packed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nn_models
import pytest

import tensorscript as ts

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux's /proc"
)

MEASURE = """
import sys
import numpy as np
import tensorscript as ts
import tensorscript.jit

def held():
    with open("/proc/self/status") as status:
        found = dict(line.split(":") for line in status)
    return [int(found[name].split()[0]) for name in ("VmHWM", "RssAnon")]

ts.ones(1) + 1  # the table of operators is there
found = [held()]
model = ts.jit.load(sys.argv[1])
found.append(held())
image = np.ones((1, 3, 224, 224), np.float32)
compiled = ts.compile(model, (image,), cache=False, fallback="error")
for _ in range(2):
    compiled(image)
found.append(held())
print(found)
"""


@pytest.mark.slow
def test_weights_are_held_once_and_once_packed(tmp_path: Path) -> None:
    model = nn_models.resnet18_of_width(ts, 64, 1000).eval()
    ts.jit.save(ts.jit.script(model), tmp_path / "model.pt")
    weights = sum(p.numel() for p in model.parameters()) * 4 / 1024
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "model.pt")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    start, loaded, ran = eval(done.stdout)
    # Loading maps the file: its pages are the system's, and none are copied.
    assert loaded[0] - start[0] < 1.25 * weights and loaded[1] - start[1] < 0.25 * weights
    # Afterwards the packed weights and the arena are there; the folded ones are gone.
    assert ran[1] - start[1] < 2 * weights
    # At its height: mapped weights, folded or packed ones, LLVM, and the arena.
    assert ran[0] - start[0] < 4.25 * weights
