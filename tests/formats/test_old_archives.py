"""Archives that PyTorch 1.0 to 1.5 wrote (`old_samples/models.py`) run as they ran there."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import ArchiveError, UserError

FOLDER = Path(__file__).parent / "old_samples"
RESULTS: dict[str, Any] = json.loads((FOLDER / "results.json").read_text())


def value(spec: Any) -> Any:
    """A value of `results.json`, tensors as arrays."""
    if isinstance(spec, dict):
        return np.array(spec["data"], spec["dtype"]).reshape(spec["shape"])
    return [value(item) for item in spec] if isinstance(spec, list) else spec


def argument(given: Any) -> Any:
    return ts.from_numpy(given.copy()) if isinstance(given, np.ndarray) else given


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        assert (found.numpy().dtype, found.numpy().shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found == wanted and type(found) is type(wanted)


def run(called: Callable[..., Any], name: str) -> None:
    for call in RESULTS[name]:
        assert_same(called(*map(argument, value(call["args"]))), value(call["out"]))


def changed(name: str, change: Callable[[str, bytes], bytes]) -> bytes:
    """An archive whose records went through `change`."""
    out = io.BytesIO()
    with zipfile.ZipFile(FOLDER / f"{name}.pt") as old, zipfile.ZipFile(out, "w") as new:
        for record in old.namelist():
            new.writestr(record, change(record.partition("/")[2], old.read(record)))
    return out.getvalue()


@pytest.mark.parametrize("name", RESULTS)
def test_the_interpreter_agrees(name: str) -> None:
    run(ts.jit.load(FOLDER / f"{name}.pt"), name)


@pytest.mark.parametrize("name", ["v1_0_1_control", "v1_1_0_attributes", "v1_2_0_classes"])
def test_native_code_agrees(name: str) -> None:
    run(ts.compile(ts.jit.load(FOLDER / f"{name}.pt"), fallback="error"), name)


@pytest.mark.parametrize("name", ["v1_0_1_shared", "v1_2_0_classes", "v1_3_1_lists"])
def test_saved_again_it_is_an_archive_of_today(name: str) -> None:
    saved = ts.jit.load(FOLDER / f"{name}.pt").save_to_buffer()
    run(ts.jit.load(saved), name)


def test_buffers_and_parameters_are_told_apart() -> None:
    for name in ("v1_0_1_shared", "v1_1_0_shared", "v1_2_0_shared"):
        module = ts.jit.load(FOLDER / f"{name}.pt")
        assert sorted(n for n, _ in module.named_parameters()) == ["a", "b"]
        assert sorted(n for n, _ in module.named_buffers()) == ["d", "h", "i"]
        assert module.a._array.base is not None
        with ts.no_grad():
            module.a[2].fill_(9.0)
        assert (module.b[:, 0] == 9).all()  # the same storage


@pytest.mark.parametrize("name", ["v1_2_0_lists", "v1_3_1_lists", "v1_5_1_lists"])
def test_errors_show_the_original_source(name: str) -> None:
    with pytest.raises(UserError) as told:
        ts.jit.load(FOLDER / f"{name}.pt")(ts.ones(0, 2), None)
    assert "original code" in str(told.value)
    assert "torch.stack(out)[:, :kk]" in str(told.value)


def test_a_damaged_model_is_refused() -> None:
    damages: list[tuple[str, Callable[[bytes], bytes], str]] = [
        ("model.json", lambda b: b[:100], "no JSON"),
        ("model.json", lambda b: b"[" * 100_000, "nested too deep"),
        ("model.json", lambda b: b"[]", "where an object belongs"),
        ("model.json", lambda b: b.replace(b'"tensorId":"0"', b'"tensorId":"99"'), "value 99 of"),
        ("model.json", lambda b: b.replace(b"tensors/0", b"tensors/9"), "failed locating"),
        ("model.json", lambda b: b.replace(b'"offset":"0"', b'"offset":"80"'), "reaches element"),
        ("model.json", lambda b: b.replace(b'"FLOAT"', b'"STRING"'), "tensors of 'STRING'"),
        ("model.json", lambda b: b.replace(b'"type":"Tensor"', b'"type":"("'), "as a type"),
        ("attributes.pkl", lambda b: b"\x80\x02}.", "must hold a tuple"),
    ]
    for record, damage, message in damages:
        data = changed("v1_1_0_control", lambda n, b: damage(b) if n == record else b)  # noqa: B023
        with pytest.raises(ArchiveError, match=message):
            ts.jit.load(data)


def test_a_quantized_tensor_is_refused() -> None:
    data = changed(
        "v1_2_0_shared",
        lambda n, b: (
            b.replace(b'"isQuantized":false', b'"isQuantized":true', 1) if n == "model.json" else b
        ),
    )
    with pytest.raises(ArchiveError, match="quantized tensors"):
        ts.jit.load(data)


def test_a_default_may_stand_before_a_parameter_without_one() -> None:
    def older(name: str, data: bytes) -> bytes:
        return data.replace(b"    k: Optional[int])", b"    k: Optional[int]=None,\n    n: int)")

    module = ts.jit.load(changed("v1_4_0_lists", older))
    assert len(module(ts.ones(3, 4), None, 1)[0]) == 3
