"""A C program around an exported model: arrays come from files, results go to files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tensorscript.backends.cpu.c_entry import dlpack_code
from tensorscript.backends.cpu.signature import ArraySpec, Signature

_WARNINGS = ("-Wall", "-Wextra", "-Werror")

_HEAD = r"""
#include "model.h"
#include <stdio.h>
#include <stdlib.h>

static size_t bytes_of(DLTensor t) {
  size_t count = t.dtype.bits / 8;
  for (int k = 0; k < t.ndim; k++) count *= (size_t)t.shape[k];
  return count;
}

static DLTensor room(uint8_t code, uint8_t bits, int32_t ndim, int64_t *shape) {
  DLTensor t = {NULL, {1, 0}, ndim, {code, bits, 1}, shape, NULL, 0};
  t.data = aligned_alloc(64, (bytes_of(t) + 64) / 64 * 64);
  if (!t.data) exit(90);
  return t;
}

static DLTensor load(const char *path, uint8_t code, uint8_t bits, int32_t ndim, int64_t *shape) {
  DLTensor t = room(code, bits, ndim, shape);
  FILE *file = fopen(path, "rb");
  if (!file || fread(t.data, 1, bytes_of(t), file) != bytes_of(t)) exit(91);
  fclose(file);
  return t;
}

static void save(const char *path, DLTensor t) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(t.data, 1, bytes_of(t), file) != bytes_of(t)) exit(92);
  fclose(file);
}
"""


def _kind(spec: ArraySpec) -> str:
    return f"{dlpack_code(spec.dtype)}, {spec.dtype.bits}"


def _shape(shape: Sequence[int]) -> str:
    return f"{len(shape)}, (int64_t[]){{{', '.join(map(str, shape)) or '0'}}}"


def program_text(
    signature: Signature,
    calls: Sequence[tuple[Sequence[np.ndarray], Sequence[np.ndarray]]],
    weights: str = "",
    keeps_state: bool = False,
) -> str:
    """C text of a program that makes `calls` of the exported function `model`.

    Args:
        calls: (inputs, results as they should be, whose shapes are used) of each.
        weights: the file to load first.
        keeps_state: the function takes a `model_state`.
    """
    lines = ["int main(void) {"]
    if weights:
        lines.append(f'  if (model_load_weights("{weights}")) return puts(model_error()), 80;')
    if keeps_state:
        lines += ["  model_state state;", "  model_init_state(&state);"]
    for call, (inputs, results) in enumerate(calls):
        names = ["state"] if keeps_state else []
        lines.append("  {")
        for k, (spec, array) in enumerate(zip(signature.inputs, inputs, strict=True)):
            assert isinstance(spec, ArraySpec)
            path = f'"{call}.in{k}.bin"'
            lines.append(f"    DLTensor i{k} = load({path}, {_kind(spec)}, {_shape(array.shape)});")
            names.append(f"i{k}")
        for k, (spec, array) in enumerate(zip(signature.outputs, results, strict=True)):
            assert isinstance(spec, ArraySpec)
            lines.append(f"    DLTensor o{k} = room({_kind(spec)}, {_shape(array.shape)});")
            if spec.grown:
                lines.append(f"    free(o{k}.data);")
            names.append(f"o{k}")
        arguments = ", ".join(f"&{name}" for name in names)
        lines.append(f"    if (model({arguments})) return puts(model_error()), 81;")
        for k, spec in enumerate(signature.outputs):
            free = "model_free" if isinstance(spec, ArraySpec) and spec.grown else "free"
            lines += [f'    save("{call}.out{k}.bin", o{k});', f"    {free}(o{k}.data);"]
        lines += [f"    free(i{k}.data);" for k in range(len(inputs))]
        lines.append("  }")
    return _HEAD + "\n".join([*lines, "  return 0;", "}", ""])


def build(folder: Path, text: str, *objects: str) -> None:
    """Compile and link `folder`/main, warnings as errors."""
    (folder / "main.c").write_text(text)
    done = subprocess.run(
        ["cc", *_WARNINGS, "-std=c11", "main.c", *objects, "-o", "main", "-lm", "-lpthread"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def run(folder: Path, *wrapper: str) -> subprocess.CompletedProcess[str]:
    """Run `folder`/main, below `wrapper` if one is given."""
    return subprocess.run(
        [*wrapper, "./main"], cwd=folder, capture_output=True, text=True, timeout=300
    )


def write_inputs(folder: Path, calls: Sequence[tuple[Sequence[np.ndarray], object]]) -> None:
    for call, (inputs, _) in enumerate(calls):
        for k, array in enumerate(inputs):
            np.ascontiguousarray(array).tofile(folder / f"{call}.in{k}.bin")


def check_results(
    folder: Path, calls: Sequence[tuple[Sequence[np.ndarray], Sequence[np.ndarray]]]
) -> None:
    """What the program wrote is what it should be, to 1e-4."""
    for call, (_, results) in enumerate(calls):
        for k, wanted in enumerate(results):
            found = np.fromfile(folder / f"{call}.out{k}.bin", wanted.dtype).reshape(wanted.shape)
            scale = np.abs(wanted).max(initial=1e-3) if wanted.dtype.kind == "f" else 1
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * scale)
