"""Tensors whose sizes the program finds: the interpreter's results, natively, at every stage."""

from __future__ import annotations

import resource
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor
from tensorscript.base.errors import UserError
from tensorscript.compiler.arguments import Taking, bind, rebuild
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.native_module import host_function
from tensorscript.dialects.te.buffers import Buffer
from tensorscript.dialects.tg.ops import functions
from tensorscript.lowering.te.evaluate import Grown
from tensorscript.lowering.te.evaluate import evaluate as evaluate_te
from tensorscript.lowering.tg.evaluate import evaluate as evaluate_tg


def made_of_numbers(x: Tensor, n: int):
    return ts.arange(n) * 2, ts.zeros([n, 3]) + x[0], ts.ones([n + 1, n]).sum(), ts.full([n], 7)


def places(x: Tensor):
    m = x > 0
    return ts.nonzero(x), x[m], ts.masked_select(x, x < 0), ts.where(m)[1], ts.nonzero(m).size(0)


def rows_by_mask(x: Tensor):
    m = x.sum(1) > 0
    return x[m], x[m].sum(0), x[m, 0] * 2, (x[m] - x[m].mean(0)).softmax(1)


def written_by_mask(x: Tensor):
    y = x.clone()
    y[y > 0] = y[y > 0] * 10
    return y


def parts(x: Tensor, i: int, j: int):
    y = x[i:j]
    return y + 1, y.size(0), y.sum(), y @ y.t(), ts.cat([y, x]), y.reshape([-1])


def distinct(x: Tensor):
    values, inverse, counts = ts._unique2(x, True, True, True)
    return values, inverse, counts, ts.unique_consecutive(x)[0]


def one_or_as_many(x: Tensor, least: float):
    """What is kept of `x` may be one element, which broadcasts."""
    kept, firsts = x[x > least], x[x > 2.5]
    return kept + firsts, kept * firsts.unsqueeze(1), ts.where(kept > 3, kept, firsts), x - kept


def from_list(x: Tensor, n: int):
    kept: list[float] = []
    for i in range(n):
        if float(x[i]) > 0:
            kept.append(float(x[i]) * 2)
    return ts.tensor(kept), ts.tensor(kept, dtype=ts.float64).sum()


def rooted(x: Tensor, n: int):
    side = (ts.tensor(n) ** 0.5).to(ts.int64)
    return x[: int(side)], ts.zeros([int(side) + 1, 2]) + x[0]


def branches(x: Tensor, n: int):
    if n > 2:
        y = x[:n]
    elif n > 0:
        y = x[x > 0]
    else:
        y = x
    return y * 2, y.size(0)


def grows(x: Tensor, n: int):
    y = x[:0]
    for i in range(n):
        y = ts.cat([y, x * float(i)])
    return y


def beams(logits: Tensor, k: int):
    scores, flat = ts.topk(logits[0], k)
    paths = flat.unsqueeze(1)
    for t in range(1, logits.size(0)):
        total = scores.unsqueeze(1) + logits[t].unsqueeze(0)
        scores, flat = ts.topk(total.view([-1]), k)
        kept = paths[flat // logits.size(1)]
        paths = ts.cat([kept, (flat % logits.size(1)).unsqueeze(1)], dim=1)
    return paths, scores


def first_row_above(x: Tensor, v: float):
    for row in x:
        if float(row.sum()) > v:
            return row, row[row > 0]
    return x[0] * 0, x[0, :0]


def halves(x: Tensor):
    steps = 0
    while x.size(0) > 1:
        x = x[x.size(0) // 2 :] * 1
        steps += 1
    return x, steps


def joined(x: Tensor, n: int):
    outs: list[Tensor] = []
    for i in range(n):
        x = x * 2 + i
        outs.append(x)
    return (
        ts.stack(outs),
        ts.cat(outs),
        outs,
        ts.stack(outs, 1),
        ts.cat(outs, dim=1),
        outs[-1].sum(),
    )


def stacked(x: Tensor, least: float):
    kept, others = x[x > least], x[x <= least]
    alike = kept.is_same_size(others), kept.is_same_size(x), kept.is_same_size(kept * 2)
    return ts.stack([kept, others * 2]), ts.trapezoid(kept, others), alike


def kept_rows(x: Tensor, n: int):
    outs: list[Tensor] = []
    for i in range(n):
        outs.append(x[x[:, 0] > float(i)])
    return ts.cat(outs), outs, outs[0].sum()


def suppress(boxes: Tensor, scores: Tensor, threshold: float):
    order = scores.argsort(descending=True)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    keep: list[int] = []
    while order.numel() > 0:
        i = int(order[0])
        keep.append(i)
        rest = order[1:]
        low = ts.maximum(boxes[i, :2], boxes[rest, :2])
        high = ts.minimum(boxes[i, 2:], boxes[rest, 2:])
        side = (high - low).clamp(min=0)
        shared = side[:, 0] * side[:, 1]
        order = rest[shared / (areas[i] + areas[rest] - shared) <= threshold]
    return ts.tensor(keep)


def shapes_of_numbers(x: Tensor, n: int, m: int):
    return x.view([n, m]), x.reshape([m, n]).sum(0), x.unsqueeze(0).expand([n + 9, -1]).sum()


def expanded(x: Tensor, n: int, m: int):
    """What is expanded may have one element, or as many as are wanted."""
    y = x[:n].clone()
    wide, table = y.expand(m), y.unsqueeze(1).expand(-1, 2)
    return wide * 2, wide.stride(0), wide.sum(), table, y.expand(2, m).reshape(-1)


def written_wide(x: Tensor, n: int, m: int):
    y = x[:n].clone()
    wide = y.expand(m)
    wide.add_(1)
    return y, wide


def shape_of_a_list(x: Tensor, sizes: list[int]):
    return x.view(sizes), x.reshape(sizes).sum()


def the_only_one(x: Tensor, v: float):
    return x[x == v].item(), int(ts.nonzero(x == v))


def greatest(x: Tensor, v: float):
    return x[x > v].max(), x[x > v].argmax()


def back_to_a_list(x: Tensor):
    found: list[float] = x[x > 0].tolist()
    found.append(1.0)
    return found, len(found)


def too_short_in_a_loop(x: Tensor, n: int):
    kept: list[float] = []
    for i in range(n):
        if i > 1:
            kept.pop()
        kept.append(float(x[i]))
    return kept


RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((5, 3)).astype(np.float32)
V = RANDOM.standard_normal(7).astype(np.float32)
BOXES = np.concatenate([(low := RANDOM.random((12, 2))), low + RANDOM.random((12, 2))], 1)
SIX = np.arange(6, dtype=np.float32)
CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (shapes_of_numbers, (SIX, 2, 3)),
    (shapes_of_numbers, (SIX, -1, 3)),
    *((expanded, (SIX, n, m)) for n, m in ((3, 3), (1, 3), (1, 1), (2, -1))),
    (written_wide, (SIX, 3, 3)),
    (written_wide, (SIX, 1, 1)),
    (written_wide, (SIX, 1, 0)),
    (shape_of_a_list, (SIX, [3, -1, 1])),
    (the_only_one, (SIX, 3.0)),
    (greatest, (SIX, 3.0)),
    (back_to_a_list, (SIX - 3,)),
    (too_short_in_a_loop, (SIX, 5)),
    (made_of_numbers, (V, 4)),
    (made_of_numbers, (V, 1)),
    (made_of_numbers, (V, 0)),
    (places, (X,)),
    (places, (X * 0,)),
    (rows_by_mask, (X,)),
    (written_by_mask, (X,)),
    (parts, (X, 1, 4)),
    (parts, (X, -2, 9)),
    (parts, (X, 3, 3)),
    (distinct, (np.array([3, 1, 1, 5, 3, 3]),)),
    (one_or_as_many, (SIX[:4], 2.5)),
    (one_or_as_many, (SIX[1:4], -9.0)),
    (one_or_as_many, (SIX[3:5], 0.5)),
    (one_or_as_many, (SIX[3:6], 4.5)),
    (from_list, (V, 7)),
    (from_list, (-np.abs(V), 7)),
    (rooted, (V, 17)),
    (branches, (V, 3)),
    (branches, (V, 1)),
    (branches, (V, 0)),
    (grows, (V, 3)),
    (grows, (X, 0)),
    (halves, (V,)),
    (first_row_above, (X, -1.0)),
    (first_row_above, (X, 100.0)),
    (joined, (X, 3)),
    (stacked, (SIX, 2.5)),
    (kept_rows, (X, 2)),
    (suppress, (BOXES.astype(np.float32), RANDOM.random(12).astype(np.float32), 0.2)),
]


def native(program: Any) -> CompiledFunction:
    made = ts.compile(program, fallback="error", cache=False)
    assert isinstance(made, CompiledFunction)
    return made


def flat(value: Any) -> list[np.ndarray]:
    """The arrays and numbers of a result."""
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in flat(item)]
    return [np.asarray(value._array if isinstance(value, Tensor) else value)]


def agree(got: Any, expected: list[np.ndarray]) -> None:
    mine = flat(got)
    assert [a.shape for a in mine] == [a.shape for a in expected]
    for a, b in zip(mine, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("program", "arguments"), CASES)
def test_equals_the_interpreter_at_every_stage(program: Any, arguments: tuple[Any, ...]) -> None:
    compiled = native(program)
    wrapped = [ts.from_numpy(v) if isinstance(v, np.ndarray) else v for v in arguments]
    expected = flat(compiled.program.interpret(wrapped))
    agree(compiled(*arguments), expected)
    assert compiled.stats.is_native
    bound = bind(compiled._names, arguments, Taking())
    lowered = compiled.lower(bound.specs, keep=True)
    tree = lowered.plan.output

    def part(results: list[Any]) -> Any:
        return lambda leaf, piece: results[leaf] if piece is None else piece

    (func,) = functions(lowered.report.modules["kernels"])
    results = evaluate_tg(func, bound.leaves)
    results = [np.array(r) if isinstance(r, list) else r for r in results]
    agree(rebuild(tree, results, part(results)), expected)
    module = lowered.report.modules["te"]
    host = host_function(module)
    values: dict[str, Any] = {}
    given = iter(bound.leaves)
    for p in host.params:
        if isinstance(p, Buffer) and p.mode == "grown":
            values[p.name] = Grown()
        elif isinstance(p, Buffer) and p.mode == "out":
            values[p.name] = np.zeros([int(str(s)) for s in p.shape], p.dtype.numpy)
        else:
            values[p.name] = next(given)
    evaluate_te(host, values, module=module)
    outputs = [values[b.name] for b in host.buffers if b.mode in ("out", "grown")]
    results = [o.array if isinstance(o, Grown) else o for o in outputs]
    agree(rebuild(tree, results, part(results)), expected)


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (made_of_numbers, (V, -1), "inconsistent with step sign"),
        (joined, (X, 0), "non-empty"),
        (one_or_as_many, (SIX, 0.5), "must match the size"),
        (stacked, (SIX, 0.5), "stack expects each tensor to be equal size"),
        (shapes_of_numbers, (SIX, 4, 3), "is invalid for input of size 6"),
        (expanded, (SIX, 2, 3), "must match the existing size"),
        (written_wide, (SIX, 1, 3), "refers to a single memory location"),
        (the_only_one, (SIX, 30.0), "cannot be converted to Scalar"),
        (greatest, (SIX, 30.0), "numel\\(\\) == 0"),
    ],
)
def test_errors(program: Any, arguments: tuple[Any, ...], message: str) -> None:
    compiled = native(program)
    with pytest.raises(UserError, match=message):
        compiled(*arguments)


def big_parts(x: Tensor, n: int):
    y = x
    for i in range(n):
        y = x[i:] * 2
    return y.sum()


def test_sizes_that_change_do_not_add_up() -> None:
    compiled = native(big_parts)
    x = np.ones(100_000, np.float32)
    compiled(x, 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert compiled(x, 3000) > 0  # over a gigabyte if each were kept
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8192


def selected(x: Tensor, mask: Tensor) -> Tensor:
    return ts.masked_select(x, mask)


@pytest.mark.parametrize(
    ("shape", "mask"), [((), ()), ((), (2,)), ((2, 3), (2, 1)), ((2, 3), (3,))]
)
def test_masks_that_broadcast(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    x, m = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape), np.ones(mask, bool)
    wanted = np.broadcast_to(x, np.broadcast_shapes(shape, mask)).ravel()
    np.testing.assert_array_equal(ts.compile(selected, (x, m), fallback="error")(x, m), wanted)


def by_numbers_of_true(x: Tensor, m: Tensor, i: Tensor):
    return x[m], x[m, 0], x[:, m], x[0, m], x[m, m], x[m, None], x[x.max() > 0], x.sum()[m]


def written_by_numbers_of_true(x: Tensor, m: Tensor, i: Tensor):
    y, z, w, s = x.clone(), x.clone(), x.clone(), x.sum()
    y[m] = x * 2
    z[:, m] += 3
    w[m, 0] = 7.0
    s[m] = 3.0
    return y, z, w, s, x.index_put((m,), x.sum(), True)


def only_mask(x: Tensor, m: Tensor):
    return x[m]


def test_masks_of_bytes() -> None:
    """What indexes as a mask in eager code does so natively."""
    x = ts.arange(6.0).reshape(2, 3) - 2
    run = ts.compile(by_numbers_of_true, cache=False, fallback="error")
    byte, bit = (ts.tensor(1, dtype=d) for d in (ts.uint8, ts.bool))
    for found, want in zip(run(x, byte, x), run(x, bit, x), strict=True):
        assert (found.shape, found.tolist()) == (want.shape, want.tolist())
    rows = ts.compile(only_mask, cache=False, fallback="error")
    assert rows(x, ts.tensor([0, 2], dtype=ts.uint8)).tolist() == [x[1].tolist()]


def by_one_and_positions(x: Tensor, m: Tensor, i: Tensor):
    y = x.clone()
    y[m, i] = x[0]
    return x[m, i], x[i, m], x[i, m, i], x[m, :, i], x[m, i == 1], y


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("program", [by_numbers_of_true, written_by_numbers_of_true])
def test_a_mask_of_no_dimension_stands_for_one(program: Any, holds: bool) -> None:
    given = ts.arange(6.0).reshape(2, 3), ts.tensor(holds), ts.tensor([1, 0])
    run = ts.compile(program, cache=False, fallback="error")
    for found, want in zip(run(*given), ts.jit.script(program)(*given), strict=True):
        assert (found.shape, found.tolist()) == (want.shape, want.tolist())


def test_a_mask_of_no_dimension_broadcasts_with_positions() -> None:
    x, m, i = ts.arange(6.0).reshape(2, 3), ts.tensor(True), ts.tensor([1, 0])
    run = ts.compile(by_one_and_positions, cache=False, fallback="error")
    for found, want in zip(run(x, m, i), by_one_and_positions(x, m, i), strict=True):
        assert (found.shape, found.tolist()) == (want.shape, want.tolist())
    with pytest.raises(UserError, match="shape mismatch"):
        run(x, ts.tensor(False), i)


def by_channel(x: Tensor, w: Tensor):
    n = int(ts.tensor(x.shape[:-1]).prod())
    rows = x.reshape((n, x.size(-1)))
    return ts.nn.functional.conv1d(rows, w.reshape((n, 1, w.size(-1))), groups=rows.size(0))


def test_groups_that_the_program_finds() -> None:
    x, w = ts.ones(2, 9), ts.ones(2, 3)
    compiled = ts.compile(by_channel, cache=False, fallback="error")
    assert compiled(x, w).tolist() == by_channel(x, w).tolist()


def square_of_ones(n: Tensor):
    return ts.ones([int(n), int(n)])


@pytest.mark.parametrize("n", [1 << 32, 1 << 61])
def test_bytes_that_64_bits_do_not_count_are_refused(n: int) -> None:
    """Their number wraps around, to nothing in the second case."""
    run = ts.compile(square_of_ones, fallback="error")
    with pytest.raises(UserError, match=rf"Storage size calculation overflowed .*\[{n}, {n}\]"):
        run(ts.tensor(n))
