"""Products on a matrix unit: do the loops mean the product, which instructions do they become, and
does a processor that has one (Intel's AMX) give the same numbers?"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from emit_harness import Compiled, parse_te

import tensorscript as ts
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.target import host, parse
from tensorscript.base.dtypes import bfloat16, int8
from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.ops import functions
from tensorscript.lowering.schedules.candidates import rounds, variations
from tensorscript.lowering.schedules.contraction_tile import Blocking
from tensorscript.lowering.schedules.contraction_tiles import tiles_misfit
from tensorscript.lowering.schedules.cpu import CPUParameters, schedule_kernel
from tensorscript.lowering.te.evaluate import evaluate
from tensorscript.lowering.te.verify import verify_function

UNIT = CPUParameters(tiles=frozenset((bfloat16, int8)), checked=True)
LINUX = "x86_64-unknown-linux-gnu"
BYTES = ("int8", "uint8")

has_unit = pytest.mark.skipif(not host().tiles, reason="needs a processor with AMX")


def product(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w


def widened(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu((x.int() @ w.int()).float() * 0.5 + 1)


def of_rows(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w.t()


def numbers(kind: str, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """Whole numbers: small ones for bfloat16, whose products and sums are exact then."""
    random = np.random.default_rng(seed)
    if kind == "bfloat16":
        return random.integers(-3, 4, shape).astype(np.float32)
    ends = np.iinfo(kind)
    return random.integers(ends.min, ends.max, shape, kind, endpoint=True)


def of_wide(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What `widened` gives."""
    whole = (x.astype(np.int64) @ w.astype(np.int64)).astype(np.float32)
    return np.maximum(whole * np.float32(0.5) + 1, 0)


def logical_kernel(kinds: tuple[str, str], size: tuple[int, int, int]) -> str:
    rows, depth, columns = size
    specs = [
        ts.TensorSpec(shape, getattr(ts, kind))
        for shape, kind in zip(((rows, depth), (depth, columns)), kinds, strict=True)
    ]
    program = product if kinds[0] == "bfloat16" else widened
    text = ts.compile(program, specs, target=LINUX, fallback="error").ir("te")
    found = re.search(r"  te\.func @k0 .*?\n  }", text, re.DOTALL)
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("kinds", "size"),
    [
        (("bfloat16", "bfloat16"), (17, 66, 33)),  # parts of a tile on every side
        (("bfloat16", "bfloat16"), (8, 96, 48)),  # one register of rows
        (("int8", "int8"), (17, 130, 16)),
        (("uint8", "int8"), (16, 64, 32)),
        (("int8", "uint8"), (16, 64, 33)),
        (("uint8", "uint8"), (16, 128, 16)),
    ],
)
def test_the_loops_mean_the_product(kinds: tuple[str, str], size: tuple[int, int, int]) -> None:
    rows, depth, columns = size
    module = parse_te(logical_kernel(kinds, size))
    (func,) = functions(module)
    schedule = schedule_kernel(func, UNIT)
    assert "tiles of" in str(schedule)
    func.properties["level"] = type(func.level)("scheduled")
    verify_function(func)
    x, w = numbers(kinds[0], (rows, depth)), numbers(kinds[1], (depth, columns), 1)
    out = np.zeros((rows, columns), np.float32)
    if kinds[0] == "bfloat16":
        out = np.zeros((rows, columns), np.uint16)
        given = [(a.view(np.uint32) >> 16).astype(np.uint16) for a in (x, w)]
        wanted = ts.from_numpy(x @ w).bfloat16().float().numpy()
    else:
        given, wanted = [x, w], of_wide(x, w)
    evaluate(func, {"p0": given[0], "p1": given[1], "o0": out}, module=module)
    found = (out.astype(np.uint32) << 16).view(np.float32) if out.dtype == np.uint16 else out
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("kinds", "instruction"),
    [
        (("bfloat16", "bfloat16"), "tdpbf16ps"),
        (("int8", "int8"), "tdpbssd"),
        (("int8", "uint8"), "tdpbsud"),
        (("uint8", "int8"), "tdpbusd"),
        (("uint8", "uint8"), "tdpbuud"),
    ],
)
def test_the_inner_loop_is_tiles_alone(kinds: tuple[str, str], instruction: str) -> None:
    specs = [ts.TensorSpec((256, 256), getattr(ts, kind)) for kind in kinds]
    program = product if kinds[0] == "bfloat16" else widened
    compiled = ts.compile(program, specs, target=LINUX, cpu="sapphirerapids", fallback="error")
    lines = compiled.asm().splitlines()
    at = [k for k, line in enumerate(lines) if f"\t{instruction}\t" in line]
    assert len(at) == 4
    first = max(k for k in range(at[0]) if lines[k].startswith(".LBB"))
    last = next(k for k in range(at[-1], len(lines)) if re.match(r"\tj\w+\t", lines[k]))
    inside = [line.split()[0] for line in lines[first:last] if line[:1] == "\t"]
    assert inside.count("tileloadd") == 4
    assert not [name for name in inside if name.startswith("v")]  # nothing goes through vectors
    assert not [line for line in lines[first:last] if "rsp" in line]


def test_processors_without_a_unit_and_strict_programs_use_none() -> None:
    specs = [ts.TensorSpec((64, 64), ts.bfloat16)] * 2
    for cpu, strict in (("znver4", False), ("x86-64-v4", False), ("sapphirerapids", True)):
        compiled = ts.compile(
            product, specs, target=LINUX, cpu=cpu, strict=strict, fallback="error"
        )
        assert "tile acc" not in compiled.ir("scheduled")
        assert "tdpbf16ps" not in compiled.asm()


NEST = """te.func @k kernel scheduled (x: i8[16, 64], w: i8[16, 16, 4], out y: i32[16, 16]) {{
  te.alloc tile t: i32[16, 16]
  te.for i0 in 0 .. 16 matrix {{
    te.for j0 in 0 .. 16 matrix {{
      te.store t[i0, j0] = {start}
    }}
  }}
  te.for i in 0 .. 16 matrix {{
    te.for j in 0 .. 16 matrix {{
      te.for g in 0 .. 16 matrix reduce {{
        te.for u in 0 .. 4 matrix reduce {{
          te.update t[i, j] add= i32(x.i8[i, {k}]) * i32(w.i8[g, j, u])
        }}
      }}
    }}
  }}
  te.for i1 in 0 .. 16 matrix {{
    te.for j1 in 0 .. 16 matrix {{
      te.store y[i1, j1] = t.i32[i1, j1]
    }}
  }}
}}"""


def test_matrix_loops_run_in_order_where_there_is_no_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(host()), "tiles", frozenset())
    x, w = numbers("int8", (16, 64)), numbers("int8", (16, 16, 4))
    y = np.zeros((16, 16), np.int32)
    compiled = Compiled(NEST.format(start="(0).i32", k="g * 4 + u"))
    assert "x86.tile" not in compiled.text
    assert compiled(x, w, y) == 0
    depth = w.transpose(0, 2, 1).reshape(64, 16)
    np.testing.assert_array_equal(y, x.astype(np.int32) @ depth.astype(np.int32))


@pytest.mark.parametrize(("start", "k"), [("(1).i32", "g * 4 + u"), ("(0).i32", "u * 16 + g")])
def test_what_the_unit_has_no_instruction_for_is_refused(start: str, k: str) -> None:
    module = parse_te(NEST.format(start=start, k=k))
    target = parse(LINUX, "sapphirerapids")
    with pytest.raises(InternalError, match="the matrix unit has no instruction for"):
        emit_module(module, target, {"k": "k_entry"})


def test_registers_are_reached_by_matrix_loops_alone() -> None:
    text = NEST.format(start="(0).i32", k="g * 4 + u").replace("16 matrix {\n    te.for j1", "16 "
        "serial {\n    te.for j1")  # fmt: skip
    text = text.replace("te.for j1 in 0 .. 16 matrix", "te.for j1 in 0 .. 16 vector")
    with pytest.raises(InternalError, match="only matrix loops reach t"):
        emit_module(parse_te(text), parse(LINUX, "sapphirerapids"), {"k": "k_entry"})


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ((32, 32, 16, 128, 4), None),
        ((16, 64, 16, 128, 1), None),
        ((48, 32, 16, 128, 4), "no register"),
        ((20, 32, 16, 128, 4), "multiple of 16 rows"),
        ((32, 32, 8, 128, 4), "16 lanes"),
        ((32, 32, 16, 100, 4), "block of the depth"),
    ],
)
def test_blockings(parameters: tuple[int, ...], reason: str | None) -> None:
    found = tiles_misfit(*parameters)
    assert found is None if reason is None else found is not None and reason in found


@has_unit
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "size",
    [(2, 33, 16), (40, 70, 50), (16, 33, 100), (100, 1000, 20), (32, 64, 32), (64, 1100, 96),
     (300, 512, 300), (100, 64, 40), (1, 64, 64), (31, 63, 65), (96, 2048, 33)],
    ids=str,
)  # fmt: skip
def test_products_of_bfloat16(size: tuple[int, int, int], threads: int) -> None:
    rows, depth, columns = size
    x, w = numbers("bfloat16", (rows, depth)), numbers("bfloat16", (depth, columns), 1)
    wanted = ts.from_numpy(x @ w).bfloat16().tolist()
    before = ts.get_num_threads()
    ts.set_num_threads(threads)
    try:
        for program, second in ((product, w), (of_rows, np.ascontiguousarray(w.T))):
            given = [ts.from_numpy(a).bfloat16() for a in (x, second)]
            compiled = ts.compile(program, given, fallback="error")
            assert compiled(*given).tolist() == wanted
    finally:
        ts.set_num_threads(before)


@has_unit
@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_products_of_bytes(left: str, right: str) -> None:
    for rows, depth, columns in [(40, 70, 33), (16, 128, 16), (9, 1300, 100), (257, 256, 64)]:
        x, w = numbers(left, (rows, depth)), numbers(right, (depth, columns), 1)
        compiled = ts.compile(widened, (x, w), fallback="error")
        assert "tiles of quads" in compiled.ir("schedule")
        np.testing.assert_array_equal(compiled(x, w), of_wide(x, w))


def test_a_tuner_tries_tiles_of_the_unit() -> None:
    kernel = logical_kernel(("bfloat16", "bfloat16"), (64, 64, 64))
    (func,) = functions(parse_te(kernel))
    found = [
        made.parameters.blocking
        for number in range(rounds(func, UNIT))
        for made in variations(func, UNIT, UNIT, number)
    ]
    tiles = {(b.rows, b.columns) for b in found if isinstance(b, Blocking)}
    assert {(16, 64), (16, 16)} <= tiles
    assert all(isinstance(b, Blocking) and tiles_misfit(*astuple(b)) is None for b in found)


@has_unit
def test_batches_views_and_arrays_that_begin_anywhere() -> None:
    x, w = numbers("bfloat16", (3, 40, 64)), numbers("bfloat16", (3, 64, 48), 1)
    given = [ts.from_numpy(a).bfloat16() for a in (x, w)]
    compiled = ts.compile(product, given, fallback="error")
    assert compiled(*given).tolist() == ts.from_numpy(x @ w).bfloat16().tolist()
    bits = np.zeros(2 * 64 * 64 + 1, np.uint16)
    for start in (0, 1):
        place = ts.from_numpy(bits[start : start + 64 * 64].reshape(64, 64)).view(ts.bfloat16)
        place.copy_(ts.from_numpy(numbers("bfloat16", (64, 64))).bfloat16())
        found = ts.compile(product, (place, place), fallback="error")(place, place)
        wide = place.float().numpy()
        assert found.tolist() == ts.from_numpy(wide @ wide).bfloat16().tolist()


PROGRAM = r"""
#include "product.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#ifdef REFUSES
/* What the object asks the system by. */
long syscall(long number, ...) { return number == 158 ? -1 : 0; }
#endif

static uint16_t x[64 * 64], y[64 * 64], z[64 * 64];

int main(void) {
  for (int i = 0; i < 64 * 64; i++) x[i] = i % 65 == 0 ? 0x4000 : 0, y[i] = 0x3f80;
  product_set_num_threads(1);
  int status = product_raw(x, y, z);
  printf("%d %x %s\n", status, z[100], status ? product_error() : "");
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("refuses", [False, True])
def test_an_object_asks_the_system_for_the_unit(tmp_path: Path, refuses: bool) -> None:
    if host().vector_bytes < 64 or not (refuses or host().tiles):
        pytest.skip("needs a processor with AMX" + ", or AVX-512 at least" * refuses)
    specs = [ts.TensorSpec((64, 64), ts.bfloat16)] * 2
    compiled = ts.compile(product, specs, cpu="sapphirerapids", fallback="error")
    compiled.export_object(tmp_path / "product.o", header=tmp_path / "product.h")
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = ["-DREFUSES"] if refuses else []
    subprocess.run(
        ["cc", *flags, "main.c", "product.o", "-lm", "-lpthread", "-o", "main"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    if refuses:
        assert ran.stdout.startswith("1 0 the system does not give this process the registers")
    else:
        assert ran.stdout == "0 4000 \n"
