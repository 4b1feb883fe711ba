"""What programs ask of the process before they begin: determinism, precision, devices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorscript as ts


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    dtype = ts.get_default_dtype()
    yield
    ts.set_default_dtype(dtype)
    ts.use_deterministic_algorithms(False)
    ts.set_float32_matmul_precision("highest")


def test_determinism() -> None:
    assert not ts.are_deterministic_algorithms_enabled()
    ts.use_deterministic_algorithms(True, warn_only=True)
    assert ts.get_deterministic_debug_mode() == 1
    assert ts.is_deterministic_algorithms_warn_only_enabled()
    ts.set_deterministic_debug_mode("error")
    assert ts.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
        ts.set_deterministic_debug_mode("sometimes")


def test_precision_of_products() -> None:
    ts.set_float32_matmul_precision("medium")
    with pytest.warns(UserWarning, match="has no effect"):
        ts.set_float32_matmul_precision("low")
    assert ts.get_float32_matmul_precision() == "medium"


def test_default_dtype_by_a_type() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        ts.set_default_tensor_type(ts.DoubleTensor)
    assert ts.tensor(1.0).dtype is ts.float64
    with (
        pytest.warns(UserWarning, match="deprecated"),
        pytest.raises(TypeError, match="invalid type object"),
    ):
        ts.set_default_tensor_type(3)


def test_denormal_numbers_are_kept() -> None:
    assert ts.set_flush_denormal(False)
    assert not ts.set_flush_denormal(True)
    assert ts.tensor([1e-323], dtype=ts.float64).item() > 0


def test_devices_that_there_never_are() -> None:
    ts.set_default_device("cpu")
    assert ts.get_default_device() == ts.device("cpu")
    with ts.device("cpu"):
        assert ts.ones(2).device.type == "cpu"
    for asked in (
        lambda: ts.tensor([1], device="xpu"),
        lambda: ts.as_tensor([1], device="mps:0"),
        lambda: ts.asarray([1], device="mps"),
        lambda: ts.ones(2).to("xpu"),
        lambda: ts.nn.Linear(2, 2).to("xpu"),
    ):
        with pytest.raises(RuntimeError, match="eager tensors live on the CPU"):
            asked()
