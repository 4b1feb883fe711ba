"""Modules that keep something between calls, ahead of time: C programs step through streams."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exported_program
import numpy as np
import pytest

import tensorscript as ts
from tensorscript import jit, nn
from tensorscript.base.errors import NotCompilable

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


class Recurrent(nn.Module):
    """A cell whose state is two buffers that get new values."""

    h: ts.Tensor
    c: ts.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.register_buffer("h", ts.zeros(1, 4))
        self.register_buffer("c", ts.ones(1, 4))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.h, self.c = self.cell(x, (self.h, self.c))
        return self.h


class Cached(nn.Module):
    """Attention over a cache that is written in place, at a position that is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.keys = nn.Linear(4, 4)
        self.register_buffer("cache", ts.zeros(8, 4))
        self.position = 0
        self.started = False

    def forward(self, x: ts.Tensor) -> tuple[ts.Tensor, int]:
        if self.position >= 8:
            raise RuntimeError("the cache is full")
        self.cache[self.position] = self.keys(x)
        self.position += 1
        self.started = True
        past = ts.arange(8) < self.position
        scores = ts.where(past, self.cache @ x, ts.full((8,), -1e9))
        return ts.softmax(scores, 0) @ self.cache, self.position


class Nested(nn.Module):
    """State in a list, a dict and a tuple, and in a child."""

    def __init__(self) -> None:
        super().__init__()
        self.history: list[ts.Tensor] = [ts.zeros(2), ts.zeros(2)]
        self.sums: dict[str, ts.Tensor] = {"total": ts.zeros(2), "last": ts.ones(2)}
        self.scale = (1.0, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.history[0] = self.history[1]
        self.history[1] = x.sum(0)
        self.sums["total"] = self.sums["total"] + x.sum(0)
        self.scale = (self.scale[0] * 0.5, self.scale[1] + 1)
        y = self.norm(x) * self.scale[0] + self.scale[1]
        return y + self.history[0] + self.sums["total"] * self.sums["last"]


def flat(value: Any) -> list[Any]:
    return [part for v in value for part in flat(v)] if isinstance(value, tuple) else [value]


def exported(
    folder: Path, module: nn.Module, inputs: Sequence[ts.Tensor], *wrapper: str, cpu: str = ""
) -> None:
    """Build `folder`/main, which calls the module once for each input and writes the results, and
    run it below `wrapper`."""
    scripted = jit.script(module)
    loaded = jit.load(scripted.save_to_buffer())
    function = ts.compile(loaded, (inputs[0],), cache=False, cpu=cpu)
    signature = function.export_object(folder / "model.o", folder / "model.h", "model")
    calls = []
    for x in inputs:
        tensors = [r for r in flat(scripted(x)) if isinstance(r, ts.Tensor)]
        calls.append(([x.numpy()], [t.detach().numpy().copy() for t in tensors]))
    text = exported_program.program_text(signature, calls, keeps_state=True)
    exported_program.build(folder, text, "model.o")
    exported_program.write_inputs(folder, calls)
    done = exported_program.run(folder, *wrapper)
    assert done.returncode == 0, done.stdout + done.stderr
    exported_program.check_results(folder, calls)


def steps(*shape: int, count: int = 4) -> list[ts.Tensor]:
    rng = np.random.default_rng(0)
    return [ts.from_numpy(rng.standard_normal(shape).astype(np.float32)) for _ in range(count)]


def test_a_cell_that_keeps_its_state(tmp_path: Path) -> None:
    exported(tmp_path, Recurrent().eval(), steps(1, 3))


def test_state_in_containers_and_children(tmp_path: Path) -> None:
    exported(tmp_path, Nested(), steps(5, 2))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.parametrize(("module", "shape"), [(Recurrent, (1, 3)), (Nested, (5, 2))])
def test_valgrind_finds_nothing(module: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    checker = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full")
    exported(tmp_path, module().eval(), steps(*shape), *checker, cpu="x86-64-v3")


STREAMS = r"""
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static int differs(const float *a, const float *b) {
  for (int k = 0; k < 4; k++)
    if (fabsf(a[k] - b[k]) > 1e-5f) return 1;
  return 0;
}

int main(void) {
  model_state one, two;
  float x[8][4], first[8][4], again[4];
  int64_t count;
  FILE *file = fopen("in.bin", "rb");
  if (!file || fread(x, sizeof x, 1, file) != 1) return 1;
  fclose(file);
  model_init_state(&one);
  model_init_state(&two);
  for (int k = 0; k < 8; k++) {
    if (model_raw(&one, x[k], first[k], &count) || count != k + 1) return 2;
    if (model_raw(&two, x[k], again, &count) || count != k + 1) return 3;
    if (differs(first[k], again)) return 4;
  }
  two = one;
  if (!model_raw(&one, x[0], again, &count)) return 5;
  if (!strstr(model_error(), "the cache is full")) return puts(model_error()), 6;
  if (memcmp(&one, &two, sizeof one / 2)) return 7;
  model_init_state(&one);
  if (model_raw(&one, x[0], again, &count) || count != 1 || differs(first[0], again)) return 8;
  if (!model(NULL, NULL, NULL, NULL)) return 9;
  file = fopen("out.bin", "wb");
  return !file || fwrite(first, sizeof first, 1, file) != 1 || fclose(file);
}
"""


def test_streams_have_a_state_each_and_failures_change_nothing(tmp_path: Path) -> None:
    module, inputs = jit.script(Cached()), steps(4, count=8)
    function = ts.compile(jit.load(module.save_to_buffer()), (inputs[0],), cache=False)
    function.export_object(tmp_path / "model.o", tmp_path / "model.h", "model")
    np.stack([x.numpy() for x in inputs]).tofile(tmp_path / "in.bin")
    exported_program.build(tmp_path, STREAMS, "model.o")
    done = exported_program.run(tmp_path)
    assert done.returncode == 0, (done.returncode, done.stdout)
    found = np.fromfile(tmp_path / "out.bin", np.float32).reshape(8, 4)
    wanted = np.stack([module(x)[0].detach().numpy() for x in inputs])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_the_header_says_what_is_kept(tmp_path: Path) -> None:
    function = ts.compile(jit.script(Cached()), steps(4, count=1), cache=False)
    function.export_object(tmp_path / "m.o", tmp_path / "m.h", "m")
    text = (tmp_path / "m.h").read_text()
    assert "cache: 8x4 float32" in text and "position: int64_t" in text
    assert "void m_init_state(m_state *self);" in text
    assert "int m(m_state *self, const DLTensor *x, DLTensor *out0, int64_t *out1);" in text


class Growing(nn.Module):
    seen: ts.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", ts.zeros(0, 2))

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.seen = ts.cat([self.seen, x])
        return self.seen.sum()


class Appending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[ts.Tensor] = [ts.zeros(2)]

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        self.seen.append(x[0])
        return ts.stack(self.seen).sum(0)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Growing, "the attribute 'seen' gets another dtype or size"),
        (Appending, "the attribute 'seen' gets a value of another kind or size"),
    ],
)
def test_state_of_another_size_is_refused(module: Any, message: str, tmp_path: Path) -> None:
    function = ts.compile(jit.script(module()), steps(3, 2, count=1), cache=False)
    with pytest.raises(NotCompilable, match=f"cannot export m: {message}"):
        function.export_object(tmp_path / "m.o", name="m")
