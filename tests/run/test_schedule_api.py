"""`ts.schedule`: loops are walked, transformed, refused, saved, and compiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.cli import main
from tensorscript.compiler.options import CompileOptions
from tensorscript.dialects.te.schedule import ScheduleError, Step


def gate(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.sigmoid(x * y + 1) * x


def softmax(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(-1)


def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.relu(x @ y)


def across(x: ts.Tensor) -> ts.Tensor:
    return x.t().contiguous()


def total(x: ts.Tensor) -> ts.Tensor:
    return x.sum()


def columns(x: ts.Tensor) -> ts.Tensor:
    return x.sum(0)


def pooled(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.max_pool2d(x, 3, 2, 1)


def convolved(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return ts.relu(ts.nn.functional.conv2d(x, w, padding=1))


def normed(x: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.layer_norm(x, [x.size(1)])


def ordered(x: ts.Tensor) -> ts.Tensor:
    return x.sort(-1)[0]


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


X, Y = array(33, 50), array(33, 50)


def compiled_text(program: Callable[..., Any], *arrays: np.ndarray, schedule: object) -> str:
    """The scheduled text, after comparing the result with the compiler's own schedule."""
    made = ts.compile(program, arrays, schedule=schedule, cache=False, fallback="error")
    wanted = ts.compile(program, arrays, cache=False, fallback="error")(*arrays)
    np.testing.assert_allclose(made(*arrays), wanted, rtol=1e-5, atol=1e-5)
    text: str = made.ir("scheduled")
    return text


def test_a_schedule_is_built_and_compiled() -> None:
    nest = (schedule := ts.schedule(gate, (X, Y))).kernel
    i, j = nest.loops
    assert (j.path, str(j)) == ("k0/i0/i1", "for i1 in 0 .. 50 serial")
    outer, inner, tail = nest.split_with_tail(j, 16)
    assert tail is not None
    assert [loop.extent for loop in (outer, inner, tail)] == ["3", "16", "2"]
    nest.vectorize(inner)
    nest.set_parallel(i, 8)
    assert nest.loop("i0/i1_o/i1_i").kind == "vector"
    text = compiled_text(gate, X, Y, schedule=schedule)
    for line in ("i0 in 0 .. 33 parallel grain 8", "i1_i in 0 .. 16 vector", "i1_t in 0 .. 2"):
        assert f"te.for {line}" in text
    assert schedule.steps == (
        'k0:\nsplit("i1", 16, "loop")\nvectorize("i1_i")\nparallel("i0", 8)\n'
    )


def test_a_product_is_tiled_by_hand() -> None:
    a, b = array(24, 40), array(40, 32)
    nest = (schedule := ts.schedule(product, (a, b))).kernel
    i, j, k = (loop.name for loop in nest.loops)
    (local,) = set(nest.buffers) - {"p0", "p1", "o0"}
    nest.step("expand", local, j)
    parts = nest.distribute_loop(j)
    nest.reorder_axis(parts[1], k)
    for part in parts:
        outer, inner = nest.split_with_mask(part, 16)
        nest.vectorize(inner)
        assert outer.extent == "2"
    nest.set_parallel(i)
    assert "vector" in compiled_text(product, a, b, schedule=schedule)


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda n: n.vectorize("i9"), r"there is no loop i9 in k0 \(there are: i0, i1\)"),
        (lambda n: n.loop("i1/i0"), "there is no loop i1/i0 in k0; i0 is k0/i0"),
        (lambda n: n.split_with_mask("i0", 0), "cannot split.*factor is a positive integer"),
        (lambda n: n.step("split", "i0", "8"), "factor is of type int, got '8'"),
        (lambda n: n.step("melt", "i0"), "there is no such primitive"),
        (lambda n: n.rfactor("i0"), 'cannot rfactor."i0". in k0: loop i0 is not a reduction'),
        (lambda n: n.compute_inline("o0"), "o0 is a parameter"),
        (lambda n: n.tensorize("i0", "product", 8, 32, 16, 512, 2), "k0 is not one product"),
        (lambda n: n.reorder(["i0", "i1"], [0, 0]), "no permutation"),
        (lambda n: n.get_loops_for("p0"), "k0 does not write p0"),
        (lambda n: n.get_loop_at("i0", [3]), "no loop at"),
        (lambda n: (n.parallel("i0"), n.parallel("i1")), "loop i0 around it is a parallel"),
    ],
)
def test_refusals(use: Callable[[Any], object], reason: str) -> None:
    nest = ts.schedule(gate, (X, Y)).kernel
    with pytest.raises(ScheduleError, match=reason):
        use(nest)


def test_a_schedule_must_fit() -> None:
    with pytest.raises(ScheduleError, match=r"no kernel k7 to schedule .there are: k0"):
        ts.compile(gate, (X, Y), schedule={"k7": ()})
    with pytest.raises(ScheduleError, match=r"cannot read schedules from nowhere\.json"):
        ts.compile(gate, (X, Y), schedule="nowhere.json")
    with pytest.raises(ScheduleError, match="not int"):
        ts.compile(gate, (X, Y), schedule=3)
    with pytest.raises(ScheduleError, match="starts from 'logical' or 'default'"):
        ts.schedule(gate, (X, Y), start="fast")


DEFAULTS: dict[Callable[..., Any], tuple[np.ndarray, ...]] = {
    gate: (X, Y), softmax: (array(64, 1000),), product: (array(70, 90), array(90, 110)),
    across: (array(40, 50),), total: (array(300, 300),), columns: (array(300, 4096),),
    pooled: (array(1, 3, 20, 20),), convolved: (array(1, 8, 20, 20), array(16, 8, 3, 3)),
    normed: (array(50, 77),), ordered: (array(5, 60),),
}  # fmt: skip


@pytest.mark.parametrize("program", DEFAULTS, ids=lambda p: p.__name__)
def test_what_the_compiler_chose_is_a_legal_schedule(
    program: Callable[..., Any], tmp_path: Path
) -> None:
    """Its steps, saved and checked one by one, make the same loops again."""
    arrays = DEFAULTS[program]
    chosen = ts.schedule(program, arrays, start="default")
    assert all(chosen.schedules.values())
    chosen.save(tmp_path / "s.json")
    again = ts.schedule(program, arrays)
    again.load(tmp_path / "s.json")
    assert str(again) == str(chosen)
    own = ts.compile(program, arrays, cache=False)
    given = ts.compile(program, arrays, cache=False, schedule=tmp_path / "s.json")
    assert given.ir("scheduled") == own.ir("scheduled")
    assert given.ir("schedule") == own.ir("schedule") == (tmp_path / "s.json").read_text()
    verified = CompileOptions(verify=True, cache=False)
    assert ts.compile(program, arrays, options=verified).stats.is_native


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "programs_for_schedules.py").write_text("def doubled(x):\n    return x * 2 + 1\n")
    program, file = f"{tmp_path}/programs_for_schedules.py:doubled", tmp_path / "s.json"
    common = [program, "--input", "6x40:f32"]
    assert main(["dump", *common, "--stage", "schedule", "-o", str(file)]) == 0
    found = json.loads(file.read_text())
    assert found["kernels"]["k0"][0] == ["collapse", "i0", "i1"]
    file.write_text('{"format": "tensorscript-schedule-1", "kernels": {"k0": [["unroll", "i0"]]}}')
    capsys.readouterr()
    assert main(["dump", *common, "--stage", "scheduled", "--schedule", str(file)]) == 0
    assert "i0 in 0 .. 6 unroll" in capsys.readouterr().out
    assert main(["run", *common, "--schedule", str(file)]) == 0
    assert main(["build", *common, "--schedule", str(file), "-o", str(tmp_path / "d.o")]) == 0
    file.write_text('{"format": "tensorscript-schedule-1", "kernels": {"k0": [["unroll", "q"]]}}')
    capsys.readouterr()
    assert main(["run", *common, "--schedule", str(file)]) == 1
    said = 'cannot unroll("q") in k0: there is no loop q (there are: i0, i1)'
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a file of schedules"),
        ("[]", "it has no format and kernels"),
        ('{"format": "x-9", "kernels": {}}', "of format 'x-9'; this version reads"),
        ('{"format": "tensorscript-schedule-1", "kernels": {"k0": [["a"]]}}', "not a step"),
        ('{"format": "tensorscript-schedule-1", "kernels": {"k0": 7}}', "not a schedule"),
    ],
)
def test_malformed_files(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ScheduleError, match=reason):
        ts.compile(gate, (X, Y), schedule=tmp_path / "s.json")


def joined(x: ts.Tensor, y: ts.Tensor, z: ts.Tensor) -> ts.Tensor:
    return ts.cat([x, y, z], 1) * 2


def test_conditionals_of_a_concatenation_are_decided_by_loops() -> None:
    inputs = array(8, 5), array(8, 7), array(8, 3)
    schedule = ts.schedule(joined, inputs)
    nest = schedule.kernel
    assert "select" in str(nest)
    assert nest.optimize_conditionals()
    assert "select" not in str(nest)
    assert [loop.extent for loop in nest.get_innermost_loops()] == ["5", "7", "3"]
    assert not nest.optimize_conditionals()
    found = ts.compile(joined, inputs, schedule=schedule)(*inputs)
    np.testing.assert_array_equal(np.asarray(found), np.concatenate(inputs, 1) * 2)


def both(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    powers = x.exp()
    return powers + 1, powers * 2


def apart(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x.exp(), x + 1


def test_loops_around_a_loop_are_distributed_with_it() -> None:
    x = array(8, 5)
    schedule = ts.schedule(apart, (x,))
    nest = schedule.kernel
    outermost = nest.distribute_loop_and_parents("i1")
    assert [loop.path for loop in outermost] == ["k0/i0", "k0/i0_d"]
    assert [loop.path for loop in nest.get_innermost_loops()] == ["k0/i0/i1", "k0/i0_d/i1_d"]
    nest.apply(*[Step("parallel", loop.name) for loop in outermost])


def test_all_buffers_are_compressed() -> None:
    x = array(8, 5)
    schedule = ts.schedule(both, (x,))
    nest = schedule.kernel
    nest.step("expand", "t0", "i1")
    assert "t0: f32[5]" in str(nest)
    nest.compress_all_buffers()
    assert "t0: f32[1]" in str(nest)
    first, second = ts.compile(both, (x,), schedule=schedule)(x)
    np.testing.assert_allclose(np.asarray(first), np.exp(x) + 1, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(second), np.exp(x) * 2, rtol=1e-6)
