"""Whole functions: control flow, mutation, views and containers, against PyTorch's eager mode.

Each program is scripted, specialised, and evaluated as tg.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035 - as programs in the wild write it

import numpy as np
import pytest

from tensorscript.base import dtypes
from tensorscript.base.errors import NotCompilable, ScriptError
from tensorscript.frontends.script.api import compile_function
from tensorscript.lowering.tg.evaluate import evaluate
from tensorscript.lowering.ts_to_tg.specialise import Specialised, specialise
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    OutputTree,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)

torch = pytest.importorskip("torch")
Tensor = torch.Tensor


def spec_of(v: object) -> ArgumentSpec:
    if isinstance(v, np.ndarray):
        return TensorSpec(dtypes.from_numpy(v.dtype), v.shape)
    if isinstance(v, list):
        return SequenceSpec(tuple(map(spec_of, v)))
    kinds = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float64}
    return ScalarSpec(kinds[type(v)])


def leaves_of(v: object) -> list[object]:
    return [x for e in v for x in leaves_of(e)] if isinstance(v, list) else [v]


def rebuild(tree: OutputTree, leaves: list[object]) -> object:
    if tree.kind in ("tensor", "scalar"):
        return leaves[tree.leaf]
    children = [rebuild(c, leaves) for c in tree.children]
    if tree.kind == "dict":
        return dict(zip(tree.keys, children, strict=True))
    return {"tuple": tuple(children), "list": children}.get(tree.kind, tree.value)


def native(fn, arguments: list[object], specs=None) -> tuple[object, list[object], Specialised]:
    compiled = compile_function(fn)
    specs = specs or [spec_of(a) for a in arguments]
    out = specialise(compiled.module, compiled.name, specs)
    out.module.verify()
    results = evaluate(out.function, [x for a in arguments for x in leaves_of(a)])
    return rebuild(out.plan.output, results), results, out


def to_torch(v: object) -> object:
    if isinstance(v, np.ndarray):
        return torch.from_numpy(v.copy())
    return [to_torch(e) for e in v] if isinstance(v, list) else v


def same(got: Any, want: object) -> None:
    if isinstance(want, Tensor):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-6)
        assert np.asarray(got).dtype == want.numpy().dtype
    elif isinstance(want, list | tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
    elif isinstance(want, dict):
        same(list(got.values()), list(want.values()))
    else:
        assert got == pytest.approx(want)


def check(fn, *arguments: object, specs=None) -> Specialised:
    given = [to_torch(a) for a in arguments]
    want = fn(*given)
    got, results, out = native(fn, list(arguments), specs)
    same(got, want)
    names = list(out.plan.inputs)
    flat = [t for g in given for t in leaves_of(g)]
    for path, leaf in out.plan.mutated_inputs:
        same(results[leaf], flat[names.index(path)])
    changed = {p for p, _ in out.plan.mutated_inputs}
    before = [x for a in arguments for x in leaves_of(a)]
    for name, old, new in zip(names, before, flat, strict=True):
        if isinstance(new, Tensor) and name not in changed:
            same(old, new)
    return out


X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def branches(x: Tensor, n: int):
    if n > 3:
        y = x + 1
    elif bool(x.sum() > 0):
        y = x * n
    else:
        y = -x
    return y, n + 1


def shape_branch(x: Tensor):
    if x.size(0) == 3 and x.dim() == 2:
        return x.sum(1)
    return x.sum(0)


def while_loop(x: Tensor, n: int):
    i = 0
    while i < n and bool(x.sum() < 100):
        x = x * 2 + i
        i += 1
    return x, i


def early_return(x: Tensor, n: int):
    for i in range(n):
        x = x + i
        if bool(x.max() > 5):
            return x
    return x - 1


def breaking(n: int):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        if total > 20:
            break
        total += i
    return total


def in_place(x: Tensor):
    y = x[1:, 2]
    y += 10
    x[0] = 1.0
    x.t()[3].mul_(2)
    return y, x.sum()


def fresh_in_place(x: Tensor):
    out = torch.zeros_like(x)
    for i in range(x.size(0)):
        out[i] = x[i] * i
    out[:, ::2] = 7.0
    return out


def row_loop(x: Tensor, n: int):
    out = torch.zeros_like(x)
    for i in range(n):
        out[i] = x[i] * i + out[i - 1]
    return out


def lists(x: Tensor):
    parts: List[Tensor] = []  # noqa: UP006
    for i in range(3):
        parts.append(x * i)
    d: Dict[str, Tensor] = {"a": parts[-1]}  # noqa: UP006
    d["b"] = torch.cat(parts, 1)
    return parts, d


def list_argument(xs: List[Tensor]):  # noqa: UP006
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total, len(xs)


def optional(x: Tensor, y: Optional[Tensor] = None):  # noqa: UP045
    return x if y is None else x + y


def helper(x: Tensor, k: int = 2) -> Tensor:
    return x * k


def calls(x: Tensor):
    return helper(x) + helper(x, 3)


def scalars(a: int, b: int, c: float):
    return a // b, a % b, a / b, a * c, min(a, b), float(a) ** 2.0, a > b and c > 0


def tuples(x: Tensor) -> Tuple[Tensor, Tuple[int, float]]:  # noqa: UP006
    y, z = x.chunk(2, 1)
    return y + z, (x.size(1), 1.5)


def softmax_by_hand(x: Tensor):
    e = torch.exp(x - x.amax([1], True))
    return e / e.sum([1], True)


CASES = [
    (branches, X, 5), (branches, X + 0.1, 2), (branches, X - 1, 2), (shape_branch, X),
    (while_loop, X + 3, 10), (while_loop, X, 3), (early_return, X, 9), (early_return, X, 2),
    (early_return, X, 0), (breaking, 0), (breaking, 30), (in_place, X), (fresh_in_place, X),
    (row_loop, X, 3), (lists, X), (list_argument, [X, X * 2, X + 1]), (calls, X),
    (scalars, -7, 3, 0.5), (scalars, 7, -3, -0.5), (tuples, X), (softmax_by_hand, X),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_program(case) -> None:
    check(case[0], *case[1:])


def test_symbolic_sizes() -> None:
    specs = [TensorSpec(dtypes.float32, ("N", 4))]
    for fn in (softmax_by_hand, calls, tuples, in_place):
        out = check(fn, X, specs=specs)
        assert out.plan.sizes == ("N",)


def raising(x: Tensor, n: int):
    assert n > 0, "n is small"
    if n > 10:
        raise ValueError("too big")
    return x * n


def test_raise_is_an_assertion() -> None:
    check(raising, X, 3)
    with pytest.raises(ScriptError, match="n is small"):
        native(raising, [X, 0])
    with pytest.raises(ScriptError, match="too big"):
        native(raising, [X, 11])


def test_division_by_zero() -> None:
    with pytest.raises(ScriptError, match="division by 0"):
        native(scalars, [1, 0, 0.5])


def test_write_to_what_may_be_the_argument_is_refused() -> None:
    def aliased(x: Tensor, n: int):
        h = x
        for _ in range(n):
            h.add_(1)
            h = h * 2
        return h

    with pytest.raises(NotCompilable, match="share memory"):
        native(aliased, [X, 3])


def accumulated(x: Tensor, n: int):
    h = torch.zeros_like(x)
    for _ in range(n):
        h = h * 2 + x
        h += 1
    h += 3
    return h


def test_in_place_on_a_loop_value() -> None:
    check(accumulated, X, 3)


def view_then_branch(x: Tensor, n: int):
    y = x[0]
    if n > 2:
        y += 5
    return x * 1, y


def nested(x: Tensor, n: int):
    for i in range(n):
        j = 0
        while j < i:
            if j % 2 == 0:
                x = x + j
            else:
                x = x - 1
            j += 1
    return x


def setitem_mask(x: Tensor):
    y = x.clone()
    y[y > 0] = 0.5
    return y


def unknown_index(x: Tensor, n: int):
    return x[n, -1], x[0]


def inplace_branch(x: Tensor, n: int):
    y = x + 1
    if n > 0:
        y.mul_(2)
    else:
        y.add_(3)
    return y


def list_in_branch(x: Tensor, n: int):
    xs = [x, x + 1]
    if n > 0:
        xs[0] = x * 3
    return xs[0] + xs[1]


def item(x: Tensor):
    s = float(x.sum())
    k = int(x.max())
    return x * s + k, s


def copyslice(x: Tensor):
    y = torch.zeros(4, 6)
    y[1:, ::2] = x[:, :3]
    y[0].copy_(torch.arange(6))
    y.t()[2] = 9
    return y


def reshape_write(x: Tensor):
    y = x.clone()
    y.view(-1)[3:5] = 7.0
    y.view(6, 2)[:, 0].neg_()
    return y


MORE = [
    (view_then_branch, X, 3), (view_then_branch, X, 1), (nested, X, 4), (setitem_mask, X),
    (unknown_index, X, 1), (unknown_index, X, -1), (inplace_branch, X, 1), (inplace_branch, X, 0),
    (list_in_branch, X, 1), (list_in_branch, X, 0), (item, X + 1), (copyslice, X),
    (reshape_write, X),
]  # fmt: skip


@pytest.mark.parametrize("case", MORE, ids=lambda c: c[0].__name__)
def test_mutation(case) -> None:
    check(case[0], *case[1:])


def test_unknown_index_is_checked() -> None:
    with pytest.raises(ScriptError, match="out of range"):
        native(unknown_index, [X, 3])
