"""`compile` end to end: native results against eager NumPy semantics (our eager mode)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorscript as ts
from tensorscript.base.errors import GuardError, NotCompilable, ScriptError, UserError
from tensorscript.compiler.api import compile as compile_
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.specs import TensorSpec
from tensorscript.compiler.stages import STAGES

RANDOM = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def native(fn: Callable[..., Any]) -> CompiledFunction:
    return compile_(fn, fallback="error", cache=False)


def chain(x, y):  # type: ignore[no-untyped-def]  # unannotated is Tensor in script
    return ts.sigmoid(x * y + 1) * x


def normalise(x, gain, bias):  # type: ignore[no-untyped-def]
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / ts.sqrt(variance + 1e-5) * gain + bias


def affine(x, w, b):  # type: ignore[no-untyped-def]
    return ts.relu(x @ w + b)


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def grow(x, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        if bool(x.sum() > 10):
            x = x * 0.5
        else:
            x = x + 1
    return x, x.sum()


def swap(x, y, n: int):  # type: ignore[no-untyped-def]
    for _ in range(n):
        x, y = y, x
    return x, y


def update(x):  # type: ignore[no-untyped-def]
    y = x.clone()
    y[0] = 1.0
    y[:, 1] += 2
    return y


def in_place(x):  # type: ignore[no-untyped-def]
    x.add_(1)
    return x


def refuse(x, n: int):  # type: ignore[no-untyped-def]
    if n > 3:
        raise ValueError("too big")
    return x + n


def divide(a: int, b: int) -> int:
    return a // b


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (64, 64), (3, 5, 17), (0, 4), (1000, 33)])
def test_pointwise_shapes(shape: tuple[int, ...]) -> None:
    x, y = array(*shape), array(*shape)
    f = native(chain)
    result = f(x, y)
    assert isinstance(result, np.ndarray) and result.dtype == np.float32
    np.testing.assert_allclose(result, sigmoid(x * y + 1) * x, rtol=2e-6, atol=1e-6)
    assert len(f.kernels) == 1 and f.stats.is_native


def test_broadcast_and_promotion() -> None:
    def mixed(x, n):  # type: ignore[no-untyped-def]
        return x * n + 1, n // 2, n / 2, x > n

    x, n = array(4, 1), np.arange(-3, 4)
    results = native(mixed)(x, n)
    expected: tuple[np.ndarray, ...] = (
        x * n.astype(np.float32) + 1,
        n // 2,
        (n / 2).astype(np.float32),
        x > n,
    )
    for got, want in zip(results, expected, strict=True):
        assert isinstance(want, np.ndarray)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_row_kernel() -> None:
    x, gain, bias = array(33, 100), array(100), array(100)
    f = native(normalise)
    mean = x.mean(-1, keepdims=True)
    want = (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * gain + bias
    np.testing.assert_allclose(f(x, gain, bias), want, rtol=1e-4, atol=1e-5)
    assert [k.category for k in f.kernels] == ["rows"]


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), (5, 7, 3), (64, 96, 128), (100, 130, 70), (3, 300, 9)]
)
def test_product_with_epilogue(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    x, w, b = array(m, k), array(k, n), array(n)
    f = native(affine)
    np.testing.assert_allclose(f(x, w, b), np.maximum(x @ w + b, 0), rtol=1e-4, atol=1e-4)
    assert len(f.kernels) == 1


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1], lambda a: a[1:, 2:]]
)
def test_layouts(view: Callable[[np.ndarray], np.ndarray]) -> None:
    x, y = view(array(12, 10)), view(array(12, 10))
    np.testing.assert_allclose(native(chain)(x, y), sigmoid(x * y + 1) * x, rtol=2e-6, atol=1e-6)


def test_scalar_program() -> None:
    f = native(collatz)
    assert [f(n) for n in (1, 6, 27, 97)] == [0, 8, 111, 118]


def test_control_flow_over_tensors() -> None:
    f = native(grow)
    x = np.zeros(4, np.float32)
    result, total = f(x, 5)
    want = x.copy()
    for _ in range(5):
        want = want * 0.5 if want.sum() > 10 else want + 1
    np.testing.assert_allclose(result, want)
    assert total == pytest.approx(want.sum()) and f(x, 0)[0].sum() == 0


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_loop_carried_values_swap(n: int) -> None:
    x, y = array(3), array(3)
    got = native(swap)(x, y, n)
    want = (x, y) if n % 2 == 0 else (y, x)
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_writes_to_views_stay_inside() -> None:
    x = array(4, 3)
    before = x.copy()
    want = x.copy()
    want[0] = 1.0
    want[:, 1] += 2
    np.testing.assert_allclose(native(update)(x), want)
    np.testing.assert_array_equal(x, before)


def test_writes_to_arguments_reach_the_caller() -> None:
    x = array(5)
    want = x + 1
    result = native(in_place)(x)
    np.testing.assert_allclose(x, want)
    assert result is x


def add_to_first(x, y):  # type: ignore[no-untyped-def]
    x.add_(1)
    return x + y


def test_arguments_that_share_memory() -> None:
    x = array(6)
    want = 2 * (x + 1)
    f = compile_(add_to_first, cache=False)
    np.testing.assert_allclose(f(x, x), want)
    assert f.stats.interpreted_calls == 1
    y = array(6)
    # In the program's own order: near -1/2 any other rounds differently.
    np.testing.assert_array_equal(f(y.copy(), y), (y + 1) + y)
    assert f.stats.interpreted_calls == 1


def test_raise_and_runtime_errors() -> None:
    f = native(refuse)
    np.testing.assert_allclose(f(np.zeros(2, np.float32), 3), [3, 3])
    with pytest.raises(ScriptError, match="too big"):
        f(np.zeros(2, np.float32), 4)
    with pytest.raises(UserError, match="division by 0"):
        native(divide)(1, 0)
    assert native(divide)(-7, 2) == -4


def test_dynamic_sizes_share_one_specialisation() -> None:
    specs = (TensorSpec(("N", 10)), TensorSpec(("N", 10)))
    f = compile_(chain, specs, fallback="error", cache=False)
    for n in (2, 5, 64, 1000):
        x, y = array(n, 10), array(n, 10)
        np.testing.assert_allclose(f(x, y), sigmoid(x * y + 1) * x, rtol=2e-6, atol=1e-6)
    assert len(f.stats.native) == 1
    with pytest.raises(UserError):
        f(array(3, 10), array(4, 10))


def test_each_kind_of_tensor_comes_back() -> None:
    x = array(3, 4)
    f = native(chain)
    assert isinstance(f(x, x), np.ndarray)
    result = f(ts.from_numpy(x), ts.from_numpy(x))
    assert isinstance(result, ts.Tensor)
    np.testing.assert_allclose(result.numpy(), f(x, x))


def count_up(n: int):
    return ts.arange(n) * 2


def test_without_an_array_tensors_come_back_each_time() -> None:
    f = native(count_up)
    assert [f(n).tolist() for n in (2, 3, 3)] == [[0, 2], [0, 2, 4], [0, 2, 4]]
    assert all(isinstance(f(n), ts.Tensor) for n in (2, 3))


def test_wrong_arguments() -> None:
    f = native(chain)
    x = array(4)
    with pytest.raises(GuardError, match="missing value for argument 'y'"):
        f(x)
    with pytest.raises(GuardError, match="expected at most 2 argument"):
        f(x, x, x)
    with pytest.raises(UserError, match="must match the size"):
        f(x, array(3))
    with pytest.raises(GuardError, match="timedelta64"):
        f(x, np.zeros(4, "m8[s]"))


def written_out(x):  # type: ignore[no-untyped-def]
    text = str(x)  # native code has no texts of tensors
    return x * min(2, len(text))


def test_the_interpreter_takes_each_kind_of_tensor() -> None:
    torch = pytest.importorskip("torch")
    f = compile_(written_out, cache=False)
    for calls, ones in enumerate((np.ones, ts.ones, torch.ones), 1):
        result = f(ones(3))
        assert type(result) is type(ones(3))
        assert f.stats.interpreted_calls == calls
        np.testing.assert_array_equal(np.asarray(result), np.full(3, 2))


def scaled(x, by: float, often: int = 1):  # type: ignore[no-untyped-def]
    for _ in range(often):
        x = x * by
    return x


def test_numbers_are_checked_and_converted() -> None:
    f, x = native(scaled), np.ones(3, np.float32)
    for by in (2.0, 2, np.float32(2), np.array(2), ts.tensor(2.0)):
        np.testing.assert_array_equal(f(x, by), 2 * x)
    assert len(f.stats.native) == 1, "an int for a float is a float"
    for wrong in ((x, "a"), (x, 2.0, 2.5), ("x", 2.0), (x, None), (x, [2.0])):
        with pytest.raises(GuardError, match=r"scaled\(\) Expected a value of type"):
            f(*wrong)
    with pytest.raises(GuardError, match="Expected a value of type 'int' for argument 'often'"):
        compile_(scaled, example_inputs=(x, 2.0, 0.5))


def of_union(x: int | list[int] | str) -> int:
    if isinstance(x, int):
        return x
    if isinstance(x, str):
        return len(x)
    return x[0]


def test_what_is_of_no_type_of_a_union_is_refused() -> None:
    f = compile_(of_union, cache=False)
    assert [f(3), f("abc"), f([7, 8])] == [3, 3, 7]
    with pytest.raises(GuardError, match="found type 'float'"):
        f(1.5)


def test_keywords_after_the_builtin_took_over() -> None:
    f, x = native(scaled), np.ones(3, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(f(x, 2.0, 3), 8 * x)
        np.testing.assert_array_equal(f(x, by=3.0, often=2), 9 * x)
        np.testing.assert_array_equal(f(often=1, by=3.0, x=x), 3 * x)
        with pytest.raises(GuardError, match="Unknown keyword argument 'time'"):
            f(x, 2.0, time=1)


def test_the_builtin_looks_at_the_mode_of_gradients() -> None:
    def by_gradients(x: ts.Tensor) -> ts.Tensor:
        return x + 1 if ts.is_grad_enabled() else x - 1

    f, x = native(by_gradients), np.zeros(3, np.float32)
    for _ in range(3):
        assert f(x)[0] == 1
        first = type(f)
        with ts.no_grad():
            assert [f(x)[0], f(x)[0]] == [-1, -1]
            assert type(f) is not first
        ts.set_grad_enabled(False)
        assert f(x)[0] == -1
        ts.set_grad_enabled(True)
    assert f(x)[0] == 1 and type(f) is first
    assert len(f.stats.native) == 2 and f.stats.is_native


def test_the_builtin_knows_defaults_and_constants() -> None:
    def masked(
        x: ts.Tensor, mask: ts.Tensor | None = None, by: float = 2.0, mean: bool = False
    ) -> ts.Tensor:
        y = x * by if mask is None else x * mask
        assert by > 0, "by nothing"
        return y - y.mean() if mean else y

    f, x = native(masked), np.ones(3, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(f(x), 2 * x)
        first = type(f)
        assert first is not CompiledFunction
        for more in ((None,), (None, 2.0), (None, 2.0, False)):
            np.testing.assert_array_equal(f(x, *more), 2 * x)
        np.testing.assert_array_equal(f(x, None, 3.0), 3 * x)
        assert type(f) is first
        np.testing.assert_array_equal(f(x, 4 * x), 4 * x)
        np.testing.assert_array_equal(f(x, None, 3.0, True), 0 * x)
        np.testing.assert_array_equal(f(x, by=5.0), 5 * x)
        with pytest.raises(ScriptError, match="by nothing"):
            f(x, None, -1.0)
    assert f.stats.is_native


def test_numbers_that_do_not_help_are_no_silent_reason() -> None:
    """A float is tried as a part of the specialisation, too; that does not hide the refusal."""

    def told(x: ts.Tensor, factor: float) -> ts.Tensor:
        return x * factor + len(str(x))

    x = np.ones(3, np.float32)
    f = compile_(told, cache=False)
    f(x, 2.0)
    assert "aten::len.str" in f.stats.fallbacks[0] and f.stats.interpreted_calls == 1
    strict = compile_(told, cache=False, fallback="error")
    for _ in range(2):
        with pytest.raises(NotCompilable, match=r"aten::len\.str"):
            strict(x, 2.0)


def test_what_native_code_cannot_do_is_visible() -> None:
    def words(x, s: str):  # type: ignore[no-untyped-def]
        return x + len(s + str(x)) * 0 + 1

    f = compile_(words, cache=False)
    np.testing.assert_allclose(f(np.zeros(2, np.float32), "hello"), [1, 1])
    assert f.stats.interpreted_calls == 1 and "aten::len.str" in f.stats.fallbacks[0]
    with pytest.raises(NotCompilable, match=r"aten::len\.str"):
        native(words)(np.zeros(2, np.float32), "hello")


@pytest.mark.skipif(ts.cuda.is_available(), reason="there is a GPU")
def test_devices_that_are_not_there() -> None:
    """Traces of models that ran on a GPU name it."""

    def moved(x: ts.Tensor) -> ts.Tensor:
        return x + ts.zeros(3, device="cuda:0")

    def asked(x: ts.Tensor) -> tuple[str, ts.Tensor]:
        far = ts.device("cuda:1")
        return str(far), x.to("cpu") if x.device != far else x

    f, x = compile_(moved, cache=False), np.ones(3, np.float32)
    with pytest.raises(UserError, match="no NVIDIA driver"):
        f(x)
    assert f.stats.fallbacks == ["(3:f32): aten::zeros: tensors on cuda:0"]
    assert native(asked)(x)[0] == "cuda:1"


def test_a_scalar_spec_is_of_a_kind_of_numbers() -> None:
    with pytest.raises(ts.TensorScriptError, match="a scalar is 'int', 'float' or 'bool', not"):
        ts.ScalarSpec("long")


def test_a_shape_is_no_text() -> None:
    with pytest.raises(UserError, match="a shape is a tuple of sizes and names, not '3x4'"):
        ts.TensorSpec("3x4")


def test_what_a_tensor_spec_takes() -> None:
    assert ts.TensorSpec(("N", 3), "float32") == ts.TensorSpec(("N", 3), "f32")
    with pytest.raises(UserError, match="unknown dtype 'float31'"):
        ts.TensorSpec((3,), "float31")
    with pytest.raises(UserError, match="a dtype is one of tensorscript's or its name, not <"):
        ts.TensorSpec((3,), np.float32)
    for size in (-1, "3", None, 2.0):
        with pytest.raises(UserError, match="a size is a number >= 0 or a name, not"):
            ts.TensorSpec((size,))


def test_options_without_a_program_decorate() -> None:
    @compile_(fallback="error", strict=True)
    def f(x: ts.Tensor) -> ts.Tensor:
        return x * 2 + 1

    assert f.options.fallback == "error"
    assert f.options.strict
    np.testing.assert_array_equal(f(np.ones(3, np.float32)), np.full(3, 3, np.float32))


def test_a_flag_that_must_be_known_is_part_of_the_specialisation() -> None:
    def kept(x: ts.Tensor, keep: bool) -> ts.Tensor:
        return x.sum(1, keepdim=keep)

    def causal(q: ts.Tensor, hidden: bool) -> ts.Tensor:
        return ts.nn.functional.scaled_dot_product_attention(q, q, q, None, 0.0, hidden)

    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    f, g = compile_(kept, cache=False), native(causal)
    for flag in (True, False):
        assert f(x, flag).shape == ((3, 1) if flag else (3,))
        expected = causal(ts.from_numpy(x), flag).numpy()
        np.testing.assert_allclose(g(x, flag), expected, rtol=1e-5)
    assert f.stats.native == ["(3x4:f32, True)", "(3x4:f32, False)"] and f.stats.is_native
    unknown = (x, ts.ScalarSpec("bool"))
    with pytest.raises(NotCompilable, match="the flag 'keepdim' is known only at run time"):
        compile_(kept, unknown, cache=False, fallback="error")


def test_numbers_are_known_where_that_is_needed_and_helps() -> None:
    def every(x: ts.Tensor, step: int) -> ts.Tensor:
        return x[::step]

    def told(x: ts.Tensor, n: int) -> ts.Tensor:
        length = len(str(x))
        return x[::n] + n * min(1, length)

    x = np.arange(6, dtype=np.float32)
    f = compile_(every, (x, 2), cache=False)
    for step in (2, 3, 2):
        np.testing.assert_array_equal(f(x, step), x[::step])
    assert f.stats.native == ["(6:f32, 2)", "(6:f32, 3)"] and f.stats.is_native
    for step in range(1, 60):
        assert len(f(x, step)) == -(-6 // step)
    assert any("keep changing" in why for why in f.stats.fallbacks)
    g = compile_(told, cache=False)
    for n in (1, 2, 3):
        np.testing.assert_array_equal(g(x, n), x[::n] + n)
    assert len(g.stats.fallbacks) == 1 and g.stats.interpreted_calls == 3


def test_stages_can_be_read() -> None:
    f = native(chain)
    x = array(8, 8)
    f(x, x)
    assert "aten::sigmoid" in f.ir("ts") and "tg.pointwise" in f.ir("tg")
    assert "te.func @k0 kernel scheduled" in f.ir("scheduled") and "define" in f.ir("ll")
    assert "vmulps" in f.asm() or "fmul" in f.asm()


def test_every_stage_is_written(tmp_path: Any) -> None:
    options = CompileOptions(dump_dir=tmp_path, cache=False)
    ts.compile(chain, (array(8), array(8)), options=options)
    wanted = [stage.suffix for stage in STAGES if stage.is_module]
    assert {path.name for path in tmp_path.iterdir()} == {f"chain{suffix}" for suffix in wanted}


def test_the_disk_cache_answers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", str(tmp_path))
    x, y = array(16), array(16)
    first = compile_(chain)
    want = first(x, y)
    again = compile_(chain)
    np.testing.assert_array_equal(again(x, y), want)
    assert again._specialiser.cache.hits >= 1 and len(again.kernels) == 1


def test_scripted_functions_use_the_same_cache(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", str(tmp_path))
    scripted = ts.jit.script(chain)
    with ts.jit.executor("native"):
        scripted(ts.from_numpy(array(16)), ts.from_numpy(array(16)))
    assert list(tmp_path.iterdir())


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 70),
    axis=st.sampled_from([0, 1, -1]),
    keepdim=st.booleans(),
)
def test_reductions_of_any_shape(rows: int, columns: int, axis: int, keepdim: bool) -> None:
    compiled = compile_(REDUCTIONS[axis, keepdim], fallback="error", cache=False)
    x = np.random.default_rng(rows * 71 + columns).standard_normal((rows, columns)).astype("f4")
    total, largest = compiled(x)
    np.testing.assert_allclose(total, x.sum(axis, keepdims=keepdim), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(largest, x.max(axis, keepdims=keepdim))


def sum_columns(x):  # type: ignore[no-untyped-def]
    return x.sum(0), x.amax(0)


def sum_columns_keep(x):  # type: ignore[no-untyped-def]
    return x.sum(0, keepdim=True), x.amax(0, keepdim=True)


def sum_rows(x):  # type: ignore[no-untyped-def]
    return x.sum(1), x.amax(1)


def sum_rows_keep(x):  # type: ignore[no-untyped-def]
    return x.sum(-1, keepdim=True), x.amax(-1, keepdim=True)


REDUCTIONS: dict[tuple[int, bool], Callable[..., Any]] = {
    (0, False): sum_columns,
    (0, True): sum_columns_keep,
    (1, False): sum_rows,
    (1, True): sum_rows_keep,
    (-1, False): sum_rows,
    (-1, True): sum_rows_keep,
}
