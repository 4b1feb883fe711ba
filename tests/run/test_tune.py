"""The autotuner, with a clock and measurements of the test's own: what it tries, keeps, refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.backends import target as targets
from tensorscript.base.errors import UserError
from tensorscript.compiler.cli import main
from tensorscript.compiler.examples import argument_specs
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.programs import program_of
from tensorscript.compiler.tune import Store, Tuned, Tuner, agree, interleaved_medians, tune


def gate(x: ts.Tensor) -> ts.Tensor:
    return ts.sigmoid(x) * x


def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x @ y


def softmax(x: ts.Tensor) -> ts.Tensor:
    return x.softmax(-1)


def attention(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return ts.nn.functional.scaled_dot_product_attention(q, k, v)


def grows(x: ts.Tensor) -> ts.Tensor:
    x.add_(1)
    return x * 2


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class Ticks:
    """A clock that moves one second a look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def function(program: Callable[..., Any], cache: Path | None = None) -> CompiledFunction:
    found, name = program_of(program)
    options = CompileOptions(cache=cache is not None, cache_dir=cache)
    return CompiledFunction(found, options, name)


def faster(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Every candidate takes half of the time of the best before it."""
    for call in calls:
        call()
    return [2.0, 1.0]


def slower(calls: Sequence[Callable[[], Any]]) -> list[float]:
    return [1.0, 1.0]


def tuned(program: Callable[..., Any], *arrays: np.ndarray, **how: Any) -> Tuned:
    (found,) = tune(function(program), arrays, 16.0, clock=Ticks(), **how)
    return found


@pytest.mark.parametrize(
    ("program", "arrays", "primitive"),
    [
        (gate, (array(64, 100),), "split"),
        (softmax, (array(20, 300),), "accumulate"),
        (product, (array(64, 80), array(80, 96)), "tensorize"),
        (attention, (array(2, 40, 16), array(2, 80, 16), array(2, 80, 16)), "tensorize"),
    ],
)
def test_the_best_wins(
    program: Callable[..., Any], arrays: tuple[np.ndarray, ...], primitive: str
) -> None:
    found = tuned(program, *arrays, measure=faster)
    assert found.schedule is not None
    assert found.tried >= 3
    assert found.refused == 0
    assert found.gain == 2.0**found.tried
    assert primitive in {step.primitive for step in found.schedule}
    own = ts.schedule(program, arrays, start="default").schedules[found.kernel]
    assert found.schedule != own
    made = ts.compile(program, arrays, schedule={found.kernel: found.schedule}, cache=False)
    wanted = ts.compile(program, arrays, cache=False)(*arrays)
    np.testing.assert_allclose(made(*arrays), wanted, rtol=1e-5, atol=1e-5)


def test_nothing_wins_that_is_not_faster() -> None:
    found = tuned(gate, array(64, 100), measure=slower)
    assert (found.schedule, found.gain) == (None, 1.0)
    assert str(found) == f"k0: the compiler's schedule, {found.tried} candidates"


def test_the_budget_is_kept() -> None:
    told: list[tuple[float, str]] = []
    found = tune(
        function(product), (array(64, 80), array(80, 96)), 9.0, slower, Ticks(),
        lambda part, what: told.append((part, what)),
    )  # fmt: skip
    assert 1 <= found[0].tried <= 4
    assert [part for part, _ in told] == sorted(part for part, _ in told)
    assert told[0][1] == "k0: 1 tried, 1.00x"
    assert tune(function(product), (array(64, 80), array(80, 96)), 0.0, clock=Ticks()) == []


def test_another_result_is_refused() -> None:
    lowered = function(gate).lower(argument_specs(function(gate), [array(64, 100)]), keep=True)
    results = iter(range(100))
    options = CompileOptions(cache=False)
    store = Store(None, targets.host())

    def build(schedules: object) -> Callable[[], int]:
        return lambda: next(results)

    tuner = Tuner(lowered.report.modules["te"], build, options, store, 1000.0, faster, Ticks())
    (found,) = tuner.run()
    assert found.schedule is None
    assert found.refused == found.tried > 0
    assert str(found).endswith("refused for their results")


def test_winners_are_kept_on_disk(tmp_path: Path) -> None:
    arrays = (array(64, 100),)
    (first,) = tune(function(gate, tmp_path), arrays, 1000.0, faster, Ticks())

    def never(calls: Sequence[Callable[[], Any]]) -> list[float]:
        raise AssertionError("measured again")

    def same_kernel(a: ts.Tensor) -> ts.Tensor:
        return ts.sigmoid(a) * a

    for program in (gate, same_kernel):
        (again,) = tune(function(program, tmp_path), arrays, 1000.0, never, Ticks())
        assert again == Tuned("k0", first.schedule, first.gain, 0)
        assert str(again).endswith("from the cache")
    other = tune(function(gate, tmp_path), (array(64, 104),), 0.0, never, Ticks())
    assert other == []


def test_a_gain_that_does_not_come_again_is_noise() -> None:
    times = iter([2.0, 1.0, 1.0, 1.0] * 100)

    def noisy(calls: Sequence[Callable[[], Any]]) -> list[float]:
        return [next(times), next(times)]

    found = tuned(gate, array(64, 100), measure=noisy)
    assert (found.schedule, found.gain) == (None, 1.0)


def test_what_the_budget_did_not_suffice_for_goes_on(tmp_path: Path) -> None:
    arrays = array(64, 80), array(80, 96)
    (first,) = tune(function(product, tmp_path), arrays, 12.0, faster, Ticks())
    assert not first.complete
    assert first.schedule is not None
    (second,) = tune(function(product, tmp_path), arrays, 1000.0, faster, Ticks())
    assert second.complete
    assert second.tried > first.tried
    assert second.gain == first.gain * 2.0**second.tried
    (third,) = tune(function(product, tmp_path), arrays, 1000.0, faster, Ticks())
    assert third == Tuned("k0", second.schedule, second.gain, 0)


def test_compile_and_stats(tmp_path: Path) -> None:
    x = array(64, 100)
    options = CompileOptions(cache_dir=tmp_path)
    tune(function(gate, tmp_path), (x,), 1000.0, faster, Ticks())
    made = ts.compile(gate, (x,), autotune=True, options=options)
    assert made.stats.tuned[0].endswith("from the cache")
    own = ts.compile(gate, (x,), options=options)
    assert made.ir("schedule") != own.ir("schedule")
    np.testing.assert_allclose(made(x), own(x), rtol=1e-6)


def test_refusals() -> None:
    with pytest.raises(UserError, match="grows changes its arguments"):
        tune(function(grows), (array(3),))
    with pytest.raises(UserError, match="autotune needs example_inputs"):
        ts.compile(gate, autotune=True)
    found, name = program_of(gate)
    for target in ("ptx-emulate", "aarch64-unknown-linux-gnu"):
        other = CompiledFunction(found, CompileOptions(target=target), name)
        with pytest.raises(UserError, match="only programs for this machine"):
            tune(other, (array(3),))


def test_agreement() -> None:
    x = array(100)
    assert agree((x, {"a": 3}), (x * np.float32(1 + 1e-6), {"a": 3}))
    assert not agree(x, x * np.float32(1.001))
    assert not agree(x, x.astype("f8"))
    assert not agree(x, x[:50])
    holes = x.copy()
    holes[3] = np.nan
    assert agree(holes, holes.copy())
    assert not agree(holes, x)
    assert not agree(np.arange(3), np.arange(3) + 1)
    halves = ts.tensor([1.0, -300.0, float("inf")], dtype=ts.bfloat16)
    assert agree(halves, ts.tensor([1.0, -302.0, float("inf")], dtype=ts.bfloat16))
    assert not agree(halves, ts.tensor([1.0, -310.0, float("inf")], dtype=ts.bfloat16))
    assert not agree(halves, halves.float())


def test_medians_of_turns() -> None:
    order: list[str] = []
    found = interleaved_medians([lambda: order.append("a"), lambda: order.append("b")])
    assert order[:2] == ["a", "b"]
    assert all(seconds > 0 for seconds in found)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "programs_to_tune.py").write_text("def double(x):\n    return x * 2 + 1\n")
    program, file = f"{tmp_path}/programs_to_tune.py:double", tmp_path / "s.json"
    command = ["tune", program, "--input", "6x40:f32", "--no-cache"]
    assert main([*command, "--budget", "20", "-o", str(file)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("k0: ")
    assert said.err.startswith("[")
    assert main(["run", program, "--input", "6x40:f32", "--schedule", str(file)]) == 0
    capsys.readouterr()
    assert main([*command, "--budget", "-1"]) == 1
    assert "positive number of seconds" in capsys.readouterr().err
