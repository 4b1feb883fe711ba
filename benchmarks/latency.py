"""Latencies of a fresh process: import, first call cold, first call from the disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

CHILD = """
import sys, time
start = time.perf_counter()
import tensorscript as ts
imported = time.perf_counter() - start
import numpy as np

def chain(x, y):
    return ts.sigmoid(x * y + 1) * x

x = np.ones((64, 64), np.float32)
f = ts.compile(chain)  # loads the compiler; the call below compiles
start = time.perf_counter()
f(x, x)
print(imported, time.perf_counter() - start)
"""


def child(cache: str) -> tuple[float, float]:
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(CHILD)
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, file.name], env=environment, capture_output=True, text=True, check=True
    )
    os.unlink(file.name)
    imported, first = map(float, done.stdout.split())
    return imported, first


def main() -> None:
    cold, warm, imports = [], [], []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as cache:
            imported, first = child(cache)
            imports.append(imported)
            cold.append(first)
            warm.append(child(cache)[1])
    best = {
        "import tensorscript": min(imports),
        "first call of the chain, cold": min(cold),
        "first call of the chain, from the disk cache": min(warm),
    }
    print(json.dumps({name: 1e3 * seconds for name, seconds in best.items()}))


if __name__ == "__main__":
    main()
