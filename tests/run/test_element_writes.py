"""Elements of tensors read and written one by one: the interpreter's results, without copies."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.compiler.arguments import Taking, bind
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.native_module import host_function
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.lowering.te.evaluate import evaluate


def common_subsequence(a: Tensor, b: Tensor) -> int:
    n, m = a.size(0), b.size(0)
    dp = ts.zeros([n + 1, m + 1], dtype=ts.int64)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if int(a[i - 1]) == int(b[j - 1]):
                dp[i, j] = int(dp[i - 1, j - 1]) + 1
            else:
                dp[i, j] = max(int(dp[i - 1, j]), int(dp[i, j - 1]))
    return int(dp[n, m])


def recurrence_of_tensors(x: Tensor) -> Tensor:
    y = x.clone()
    for i in range(1, x.size(0)):
        for j in range(1, x.size(1)):
            y[i][j] = ts.minimum(y[i - 1, j], y[i, j - 1]) + x[i, j] * 2
    return y


def old_tensor_is_kept(x: Tensor, n: int):
    y = x.clone()
    for i in range(n):
        before = y.clone()
        y[i] = 5.0
        y[i] = y[i] + before[i] * 2 + before.sum()
    return y, x


def written_in_one_branch(x: Tensor, n: int):
    y = x * 1
    z = x * 2
    for i in range(n):
        if i % 2 == 0:
            y[i] = float(z[i]) + 1
        elif i % 3 == 0:
            z[i] = float(y[i]) - 1
    return y, z


def both_branches_read_it_after(x: Tensor, n: int):
    y = x + 1
    if n > 2:
        z = y.clone()
        z[n] = 0.0
    else:
        z = y
    return y, z


def swapped(x: Tensor, n: int):
    a = x + 1
    b = x * 3
    for i in range(n):
        a, b = b, a + float(b[i])
    return a, b


def swap_of_elements(x: Tensor):
    n = x.size(0)
    y = x.clone()
    for i in range(n // 2):
        t = y[i].clone()
        y[i] = y[n - 1 - i]
        y[n - 1 - i] = t
    return y


def argument_is_changed(x: Tensor, n: int):
    for i in range(n):
        x[i] = float(i)
        if i > 2:
            x[i] += 0.5
    return x.sum()


def until_small(x: Tensor):
    y = x.clone()
    steps = 0
    while float(y[0]) > 1.0:
        y[0] = float(y[0]) / 2
        y[steps % 3] += 1.0
        steps += 1
        if steps > 50:
            break
    return y, steps


X = np.arange(8, dtype=np.float32)
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (common_subsequence, (np.array([1, 2, 3, 2, 4]), np.array([2, 3, 1, 4]))),
    (recurrence_of_tensors, (np.arange(132, dtype=np.float32).reshape(12, 11),)),
    (old_tensor_is_kept, (X, 4)),
    (written_in_one_branch, (X, 8)),
    (both_branches_read_it_after, (X, 1)),
    (both_branches_read_it_after, (X, 5)),
    (swapped, (X, 3)),
    (swapped, (X, 4)),
    (swap_of_elements, (X,)),
    (argument_is_changed, (X, 6)),
    (until_small, (X + 100,)),
]


def native(program: Any) -> CompiledFunction:
    made = ts.compile(program, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


def copied(values: tuple[Any, ...]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def flat(value: Any) -> list[np.ndarray]:
    items = value if isinstance(value, tuple) else (value,)
    return [np.asarray(v._array if isinstance(v, Tensor) else v) for v in items]


@pytest.mark.parametrize(("program", "arguments"), CASES)
def test_equals_the_interpreter(program: Any, arguments: tuple[Any, ...]) -> None:
    compiled = native(program)
    mine, other = copied(arguments), copied(arguments)
    wrapped = [ts.from_numpy(v) if isinstance(v, np.ndarray) else v for v in other]
    expected = flat(compiled.program.interpret(wrapped))
    for got, want in zip(flat(compiled(*mine)), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    for got, want in zip(mine, other, strict=True):
        np.testing.assert_array_equal(got, want)
    assert compiled.stats.is_native
    bound = bind(compiled._names, copied(arguments), Taking())
    module = compiled.lower(bound.specs, keep=True).report.modules["te"]
    host = host_function(module)
    values: dict[str, Any] = {}
    given = iter(bound.leaves)
    for p in host.params:
        made = isinstance(p, Buffer) and p.mode == "out"
        shape = [int(str(s)) for s in p.shape] if isinstance(p, Buffer) else []
        values[p.name] = np.zeros(shape, p.dtype.numpy) if made else next(given)
    evaluate(host, values, module=module)
    outputs = [values[b.name] for b in host.buffers if b.mode == "out"]
    for got, want in zip(outputs, expected, strict=False):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    "program", [common_subsequence, recurrence_of_tensors, argument_is_changed, until_small]
)
def test_no_kernel_runs_for_an_element(program: Any) -> None:
    arguments = next(a for p, a in CASES if p is program)
    compiled = native(program)
    compiled(*copied(arguments))
    text = compiled.ir("te")
    loop = text[text.index("te.while") :]
    depth = 0
    for line in loop.splitlines():
        depth += line.count("{") - line.count("}")
        if depth == 0:
            break
        assert not re.search(r"te\.call", line), line
    assert "te.store" in loop


def rows_written(x: ts.Tensor, n: int) -> tuple[ts.Tensor, ts.Tensor]:
    """Each turn writes one row of a tensor that it carries; the first one is read again."""
    table = ts.zeros([4, 3])
    before = table
    for i in range(n):
        table = table.index_copy(0, ts.tensor([i % 4]), x[i : i + 1])
        if i == 1:
            before = table
    return table, before


def test_rows_written_in_a_loop_keep_what_is_still_read() -> None:
    x = np.random.default_rng(0).standard_normal((8, 3)).astype("f4")
    compiled = ts.compile(rows_written, (x, 6), fallback="error")
    for n in (0, 1, 2, 6):
        wanted = [np.asarray(t) for t in rows_written(ts.from_numpy(x), n)]
        for got, expected in zip(compiled(x, n), wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


def filled_again_and_again(x: ts.Tensor) -> ts.Tensor:
    y = x * 2
    y[1:].unsqueeze(0).expand(3, -1).fill_(5)
    x.unsqueeze(1).expand(-1, 2).zero_()
    return y


def test_one_number_into_memory_that_repeats() -> None:
    compiled = ts.compile(filled_again_and_again, fallback="error")
    x = ts.tensor([1.0, 2.0, 3.0])
    assert compiled(x).tolist() == [2.0, 5.0, 5.0]
    assert x.tolist() == [0.0, 0.0, 0.0]
