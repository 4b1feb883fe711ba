"""Archives that PyTorch wrote can be read, and say what PyTorch says."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorscript.frontends.torchscript.archive import (
    Archive,
    ArchiveContents,
    load_storage,
    load_tensor,
    read,
)
from tensorscript.frontends.torchscript.pickled import ObjectState, TaggedList, TensorRef

NAMES = sorted(path.stem for path in (Path(__file__).parent / "samples").glob("*.pt"))


def attribute(contents: ArchiveContents, path: str) -> Any:
    """The value at a dotted path below the root object."""
    value: Any = contents.root
    for name in path.split("."):
        assert isinstance(value, ObjectState) and isinstance(value.state, dict)
        value = value.state[name]
    return value


def array(contents: ArchiveContents, ref: TensorRef) -> np.ndarray[Any, Any]:
    return load_tensor(ref, load_storage(contents.archive, ref.storage))


def test_samples_are_all_listed(samples: dict[str, Any]) -> None:
    assert sorted(samples) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_reads(name: str, samples_folder: Path) -> None:
    contents = read(samples_folder / f"{name}.pt")
    assert isinstance(contents.root, ObjectState)
    assert contents.root.type_name.startswith("__torch__.")
    assert "__torch__" in contents.code
    assert contents.archive.root == name
    assert contents.version in (3, 4)


def test_modules_hold_their_attributes_in_class_order(samples_folder: Path) -> None:
    contents = read(samples_folder / "s02_small_cnn_scripted.pt")
    assert isinstance(contents.root, ObjectState) and isinstance(contents.root.state, dict)
    assert contents.root.type_name == "__torch__.Cifar"
    names = ["training", "_is_full_backward_hook", "features", "drop", "head"]
    assert list(contents.root.state) == names
    conv = attribute(contents, "features.0")
    assert conv.type_name == "__torch__.torch.nn.modules.conv.Conv2d"
    weight = conv.state["weight"]
    assert (weight.size, weight.stride, weight.requires_grad) == ((8, 3, 3, 3), (27, 9, 3, 1), True)
    padding = conv.state["_reversed_padding_repeated_twice"]
    assert isinstance(padding, TaggedList)
    assert (padding.elements, padding.type_str) == ([1, 1, 1, 1], "List[int]")
    count = array(contents, attribute(contents, "features.1.num_batches_tracked"))
    assert count.shape == () and count.dtype == np.int64


def test_a_storage_is_a_read_only_view_of_the_file(samples_folder: Path) -> None:
    contents = read(samples_folder / "s02_small_cnn_scripted.pt")
    ref = attribute(contents, "features.0.weight")
    storage = load_storage(contents.archive, ref.storage)
    record = np.frombuffer(contents.archive.record("data/0"), np.uint8)
    assert np.shares_memory(storage, record)
    assert not storage.flags.writeable
    assert storage.ctypes.data % 64 == 0
    tensor = load_tensor(ref, storage)
    assert np.shares_memory(tensor, storage) and not tensor.flags.writeable


def test_path_bytes_and_file_object_are_the_same(samples_folder: Path) -> None:
    path = samples_folder / "s01_regressor_traced.pt"
    data = path.read_bytes()
    ways = [read(str(path)), read(data), read(bytearray(data)), read(io.BytesIO(data))]
    with path.open("rb") as file:
        ways.append(read(file))
    weights = [array(contents, attribute(contents, "a.weight")) for contents in ways]
    for contents, weight in zip(ways, weights, strict=True):
        assert contents.code == ways[0].code
        np.testing.assert_array_equal(weight, weights[0])


def test_a_repacked_archive_reads(samples_folder: Path) -> None:
    """Other zip programs deflate everything and add entries for folders."""
    path = samples_folder / "s03_residual_conv1d_traced.pt"
    again = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("s03_residual_conv1d_traced/", b"")
        for name in old.namelist():
            new.writestr(name, old.read(name))
    contents, original = read(again.getvalue()), read(path)
    assert contents.code == original.code
    ref = attribute(contents, "c1.weight")
    np.testing.assert_array_equal(
        array(contents, ref), array(original, attribute(original, "c1.weight"))
    )


# torch.jit is deprecated since PyTorch 2.13, and is what we compare with.
@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_weights_match_pytorch(samples_folder: Path) -> None:
    torch = pytest.importorskip("torch")
    for name in NAMES:
        contents = read(samples_folder / f"{name}.pt")
        module = torch.jit.load(samples_folder / f"{name}.pt")
        for key, tensor in module.state_dict().items():
            mine = array(contents, attribute(contents, key))
            np.testing.assert_array_equal(mine, tensor.numpy())
            assert mine.dtype == tensor.numpy().dtype


def test_names_and_versions(build_archive: Any) -> None:
    archive = Archive.open(build_archive({"extra/a/b.txt": b"x"}, root="name"))
    assert (archive.root, archive.version, archive.byteorder) == ("name", 3, "little")
    assert archive.has("extra/a/b.txt") and not archive.has("name/extra/a/b.txt")
    newer = build_archive({"version": None, ".data/version": b"10\n", "byteorder": None})
    assert Archive.open(newer).version == 10
    contents = read(build_archive({"extra/meta.json": b"{}"}))
    assert contents.extra_files == ("meta.json",)
    assert contents.extra_file("meta.json") == b"{}"
    assert contents.extra_file("other") == b""


def storage_pickle(word: str, numel: int) -> bytes:
    """A pickle of one contiguous 1-D tensor in storage `data/0`."""
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n"
        + word.encode()
        + b"Storage\nX\x01\0\0\x000X\x03\0\0\0cpuK"
        + bytes([numel])
        + b"tQK\0K"
        + bytes([numel])
        + b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR."
    )


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("word", "dtype"),
    [
        ("Float", "f4"),
        ("Long", "i8"),
        ("Short", "i2"),
        ("Half", "f2"),
        ("Byte", "u1"),
        ("ComplexFloat", "c8"),
    ],
)
def test_dtypes_and_byte_order(build_archive: Any, word: str, dtype: str, order: str) -> None:
    values = np.array([1, 2, 3], dtype)
    raw = values.astype(values.dtype.newbyteorder("<" if order == "little" else ">")).tobytes()
    data = {"data.pkl": storage_pickle(word, 3), "data/0": raw, "byteorder": order.encode()}
    contents = read(build_archive(data))
    assert isinstance(contents.root, TensorRef)
    read_back = array(contents, contents.root)
    np.testing.assert_array_equal(read_back, values)
    assert read_back.dtype == values.dtype and not read_back.flags.writeable


def test_bfloat16_is_bits_and_bool_is_normal(build_archive: Any) -> None:
    bits = np.array([0x3F80, 0x4000], np.uint16)  # 1.0, 2.0
    contents = read(
        build_archive({"data.pkl": storage_pickle("BFloat16", 2), "data/0": bits.tobytes()})
    )
    assert isinstance(contents.root, TensorRef)
    assert contents.root.storage.dtype.name == "bfloat16"
    np.testing.assert_array_equal(array(contents, contents.root), bits)
    contents = read(
        build_archive({"data.pkl": storage_pickle("Bool", 3), "data/0": b"\x00\x01\x07"})
    )
    assert isinstance(contents.root, TensorRef)
    truth = array(contents, contents.root)
    assert truth.tolist() == [False, True, True] and truth.view(np.uint8).max() == 1
