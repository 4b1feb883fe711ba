"""Peaks of memory of fresh processes that load an archive and run it: ours and PyTorch's.

`python memory.py` measures ResNet-18 at batch 1 (44.7 MiB of weights) and twelve linear layers of
2048 x 2048 at batch 64 (192 MiB). A peak is the process's greatest resident set (`VmHWM`); the
files that it maps count, which is where our weights lie before anything is made of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEAK = """
import sys
sys.path.insert(0, sys.argv[3])
import numpy as np

def peak(what):
    with open("/proc/self/status") as status:
        found = dict(line.split(":") for line in status)
    print(what, int(found["VmHWM"].split()[0]) / 1024)

size = {"resnet18": (1, 3, 224, 224), "linear": (64, 2048)}[sys.argv[2]]
x = np.ones(size, np.float32)
"""
OURS = """
import tensorscript as ts
import tensorscript.jit

peak("imported")
model = ts.jit.load(sys.argv[1])
peak("loaded")
compiled = ts.compile(model, (x,), fallback="error")
for _ in range(2):
    compiled(x)
peak("ran")
"""
LOADED = """
import torch

peak("imported")
model = torch.jit.load(sys.argv[1])
peak("loaded")
with torch.no_grad():
    for _ in range(3):  # the executor optimizes in the second call
        model(torch.from_numpy(x))
peak("ran")
"""
EAGER = """
import torch
import image_models

peak("imported")
made = {"resnet18": image_models.resnet18, "linear": image_models.linear_layers}
model = made[sys.argv[2]]().eval()
peak("loaded")
with torch.no_grad():
    for _ in range(2):
        model(torch.from_numpy(x))
peak("ran")
"""
MAKE = """
import tensorscript as ts
import tensorscript.jit
sys.modules["torch"] = None  # the model is written with our own layers
import image_models

made = {"resnet18": image_models.resnet18, "linear": image_models.linear_layers}
ts.jit.save(ts.jit.script(made[sys.argv[2]]().eval()), sys.argv[1])
"""


def peaks(text: str, archive: Path, model: str, cache: Path) -> dict[str, float]:
    """MiB at the stages of one program in a fresh interpreter, on one thread."""
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PEAK + text, str(archive), model, str(HERE)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return {what: float(amount) for what, amount in lines}


def main() -> None:
    programs = (
        ("TensorScript, cold", OURS),
        ("TensorScript, kernels from the cache", OURS),
        ("PyTorch, torch.jit.load", LOADED),
        ("PyTorch, eager module", EAGER),
    )
    for model in ("resnet18", "linear"):
        with tempfile.TemporaryDirectory() as folder:
            archive, cache = Path(folder) / "model.pt", Path(folder) / "cache"
            peaks(MAKE, archive, model, cache)
            for name, text in programs:
                found = peaks(text, archive, model, cache)
                stages = ", ".join(f"{what} {amount:.0f}" for what, amount in found.items())
                print(f"{model}: {name}: {stages} MiB")


if __name__ == "__main__":
    main()
