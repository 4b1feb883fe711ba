"""Two exported modules in one program: their names do not meet, and threads call both at once, each
with a state of its own that lies anywhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

PROGRAM = r"""
#include "first.h"
#include "second.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WORK(NAME)                                                                   \
  static void *NAME##_work(void *bad) {                                              \
    char *room = malloc(sizeof(NAME##_state) + 8);                                   \
    NAME##_state *state = (NAME##_state *)(room + 8);                                \
    float x[4 * 50], y[50];                                                          \
    int64_t calls = 0;                                                               \
    for (int k = 0; k < 200; k++) x[k] = 1;                                          \
    NAME##_init_state(state);                                                        \
    for (int k = 1; k <= 200; k++)                                                   \
      if (NAME##_raw(state, x, y, &calls) || calls != k || y[0] != 4 * k || y[49] != 4 * k) \
        *(int *)bad = k;                                                             \
    free(room);                                                                      \
    return NULL;                                                                     \
  }
WORK(first)
WORK(second)

int main(void) {
  int bad[4] = {0};
  pthread_t threads[4];
  if (second_load_weights("first.weights") != SECOND_WEIGHTS) return 1;
  if (first_load_weights("first.weights") || second_load_weights("second.weights")) return 2;
  for (int k = 0; k < 4; k++)
    if (pthread_create(&threads[k], NULL, k % 2 ? first_work : second_work, &bad[k])) return 3;
  for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);
  printf("%d %d %d %d\n", bad[0], bad[1], bad[2], bad[3]);
  return 0;
}
"""


class Sums(ts.nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.weight = ts.nn.Parameter(ts.full([50], float(seed)))
        self.register_buffer("sums", ts.zeros(50))
        self.calls = 0

    def forward(self, x):  # type: ignore[no-untyped-def]
        self.calls += 1
        self.sums += (x * self.weight / self.weight).sum(0)
        return self.sums, self.calls


def test_two_objects_and_four_threads(tmp_path: Path) -> None:
    for number, name in enumerate(("first", "second")):
        module = ts.jit.script(Sums(number + 2).eval())
        inputs = (np.ones((4, 50), np.float32),)
        made = ts.compile(module, inputs, fallback="error", cache=False)
        made.export_object(
            tmp_path / f"{name}.o", tmp_path / f"{name}.h", name=name,
            weights=tmp_path / f"{name}.weights",
        )  # fmt: skip
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    done = subprocess.run(
        ["cc", *flags, "main.c", "first.o", "second.o", "-lm", "-lpthread", "-o", "main"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ran = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout == "0 0 0 0\n"
