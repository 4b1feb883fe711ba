"""Checkpoints and safetensors: what PyTorch writes is read, and the other way; nothing else is."""

from __future__ import annotations

import io
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn, safetensors
from tensorscript.base.errors import ArchiveError, ArgumentError


def model(library: Any) -> Any:
    n = library.nn
    library.manual_seed(3)
    return n.Sequential(n.Linear(3, 4), n.BatchNorm1d(4), n.LSTM(4, 2))


def everything(library: Any) -> dict[str, Any]:
    """One of everything that a checkpoint may hold."""
    x = library.arange(10.0)
    shared = [1, "two"]
    return {
        "state": model(library).state_dict(),
        "views": [x, x[2:4], x.reshape(2, 5).t()],
        "optimizer": {"param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0, 1]}]},
        "dtype": library.bfloat16,
        "size": library.Size([1, 2]),
        "device": library.device("cuda:1"),
        "parameter": library.nn.Parameter(library.ones(2)),
        "numbers": (1, -2, 300, 70000, 2**40, 1.5, True, None, 1 + 2j),
        "bytes": b"\xff\x00a",
        "keys": {1: "one", "": {}},
        "shared": [shared, shared],
        "dtypes": [
            library.ones(2, dtype=d) for d in (library.bfloat16, library.bool, library.int8)
        ],
    }


def text(value: Any) -> str:
    """The text of a value, tensors as numbers: both libraries write it the same."""
    return str(value)


def through(value: Any, load: Any, save: Any) -> Any:
    file = io.BytesIO()
    save(value, file)
    return load(io.BytesIO(file.getvalue()))


def test_what_is_saved_is_loaded() -> None:
    value = everything(ts)
    found = through(value, ts.load, ts.save)
    assert text(found) == text(value)
    assert found["state"]._metadata == value["state"]._metadata
    assert found["shared"][0] is found["shared"][1]
    assert isinstance(found["parameter"], nn.Parameter)
    found["views"][0][2] = 77.0
    assert found["views"][1][0].item() == 77.0


@pytest.mark.torch
def test_pytorch_reads_ours_and_we_read_pytorch() -> None:
    torch = pytest.importorskip("torch")
    expected = everything(torch)
    ours = through(expected, ts.load, torch.save)
    assert text(ours) == text(expected)
    theirs = through(ours, lambda f: torch.load(f, weights_only=True), ts.save)
    assert text(theirs) == text(expected)
    assert theirs["state"]._metadata == expected["state"]._metadata
    theirs["views"][0][2] = 77.0
    assert theirs["views"][1][0].item() == 77.0


@pytest.mark.torch
def test_a_model_takes_the_weights_of_its_twin(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    twin = model(torch)
    torch.save(twin.state_dict(), tmp_path / "weights.pth")
    ours = model(ts)
    assert str(ours.load_state_dict(ts.load(tmp_path / "weights.pth"))) == (
        "<All keys matched successfully>"
    )
    ts.save(ours.state_dict(), tmp_path / "back.pth")
    for a, b in zip(
        torch.load(tmp_path / "back.pth").values(), twin.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b)


class Evil:
    def __reduce__(self) -> Any:
        return (print, ("never",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps(Evil(), 2), "refuses global `__builtin__.print`"),
        (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "refuses global `os.system`"),
        (b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81.", "whole modules are never loaded"),
        (b"\x80\x02ctorch\nFloatStorage\n.", "stands where a value belongs"),
        (b"\x80\x02ctorch\nSize\nK\x01\x85R.", "malformed torch.Size"),
    ],
)
def test_nothing_is_executed(build_archive: Any, data: bytes, message: str) -> None:
    file = build_archive({"data.pkl": data, "constants.pkl": None, "code/__torch__.py": None})
    with pytest.raises(ArchiveError, match=message.replace("(", r"\(")):
        ts.load(file)


def test_what_cannot_be_saved_or_loaded_is_named(build_archive: Any) -> None:
    with pytest.raises(ArgumentError, match="not Sequential; of a module, save its state_dict"):
        ts.save(model(ts), io.BytesIO())
    with pytest.raises(ArchiveError, match=r"read it with jit\.load"):
        ts.load(build_archive())


def sample() -> dict[str, Any]:
    rows = {"w": ts.arange(6.0).reshape(2, 3).t(), "n": ts.tensor(3), "b": ts.tensor([True, False])}
    return {**rows, "h": ts.ones(3, dtype=ts.bfloat16), "empty": ts.zeros(0, 2)}


def test_safetensors_there_and_back(tmp_path: Path) -> None:
    safetensors.save_file(sample(), tmp_path / "a.safetensors", {"format": "pt"})
    found = safetensors.load_file(tmp_path / "a.safetensors")
    for name, tensor in sample().items():
        assert found[name].dtype is tensor.dtype and found[name].shape == tensor.shape
        np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(tensor))
    found["w"][0] = 9.0
    again = safetensors.load_file(tmp_path / "a.safetensors")
    assert again["w"][0, 0].item() == 0.0


def header(entry: object, data: bytes = b"") -> bytes:
    text = json.dumps(entry).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_a_path_is_opened_as_python_opens_it(tmp_path: Path) -> None:
    """Where `jit.load` has a ValueError of its own; programs catch these kinds."""
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*none\.pt'"):
        ts.load(tmp_path / "none.pt")
    with pytest.raises(IsADirectoryError):
        ts.load(str(tmp_path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\1", "too short"),
        (struct.pack("<Q", 1 << 40), "does not fit"),
        (struct.pack("<Q", 2) + b"{[", "not JSON"),
        (header([]), "not an object"),
        (header({"x": 3}), "malformed"),
        (header({"x": {"dtype": "F8", "shape": [], "data_offsets": [0, 1]}}), "dtype F8"),
        (header({"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}), "malformed shape"),
        (header({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}), "not where"),
        (header({"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 1]}}, b"12"), "not where"),
    ],
)
def test_damaged_safetensors_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        safetensors.load(data)


OLD = Path(__file__).parent / "old_samples" / "v1_0_1.pth"


def test_a_file_of_pytorch_before_1_6_is_read() -> None:
    for source in (OLD, OLD.read_bytes(), io.BytesIO(OLD.read_bytes())):
        found = ts.load(source)
        x, part, turned = found["views"]
        assert x.tolist() == list(range(10)) and part.tolist() == [2, 3]
        assert (turned.shape, turned.stride()) == ((5, 2), (1, 5))
        x[2] = 9.0
        assert part[0].item() == 9 and turned[2, 0].item() == 9  # one storage
        assert isinstance(found["param"], nn.Parameter)
        assert found["numbers"] == (1, -2, 300, 70000, 2**40, 1.5, True, None, 2**70)
        assert found["half"].dtype is ts.float16 and found["half"].tolist() == [1.5, 1.5]
        assert found["bytes"].tolist() == [0, 1, 2] and found["bytes"].dtype is ts.int8
    assert ts.load(OLD)["views"][0][2].item() == 2  # the file is as it was


def test_a_damaged_old_file_is_refused() -> None:
    data = OLD.read_bytes()
    for damaged, message in [
        (data[:-4], "ends before its storages"),
        (data[:200], "Unexpected end|without an end"),
        (data.replace(b"M\xe9\x03", b"M\xe8\x03", 1), "protocol version 1000"),
        (data.replace(b"_rebuild_tensor_v2", b"_rebuild_qtensor__", 1), "refuses global"),
        (data.replace(b"HalfStorage", b"LongStorage", 1), "needs|ends before"),
        (b"x" * 257 + b"ustar" + b"x" * 300, "PyTorch 0.1"),
    ]:
        with pytest.raises(ArchiveError, match=message):
            ts.load(damaged)


@pytest.mark.parametrize("name", ["state", "views", "optimizer", "numbers", "dtypes", "shared"])
def test_what_pytorch_still_writes_in_the_old_form_is_read(name: str) -> None:
    torch = pytest.importorskip("torch")
    value = everything(torch)[name]
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=False)
    assert text(ts.load(file.getvalue())) == text(value)


def test_the_storages_of_an_old_file_are_held_once() -> None:
    for source in (OLD, io.BytesIO(OLD.read_bytes())):
        found = ts.load(source)
        arrays = [t._array for t in (found["views"][0], found["half"], found["bytes"])]
        places = [array.ctypes.data for array in arrays]
        assert max(places) - min(places) < len(OLD.read_bytes())  # in the memory of the file
        assert all(array.flags.aligned and array.flags.writeable for array in arrays)


def test_bytes_of_the_caller_are_left_alone() -> None:
    given = bytearray(OLD.read_bytes())
    ts.load(given)["views"][0].fill_(7.0)
    assert given == OLD.read_bytes()


def test_the_options_of_pytorch_are_taken() -> None:
    file = io.BytesIO()
    ts.save({"x": ts.ones(2)}, file, pickle, pickle_protocol=4)
    found = ts.load(file.getvalue(), "cpu", pickle, encoding="latin1", weights_only=False)
    assert found["x"].tolist() == [1, 1]
    with pytest.warns(UserWarning, match="is a zip archive"):
        ts.save([1], file := io.BytesIO(), _use_new_zipfile_serialization=False)
    assert ts.load(file.getvalue()) == [1]
