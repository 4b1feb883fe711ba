"""Latencies of a fresh process: import, first calls cold and from the disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


def child(text: str, cache: str, bytecode: str) -> list[float]:
    """What a program prints in a fresh interpreter that has a cache folder of its own, and the
    bytecode of its modules in another one, as an installed package has it beside them."""
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(HERE), cache, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    file = Path(cache) / "child.py"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    found: dict[str, list[float]] = {}

    def note(name: str, seconds: float) -> None:
        found.setdefault(name, []).append(seconds)

    with tempfile.TemporaryDirectory() as bytecode:
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
    print(json.dumps({name: 1e3 * min(times) for name, times in found.items()}))


if __name__ == "__main__":
    main()
