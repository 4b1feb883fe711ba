"""Operators with numbers that the program finds in tensors: natively as in eager mode, or refused
in words; never another result."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable

NATIVE = (
    "F.interpolate(x, size=[n, m], mode='bilinear')",
    "F.interpolate(x, size=[n, m], mode='nearest')",
    "F.interpolate(x, size=[n, m], mode='bicubic')",
    "F.pad(x, [n, m, 0, 1])",
    "F.pad(x, [-n, m])",
    "F.pad(x, [n, m, 1, 1], mode='replicate')",
    "F.affine_grid(ts.ones(2, 2, 3), [2, 3, n, m], True)",
    "x.reshape(n, -1)",
    "x.repeat(n, 1, 1, m)",
    "x.narrow(3, n - 2, m)",
    "x[:, :, n:, :m]",
    "x.select(3, n)",
    "x.unfold(2, n, m)",
    "x.as_strided([n, m], [8, 1])",
    "x.as_strided([n], [1000])",
    "x.diagonal(n - 3, 2, 3)",
    "x.roll(n, 3)",
    "x.roll(-n)",
    "x.topk(n, dim=-1)[0]",
    "ts.tril(x, n)",
    "ts.eye(n, m)",
    "ts.arange(m, 30, n)",
    "ts.arange(0.5, float(a), float(b) / 16)",
    "ts.arange(float(a), -1.0, -0.75)",
    "ts.arange(float(a), 3.0, 1.0, dtype=ts.float64)",
    "ts.arange(30, m, -n)",
    "ts.arange(m, 30, n - 4)",
    "nn.utils.rnn.pad_sequence([x[0, 0, :n], x[0, 1, :m]], True, 2.0)",
    "nn.utils.rnn.pad_sequence([x[0, 0, :n], x[0, 1, m:]], padding_side='left')",
    "ts.linspace(0, 1, n)",
    "ts.hann_window(n)",
    "ts.cat([x[..., :n], x[..., :m]], -1)",
    "x.chunk(n, -1)[0]",
    "x.split(n, 3)[0]",
    "ts.addmm(x[0, 0].log(), x[0, 1], x[0, 2], beta=n - 2).nan_to_num(7.0)",
    "ts.add(x, x, alpha=n)",
    "F.fold(x[:1, :, :4].reshape(1, 12, 16), [5, 5], 2, padding=n - 2 + 0)[..., :m]",
)
REFUSED = (
    "ts.tensor_split(x, n, 3)[0]",
    "F.avg_pool2d(x, n)",
    "F.max_pool2d(x, n)",
    "F.unfold(x, n)",
    "x[:, :, ::n]",
)
"""These change how the program is built, which is decided before the numbers are known."""


def program(expression: str) -> Any:
    name = f"<{expression}>"
    text = (
        "def program(x, a, b):\n"
        "    n, m = int(a.floor()), int(b.floor())\n"
        f"    return {expression}\n"
    )
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"ts": ts, "nn": ts.nn, "F": ts.nn.functional}
    exec(compile(text, name, "exec"), space)
    return space["program"]


def arguments(n: float, m: float) -> tuple[ts.Tensor, ts.Tensor, ts.Tensor]:
    x = ts.arange(2 * 3 * 8 * 8).reshape(2, 3, 8, 8).float().sin()
    return x, ts.tensor(n), ts.tensor(m)


@pytest.mark.parametrize("expression", NATIVE)
def test_native(expression: str) -> None:
    run = program(expression)
    compiled = ts.compile(ts.jit.script(run), fallback="error")
    for n, m in ((2.0, 4.0), (4.0, 2.5)):
        try:
            expected = run(*arguments(n, m))
        except RuntimeError:
            with pytest.raises(RuntimeError):
                compiled(*arguments(n, m))
            continue
        found = compiled(*arguments(n, m))
        assert found.shape == expected.shape
        assert ts.allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(expression: str) -> None:
    compiled = ts.compile(ts.jit.script(program(expression)), fallback="error")
    with pytest.raises(NotCompilable, match=r"aten::\w+(\.\w+)?: .*known"):
        compiled(*arguments(2.0, 4.0))
