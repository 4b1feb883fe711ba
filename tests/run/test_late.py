"""What is imported late: all of it is there, and a hit of the disk cache takes none of it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from xdsl.ir import Operation

import tensorscript as ts
from tensorscript.compiler import late, late_api, late_folding, late_gpu, late_programs
from tensorscript.compiler.collecting import uncollected
from tensorscript.compiler.jit import late_graph, late_save
from tensorscript.dialects.tg import late_formats
from tensorscript.eager import late_kernels
from tensorscript.lowering.schedules import late_cpu
from tensorscript.lowering.schedules import late_kernels as late_written
from tensorscript.lowering.ts_to_tg import late_complex, late_rows

PROGRAM = """
import json, sys
import numpy as np
import tensorscript as ts

def chain(x, y):
    return ts.sigmoid(x * y + 1) * x

ones = np.ones((4, 4), np.float32)
value = float(ts.compile(chain, fallback="error")(ones, ones)[0, 0])
ours = [name for name in sys.modules if name.startswith(("tensorscript.", "xdsl."))]
print(json.dumps([value, sorted(ours)]))
"""
MAKES_CODE = (
    "tensorscript.compiler.making",
    "tensorscript.lowering.schedules",
    "tensorscript.lowering.ts_to_tg.table",
    "tensorscript.backends.llvm.emit",
)
SELDOM = (
    "tensorscript.compiler.folding",
    "tensorscript.compiler.gpu",
    "tensorscript.compiler.tune",
    "tensorscript.compiler.jit.graph",
    "tensorscript.compiler.jit.load",
    "tensorscript.compiler.jit.save",
    "tensorscript.backends.ptx",
    "tensorscript.frontends.torchscript",
    "tensorscript.frontends.trace.tracer",
    "tensorscript.eager.kernels.table",
    "tensorscript.eager.layouts",
    "tensorscript.lowering.schedules.cpu_host",
    "tensorscript.lowering.schedules.cpu_kernels",
    "tensorscript.lowering.schedules.cpu_lines",
    "tensorscript.lowering.schedules.cpu_rows",
    "tensorscript.lowering.schedules.gpu",
    "tensorscript.lowering.schedules.kernels",
    "tensorscript.lowering.ts_to_tg.complex_rows",
    "tensorscript.lowering.ts_to_tg.further_rows",
    "xdsl.irdl.declarative_assembly_format",
)
"""What most programs never need."""
HOMES = (
    late,
    late_api,
    late_folding,
    late_gpu,
    late_graph,
    late_programs,
    late_save,
    late_kernels,
    late_cpu,
    late_written,
    late_formats,
    late_complex,
    late_rows,
)


@pytest.mark.parametrize("home", HOMES)
def test_every_name_is_found(home: ModuleType) -> None:
    for name in home.__all__:
        found = getattr(home, name)
        assert isinstance(found, dict) or found.__name__ == name


@pytest.mark.parametrize("home", HOMES)
def test_no_other_name_is_found(home: ModuleType) -> None:
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        home.Missing  # noqa: B018  # that is what is tested


def test_a_hit_of_the_disk_cache_imports_nothing_that_makes_code(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = os.environ | {"TENSORSCRIPT_CACHE_DIR": str(tmp_path / "cache")}

    def run() -> tuple[float, set[str]]:
        command = [sys.executable, str(file)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        value, modules = json.loads(done.stdout)
        return value, set(modules)

    first, made = run()
    again, found = run()
    assert first == again
    assert set(MAKES_CODE) <= made
    assert not set(MAKES_CODE) & found
    assert not set(SELDOM) & made


def test_what_is_frozen_stays_frozen() -> None:
    program = (
        "import gc; gc.collect(); gc.freeze(); count = gc.get_freeze_count(); "
        "import tensorscript as ts; ts.compile; "
        "assert gc.isenabled() and 2 * gc.get_freeze_count() > count > 0"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert gc.isenabled()


def test_the_collector_rests_while_code_is_made_and_is_left_as_it_was() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="made"), uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
        raise ValueError("made")
    assert gc.isenabled()


def test_what_a_compilation_leaves_is_freed_with_it() -> None:
    """The stages are cycles, and hold weights; nobody else's objects are looked at for them."""
    layer = ts.nn.Linear(128, 96).eval()
    compiled, x = ts.compile(layer, fallback="error"), np.ones((4, 128), "f4")
    gc.collect()
    gc.disable()
    try:
        before = _operations()
        compiled(x)
        assert _operations() == before
    finally:
        gc.enable()


def _operations() -> int:
    # Not `isinstance`, which asks objects for their class: some of PyTorch's warn then.
    return sum(issubclass(type(found), Operation) for found in gc.get_objects())
