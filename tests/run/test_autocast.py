"""`autocast`: the dtypes that operators choose, and modules that stand for parts of PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts

CASES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "product": (lambda t, x: x @ x, "bfloat16"),
    "linear": (lambda t, x: t.nn.functional.linear(x, x), "bfloat16"),
    "einsum": (lambda t, x: t.einsum("ij,jk->ik", x, x), "bfloat16"),
    "float64": (lambda t, x: x.double() @ x.double(), "float64"),
    "integers": (lambda t, x: x.long() @ x.long(), "int64"),
    "half": (lambda t, x: x.half() @ x.half(), "bfloat16"),
    "sum of both": (lambda t, x: x @ x + x, "float32"),
    "cat": (lambda t, x: t.cat([x @ x, x]), "float32"),
    "loss": (lambda t, x: t.nn.functional.mse_loss(x @ x, x @ x), "float32"),
    "prod": (lambda t, x: (x @ x).prod(), "float32"),
    "softmax": (lambda t, x: t.softmax(x @ x, -1), "bfloat16"),
    "elements": (lambda t, x: t.einsum("ij,ij->ij", x, x), "float32"),
    "outer": (lambda t, x: t.einsum("i,j", x[0], x[0]), "float32"),
    "inner": (lambda t, x: t.inner(x, x), "bfloat16"),
    "scaled": (lambda t, x: t.inner(t.tensor(2.0), x), "float32"),
    "power": (lambda t, x: t.matrix_power(x, 2), "bfloat16"),
    "first power": (lambda t, x: t.matrix_power(x, 1), "float32"),
    "all dimensions": (lambda t, x: t.tensordot(x, x, dims=2), "float32"),
    "zeros around": (lambda t, x: t.nn.functional.pad((x @ x)[None], (1, 1)), "bfloat16"),
    "mirrored": (
        lambda t, x: t.nn.functional.pad((x @ x)[None], (1, 1), mode="reflect"),
        "float32",
    ),
    "repeated": (
        lambda t, x: t.nn.functional.pad((x @ x)[None], (1, 1), mode="replicate"),
        "float32",
    ),
    "wrapped": (
        lambda t, x: t.nn.functional.pad((x @ x)[None], (1, 1), mode="circular"),
        "bfloat16",
    ),
    "classes": (lambda t, x: t.nn.functional.nll_loss(x @ x, t.tensor([0, 1])), "float32"),
    "attention": (
        lambda t, x: t.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
        "bfloat16",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_dtypes(name: str) -> None:
    run, dtype = CASES[name]
    with ts.autocast("cpu"):
        assert str(run(ts, ts.ones(2, 2)).dtype) == f"torch.{dtype}"
    assert not ts.is_autocast_enabled("cpu")


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_dtypes_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    run, dtype = CASES[name]
    with torch.autocast("cpu"):
        assert str(run(torch, torch.ones(2, 2)).dtype) == f"torch.{dtype}"


def test_inner_blocks_and_decorators() -> None:
    x = ts.ones(2, 2)
    with ts.amp.autocast("cpu", dtype=ts.float16):
        assert (x @ x).dtype is ts.float16
        with ts.autocast("cpu", enabled=False):
            assert (x @ x).dtype is ts.float32
        assert ts.get_autocast_dtype("cpu") is ts.float16
    assert ts.autocast("cpu")(lambda: x @ x)().dtype is ts.bfloat16


def test_without_a_device_it_is_disabled() -> None:
    with pytest.warns(UserWarning, match="Disabling autocast"):
        mode = ts.cuda.amp.autocast()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ts.cuda.amp.autocast(enabled=False)
    x = ts.ones(2, 2)
    with mode:
        assert (x @ x).dtype is ts.float32
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'tpu'"):
        ts.autocast("tpu")


def test_traces_record_the_casts() -> None:
    x = ts.ones(2, 2)
    with ts.autocast("cpu"):
        traced = ts.jit.trace(lambda a: ts.relu(a @ a), x, check_trace=False)
    assert str(traced.graph).count("aten::to") == 2
    assert traced(x).dtype is ts.bfloat16
    assert ts.compile(traced)(x).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_switches() -> None:
    before = ts.get_autocast_dtype("cpu")
    try:
        ts.set_autocast_dtype("cpu", ts.float16)
        ts.set_autocast_enabled("cpu", True)
        assert (ts.ones(2, 2) @ ts.ones(2, 2)).dtype is ts.float16
        assert ts.get_autocast_cpu_dtype() is ts.float16
    finally:
        ts.set_autocast_cpu_enabled(False)
        ts.set_autocast_cpu_dtype(before)
    assert (ts.ones(2, 2) @ ts.ones(2, 2)).dtype is ts.float32
    assert ts.is_autocast_cache_enabled()


def test_modules_that_only_stand_in() -> None:
    x = ts.ones(2)
    assert ts.utils.checkpoint.checkpoint(ts.neg, x, use_reentrant=False).tolist() == [-1, -1]
    assert ts.utils.checkpoint.checkpoint_sequential([ts.neg, ts.neg], 2, x).tolist() == [1, 1]
    assert ts.fx.wrap(len) is len
    with ts.nn.attention.sdpa_kernel([ts.nn.attention.SDPBackend.MATH]):
        assert ts.relu(x).tolist() == [1, 1]


@ts.jit.script
def asked(x: ts.Tensor) -> Any:
    with ts.autocast("cpu"):
        inside = ts.is_autocast_enabled(), ts.is_autocast_cpu_enabled()
    with ts.autocast("cuda"):
        inside_gpu = ts.is_autocast_enabled(), ts.is_autocast_cpu_enabled()
    return inside, inside_gpu, ts.is_autocast_enabled()


def test_scripts_know_where_they_are() -> None:
    """PyTorch ends the process here."""
    expected = ((False, True), (True, False), False)
    assert asked(ts.ones(1)) == expected
    compiled = ts.compile(asked, cache=False)
    assert compiled(ts.ones(1)) == expected and compiled.stats.native


def unsafe(x: ts.Tensor) -> Any:
    with ts.autocast("cpu"):
        return ts.nn.functional.binary_cross_entropy(x, x)


def other_device(x: ts.Tensor) -> Any:
    with ts.autocast("xpu"):
        return x @ x


def raises(x: ts.Tensor, fails: bool) -> Any:
    with ts.autocast("cpu"):
        assert not fails, "asked to"
        return x @ x


def test_scripts_are_refused() -> None:
    with pytest.raises(RuntimeError, match="Unsafe to autocast"):
        ts.jit.script(unsafe)(ts.ones(1))
    with pytest.raises(RuntimeError, match="unrecognized device for autocast pass: xpu"):
        ts.jit.script(other_device)(ts.ones(1, 1))


def decorated(x: ts.Tensor) -> Any:
    return x @ x


def test_scripts_have_no_decorator() -> None:
    inside = ts.autocast("cpu")(decorated)
    assert inside(ts.ones(1, 1)).dtype is ts.bfloat16
    with pytest.raises(
        RuntimeError, match=r"autocast\(\) decorator is not supported in script mode"
    ):
        ts.jit.script(inside)


def test_a_failure_leaves_the_context() -> None:
    scripted, x = ts.jit.script(raises), ts.ones(2, 2)
    with pytest.raises(ts.jit.Error, match="asked to"):
        scripted(x, True)
    assert ts.jit.script(product)(x).dtype is ts.float32
    assert scripted(x, False).dtype is ts.bfloat16


def product(x: ts.Tensor) -> Any:
    return x @ x


def test_scripts_follow_the_autocast_around_them() -> None:
    """The script's own rules are added to those of eager mode."""
    x = ts.ones(2, 2, dtype=ts.bfloat16)
    scripted = ts.jit.script(exponentials)
    with ts.autocast("cpu"), ts.compiler.jit.callables.executor("native"):
        assert scripted(x).dtype is ts.float32
        assert ts.exp(x).dtype is ts.bfloat16
    assert scripted(x).dtype is ts.bfloat16


def exponentials(x: ts.Tensor) -> Any:
    return x.exp()


def test_labels() -> None:
    @ts.profiler.record_function("part")
    def run(x: ts.Tensor) -> Any:
        with ts.autograd.profiler.record_function("inner"):
            return x + 1

    assert run(ts.ones(1)).tolist() == [2]


def test_composites_that_end_in_a_product_answer_in_the_short_dtype() -> None:
    x = ts.tensor([[1.0, 2.0, 4.0], [3.0, 1.0, 0.0]])
    with ts.autocast("cpu"):
        found = ts.cov(x), ts.corrcoef(x), ts.linalg.pinv(x), ts.cov(x.double())
    assert [f.dtype for f in found] == [ts.bfloat16] * 3 + [ts.float64]
    assert ts.equal(found[0], ts.cov(x).bfloat16())


def test_casts_that_autocast_put_into_a_graph() -> None:
    """As in archives of modules that were frozen inside of it."""
    code = ts.jit.CompilationUnit("""
def f(x: Tensor, on: bool):
    y = torch._autocast_to_reduced_precision(x, False, on, 5, 15)
    return y, torch._autocast_to_full_precision(y, False, on)
""")
    native = ts.compile(code.f, fallback="error", cache=False)
    for run in (code.f, native):
        assert [y.dtype for y in run(ts.ones(2), True)] == [ts.bfloat16, ts.float32]
        assert [y.dtype for y in run(ts.ones(2).double(), True)] == [ts.float64] * 2
        assert [y.dtype for y in run(ts.ones(2), False)] == [ts.float32] * 2
