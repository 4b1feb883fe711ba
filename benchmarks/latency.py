"""Latencies of a fresh process: import, first calls cold and from the disk cache, those of peers,
and the cost of compiling long programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from long_programs import KINDS, OPERATIONS, source
from run import installed

HERE = Path(__file__).resolve().parent
CHAIN = """
import sys, time
start = time.perf_counter()
import tensorscript as ts
imported = time.perf_counter() - start
import numpy as np

def chain(x, y):
    return ts.sigmoid(x * y + 1) * x

x = np.ones((64, 64), np.float32)
f = ts.compile(chain)  # loads the compiler; the call below compiles
begin = time.perf_counter()
f(x, x)
print(imported, time.perf_counter() - begin, time.perf_counter() - start)
"""
RESNET = """
import sys, time
start = time.perf_counter()
sys.modules["torch"] = None  # the model is written with our own layers
import numpy as np
import tensorscript as ts
from image_models import resnet18

ts.manual_seed(0)
f = ts.compile(resnet18().eval())
x = np.ones((1, 3, 224, 224), np.float32)
begin = time.perf_counter()
f(x)
print(time.perf_counter() - begin, time.perf_counter() - start)
"""

COST = """
import time
import numpy as np
import tensorscript as ts
from long_program import long_program

def double(x):
    return x * 2

x, y = np.random.default_rng(0).uniform(0.5, 1, (2, 8, 8)).astype(np.float32)
ts.compile(double, (x,))  # imports the compiler
start = time.perf_counter()
ts.compile(long_program, (x, y), fallback="error", cache=False)
print(time.perf_counter() - start)
"""
_START = """
import time
start = time.perf_counter()
import numpy as np
x = np.ones((64, 64), np.float32)
"""
_END = "\nprint(time.perf_counter() - start)\n"
PEERS = {
    "torch": """
import torch
x = torch.from_numpy(x)
torch.sigmoid(x * x + 1) * x
""",
    "torch.jit": """
import torch

@torch.jit.script
def chain(x, y):
    return torch.sigmoid(x * y + 1) * x

x = torch.from_numpy(x)
chain(x, x)
""",
    "torch.compile": """
import torch

@torch.compile
def chain(x, y):
    return torch.sigmoid(x * y + 1) * x

x = torch.from_numpy(x)
chain(x, x)
""",
    "onnxruntime": """
import sys, onnxruntime
chain = onnxruntime.InferenceSession(sys.path[0] + "/chain.onnx")
chain.run(None, {"x": x, "y": x})
""",
    "jax": """
import jax
jax.jit(lambda x, y: jax.nn.sigmoid(x * y + 1) * x)(x, x).block_until_ready()
""",
    "numba": """
import numba

@numba.njit(parallel=True, fastmath=True, cache=True)
def chain(x, y):
    out = np.empty_like(x)
    a, b, c = x.ravel(), y.ravel(), out.ravel()
    for i in numba.prange(a.size):
        c[i] = a[i] / (np.float32(1) + np.exp(-(a[i] * b[i] + np.float32(1))))
    return out

chain(x, x)
""",
}
"""The chain as each library's users start it; ONNX Runtime reads a model that is there."""
_NEEDS = {"torch.jit": "torch", "torch.compile": "torch"}
EXPORT = """
import torch, warnings
warnings.simplefilter("ignore")

class Chain(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x * y + 1) * x

x = torch.ones(64, 64)
torch.onnx.export(Chain(), (x, x), __file__.replace("child.py", "chain.onnx"),
                  input_names=["x", "y"], dynamo=False, opset_version=17)
"""


def child(text: str, cache: str, bytecode: str) -> list[float]:
    """What a program prints in a fresh interpreter that has a cache folder of its own, and the
    bytecode of its modules in another one, as an installed package has it beside them."""
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(HERE), cache, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    environment |= {"TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor", "NUMBA_CACHE_DIR": cache}
    file = Path(cache) / "child.py"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


Note = Callable[[str, float], None]


def own_starts(note: Note, bytecode: str) -> None:
    """Ours: of a chain of operations, and of a model."""
    for program in (CHAIN, RESNET):  # an installation has bytecode
        with tempfile.TemporaryDirectory() as cache:
            child(program, cache, bytecode)
    for _ in range(5):
        with tempfile.TemporaryDirectory() as cache:
            for how in ("cold", "from the disk cache"):
                imported, first, whole = child(CHAIN, cache, bytecode)
                note("import tensorscript", imported)
                note(f"first call of the chain, {how}", first)
                note(f"start to first result of the chain, {how}", whole)
    for _ in range(2):
        with tempfile.TemporaryDirectory() as cache:
            for how in ("cold", "from the disk cache"):
                first, whole = child(RESNET, cache, bytecode)
                note(f"first call of ResNet-18, {how}", first)
                note(f"start to first result of ResNet-18, {how}", whole)


def peer_starts(note: Note, bytecode: str) -> None:
    """Those of the other libraries, of the same chain."""
    for name, program in PEERS.items():
        if _NEEDS.get(name, name) not in installed():
            continue
        for _ in range(2):
            with tempfile.TemporaryDirectory() as cache:
                if name == "onnxruntime":
                    child(EXPORT, cache, bytecode)
                for how in ("cold", "again"):
                    (whole,) = child(_START + program + _END, cache, bytecode)
                    note(f"start to first result of the chain, {name}, {how}", whole)


def costs(note: Note, bytecode: str) -> None:
    """What an operation of long programs takes to compile."""
    for kind in KINDS:
        for count in OPERATIONS:
            with tempfile.TemporaryDirectory() as cache:
                (Path(cache) / "long_program.py").write_text(source(kind, count))
                (whole,) = child(COST, cache, bytecode)
                note(f"compiling an operation of {kind}, of {count}", whole / count)


def main() -> None:
    found: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        found.setdefault(name, []).append(seconds)

    with tempfile.TemporaryDirectory() as bytecode:
        for part in (own_starts, peer_starts, costs):
            part(note, bytecode)
    print(json.dumps({name: 1e3 * min(times) for name, times in found.items()}))


if __name__ == "__main__":
    main()
