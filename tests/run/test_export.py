"""Ahead-of-time export: a C program links the object, checks results and statuses."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends.cpu.signature import ArraySpec
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.compiler.export import export_library, export_object
from tensorscript.compiler.function import CompiledFunction

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

LIBC = {
    "malloc", "free", "posix_memalign", "memcpy", "memset", "memmove", "syscall", "sysconf",
    "sched_getaffinity", "sched_setaffinity", "sched_getcpu", "getpid", "sched_yield", "nanosleep",
    "sigfillset", "abort", "__errno_location", "usleep", "mmap", "munmap", "madvise",
}  # fmt: skip


def softmax(x):  # type: ignore[no-untyped-def]
    return ts.softmax(x, 1)


def scale(x, factor: float, n: int, flip: bool):  # type: ignore[no-untyped-def]
    if n < 0:
        raise ValueError("negative n")
    y = x * factor + n
    if flip:
        y = -y
    return y, int(n * 2)


def rows(x):  # type: ignore[no-untyped-def]
    return x.sum(1)


def compiled(fn: object, *inputs: object) -> CompiledFunction:
    made = ts.compile(fn, inputs, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


def build_and_run(folder: Path, source: str, *objects: str) -> str:
    """Compile a C program with warnings as errors, link it, run it."""
    (folder / "main.c").write_text(source)
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-std=c11", "main.c", *objects]
    done = subprocess.run(
        [*command, "-lm", "-lpthread", "-o", "main"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


SOFTMAX_PROGRAM = r"""
#include "softmax.h"
#include <math.h>
#include <stdio.h>

static float x[64 * 100], plain[64 * 100], packed[64 * 100];

int main(void) {
  for (int i = 0; i < 6400; i++) x[i] = (float)((i * 37) % 101) / 25 - 2;
  if (softmax_raw(x, plain) != SOFTMAX_OK) return 1;
  for (int r = 0; r < 64; r++) {
    double sum = 0, norm = 0;
    for (int c = 0; c < 100; c++) norm += exp(x[r * 100 + c]);
    for (int c = 0; c < 100; c++) {
      sum += plain[r * 100 + c];
      if (fabs(plain[r * 100 + c] - exp(x[r * 100 + c]) / norm) > 1e-6) return 2;
    }
    if (fabs(sum - 1) > 1e-5) return 3;
  }
  int64_t shape[2] = {64, 100}, strides[2] = {100, 1}, wrong[2] = {1, 64}, small[2] = {64, 99};
  DLTensor in = {x, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
  DLTensor out = {packed, {1, 0}, 2, {2, 32, 1}, shape, strides, 0};
  if (softmax(&in, &out) != SOFTMAX_OK) return 4;
  for (int i = 0; i < 6400; i++)
    if (packed[i] != plain[i]) return 5;
  printf("%d %s\n", softmax(NULL, &out), softmax_error());
  in.device.device_type = 2;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.device.device_type = 1;
  in.dtype.bits = 64;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.dtype.bits = 32;
  in.ndim = 1;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.ndim = 2;
  in.shape = small;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.shape = shape;
  in.strides = wrong;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.shape = NULL;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  in.shape = shape, in.strides = NULL, out.data = NULL;
  printf("%d %s\n", softmax(&in, &out), softmax_error());
  return 0;
}
"""


def test_a_c_program_uses_the_object(tmp_path: Path) -> None:
    f = compiled(softmax, np.zeros((64, 100), np.float32))
    f.export_object(tmp_path / "softmax.o", header=tmp_path / "softmax.h")
    lines = build_and_run(tmp_path, SOFTMAX_PROGRAM, "softmax.o").splitlines()
    assert lines == [
        "2 argument 'x' is NULL",
        "3 argument 'x' is not on the CPU",
        "4 argument 'x': expected dtype float32",
        "5 argument 'x': expected 2 dimension(s)",
        "6 argument 'x': expected shape 64x100",
        "7 argument 'x': expected row-major contiguous",
        "2 argument 'x' has no shape",
        "2 argument 'out0' has no data",
    ]


def test_the_object_needs_libc_only(tmp_path: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    f = compiled(softmax, np.zeros((64, 100), np.float32))
    export_object(f, tmp_path / "m.o")
    done = subprocess.run(["nm", "-u", "m.o"], cwd=tmp_path, capture_output=True, text=True)
    undefined = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    strange = {s for s in undefined if not s.startswith("pthread_")} - LIBC
    assert not strange


SCALE_PROGRAM = r"""
#include "scale.h"
#include <stdio.h>

int main(void) {
  float x[3] = {1, 2, 3}, y[3];
  int64_t twice = 0;
  if (scale_raw(x, 0.5, 4, true, y, &twice)) return 1;
  printf("%g %g %g %d\n", y[0], y[1], y[2], (int)twice);
  int status = scale_raw(x, 0.5, -1, false, y, &twice);
  printf("%d %s\n", status, scale_error());
  return 0;
}
"""


def test_scalars_and_program_errors(tmp_path: Path) -> None:
    f = compiled(
        scale, np.zeros(3, np.float32), ts.ScalarSpec("float"), ts.ScalarSpec("int"),
        ts.ScalarSpec("bool"),
    )  # fmt: skip
    export_library(f, tmp_path / "libscale.a", header=tmp_path / "scale.h")
    lines = build_and_run(tmp_path, SCALE_PROGRAM, "libscale.a").splitlines()
    assert lines[0] == "-4.5 -5 -5.5 8"
    assert lines[1].startswith("1 ") and "negative n" in lines[1]


ROWS_PROGRAM = r"""
#include "rows.h"
#include <stdio.h>

int main(void) {
  float x[5 * 3], y[5];
  for (int i = 0; i < 15; i++) x[i] = (float)i;
  for (int64_t n = 2; n <= 5; n++) {
    int64_t in_shape[2] = {n, 3}, out_shape[1] = {n};
    DLTensor in = {x, {1, 0}, 2, {2, 32, 1}, in_shape, NULL, 0};
    DLTensor out = {y, {1, 0}, 1, {2, 32, 1}, out_shape, NULL, 0};
    if (rows(&in, &out)) return 1;
    for (int64_t r = 0; r < n; r++)
      if (y[r] != x[r * 3] + x[r * 3 + 1] + x[r * 3 + 2]) return 2;
    out_shape[0] = n + 1;
    if (rows(&in, &out) != ROWS_SHAPE) return 3;
  }
  puts("ok");
  return 0;
}
"""


def test_dynamic_sizes(tmp_path: Path) -> None:
    f = compiled(rows, ts.TensorSpec(("N", 3)))
    export_object(f, tmp_path / "rows.o", header=tmp_path / "rows.h")
    assert build_and_run(tmp_path, ROWS_PROGRAM, "rows.o") == "ok\n"
    assert "rows_raw" not in (tmp_path / "rows.h").read_text()


def test_shared_library(tmp_path: Path) -> None:
    f = compiled(rows, np.zeros((4, 3), np.float32))
    export_library(f, tmp_path / "librows.so", header=tmp_path / "rows.h")
    program = (
        '#include "rows.h"\nint main(void) { float x[12] = {1}, y[4]; return rows_raw(x, y); }'
    )
    build_and_run(tmp_path, program, "./librows.so")


def test_what_the_program_refuses_is_not_exported(tmp_path: Path) -> None:
    def product(a, b):  # type: ignore[no-untyped-def]
        return a @ b

    f = ts.compile(product, cache=False)
    f(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        f(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
    made = export_object(f, tmp_path / "m.o")
    shapes = [given.shape for given in made.inputs if isinstance(given, ArraySpec)]
    assert str(shapes) == "[(2, 3), (3, 4)]"


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not specialised yet"):
        export_object(ts.compile(rows, cache=False), tmp_path / "m.o")
    assert not (tmp_path / "m.o").exists()


def says(x, n: int):  # type: ignore[no-untyped-def]
    label = "first"
    for i in range(n):
        print(label, i, f"of {n}:", float(x[i]), [i, n], x.size(0) > 3)
        label = label + "!"
        if float(x[i]) > 1:
            warnings.warn("large: " + str(float(x[i])), stacklevel=2)
        if float(x[i]) < 0:
            raise ValueError("negative")
    warnings.warn("end", stacklevel=2)
    return x.sum()


SAYS_PROGRAM = r"""
#include "says.h"
#include <stdio.h>

int main(void) {
  float x[3] = {0.5f, 2.0f, 3.25f}, y;
  int64_t size = 3;
  DLTensor in = {x, {1, 0}, 1, {2, 32, 1}, &size, NULL, 0};
  DLTensor out = {&y, {1, 0}, 0, {2, 32, 1}, NULL, NULL, 0};
  printf("before\n");
  if (says(&in, 3, &out) != SAYS_OK) return 1;
  printf("sum %.2f\n", y);
  x[1] = -1;
  if (says(&in, 3, &out) != SAYS_PROGRAM) return 2;
  printf("after\n");
  return 0;
}
"""

SAID = """\
before
first 0 of 3: 0.5 [0, 3] False
first! 1 of 3: 2. [1, 3] False
first!! 2 of 3: 3.25 [2, 3] False
sum 5.75
first 0 of 3: 0.5 [0, 3] False
first! 1 of 3: -1. [1, 3] False
after
"""


def exported_says(folder: Path) -> None:
    x = np.zeros(3, np.float32)
    f = ts.compile(says, (x, 2), cache=False, cpu=KNOWN_TO_VALGRIND, fallback="error")
    f.export_object(folder / "says.o", folder / "says.h")


def test_what_is_printed_and_warned_of(tmp_path: Path) -> None:
    exported_says(tmp_path)
    assert build_and_run(tmp_path, SAYS_PROGRAM, "says.o") == SAID
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    first = says.__code__.co_firstlineno
    place = f"{__file__}:{{}}: UserWarning: "
    expected = [place.format(first + 6) + "large: 2.", place.format(first + 9) + "end"]
    assert done.stderr.splitlines() == expected


@pytest.mark.slow
def test_valgrind_finds_nothing_with_texts(tmp_path: Path) -> None:
    exported_says(tmp_path)
    assert build_and_run(tmp_path, SAYS_PROGRAM, "says.o") == under_valgrind(tmp_path)


def test_a_print_without_a_native_text_is_refused(tmp_path: Path) -> None:
    def shows(x):  # type: ignore[no-untyped-def]
        print("given", x)
        return x

    f = ts.compile(shows, (np.zeros(2, np.float32),), cache=False, fallback="error")
    with pytest.raises(NotCompilable, match="prim::Print: the text of a value that exported code"):
        export_object(f, tmp_path / "m.o")
    assert not (tmp_path / "m.o").exists()


def primes(limits: list[int], scale: float):
    found: list[int] = []
    for limit in limits:
        for n in range(2, limit):
            prime = True
            for p in range(2, n):
                if n % p == 0:
                    prime = False
            if prime:
                found.append(n)
    return found, [x * scale for x in found], len(found), found[0]


PRIMES_PROGRAM = r"""
#include "primes.h"
#include <stdio.h>

int main(void) {
  int64_t limits[] = {8, 4}, size = 2, found_shape[1], scaled_shape[1], count, first;
  DLTensor in = {limits, {1, 0}, 1, {0, 64, 1}, &size, NULL, 0};
  DLTensor found = {NULL, {1, 0}, 1, {0, 64, 1}, found_shape, NULL, 0};
  DLTensor scaled = {NULL, {1, 0}, 1, {2, 64, 1}, scaled_shape, NULL, 0};
  if (primes(&in, 0.5, &found, &scaled, &count, &first) != PRIMES_OK) return 1;
  for (int64_t k = 0; k < found_shape[0]; k++)
    printf("%lld %.1f\n", (long long)((int64_t *)found.data)[k], ((double *)scaled.data)[k]);
  printf("%lld %lld\n", (long long)count, (long long)first);
  primes_free(found.data);
  primes_free(scaled.data);
  size = 0;
  if (primes(&in, 0.5, &found, &scaled, &count, &first) != PRIMES_PROGRAM) return 2;
  printf("%s\n", primes_error());
  size = -1;
  printf("%d ", primes(&in, 0.5, &found, &scaled, &count, &first));
  size = 2;
  printf("%d\n", primes(&in, 0.5, &found, &scaled, NULL, &first));
  size = 0, in.data = NULL;
  return found.data != NULL || primes(&in, 0.5, &found, &scaled, &count, &first) != PRIMES_PROGRAM;
}
"""


def test_lists_that_grow(tmp_path: Path) -> None:
    made = compiled(primes, [5, 6], 0.5)
    made.export_object(tmp_path / "primes.o", tmp_path / "primes.h")
    lines = build_and_run(tmp_path, PRIMES_PROGRAM, "primes.o").splitlines()
    assert lines[:7] == ["2 1.0", "3 1.5", "5 2.5", "7 3.5", "2 1.0", "3 1.5", "6 2"]
    assert lines[7].startswith("list index out of range")
    assert "<--- HERE" in lines[-2]
    assert lines[-1] == "6 2"


def under_valgrind(folder: Path) -> str:
    """Run `folder`/main; leaks and wrong accesses are errors."""
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    done = subprocess.run(
        ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "./main"],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


KNOWN_TO_VALGRIND = "x86-64-v3"

UNLOADING = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  float *x = calloc(500 * 2000, 4), *y = malloc(500 * 4);
  for (int k = 0; k < 5; k++) {
    void *library = dlopen("./librows.so", RTLD_NOW);
    int (*rows)(const float *, float *);
    if (!library) return 1;
    *(void **)&rows = dlsym(library, "exponentials_raw");
    if (rows(x, y) || y[499] != 2000) return 2;
    if (dlclose(library)) return 3;
  }
  free(x), free(y);
  return puts("ok") < 0;
}
"""


def exponentials(x):  # type: ignore[no-untyped-def]
    return ts.exp(x).sum(1)


def test_a_library_that_is_unloaded_takes_its_threads_along(tmp_path: Path) -> None:
    inputs = (np.zeros((500, 2000), np.float32),)
    f = ts.compile(exponentials, inputs, cache=False, cpu=KNOWN_TO_VALGRIND, fallback="error")
    export_library(f, tmp_path / "librows.so")
    assert build_and_run(tmp_path, UNLOADING, "-ldl") == "ok\n"
    assert under_valgrind(tmp_path) == "ok\n"


@pytest.mark.slow
def test_valgrind_finds_nothing_with_lists(tmp_path: Path) -> None:
    f = ts.compile(primes, ([5, 6], 0.5), cache=False, cpu=KNOWN_TO_VALGRIND, fallback="error")
    f.export_object(tmp_path / "primes.o", tmp_path / "primes.h")
    assert build_and_run(tmp_path, PRIMES_PROGRAM, "primes.o") == under_valgrind(tmp_path)


@pytest.mark.slow
def test_valgrind_finds_nothing_with_named_sizes(tmp_path: Path) -> None:
    specs = (ts.TensorSpec(("N", 3)),)
    f = ts.compile(rows, specs, cache=False, cpu=KNOWN_TO_VALGRIND, fallback="error")
    f.export_object(tmp_path / "rows.o", tmp_path / "rows.h")
    build_and_run(tmp_path, ROWS_PROGRAM, "rows.o")
    assert under_valgrind(tmp_path) == "ok\n"
