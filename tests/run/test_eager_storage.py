"""Storages: what memory tensors view, and whether two of them view the same."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts


def _typed(x: Any) -> Any:
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        return x.storage()


def test_tied_weights_are_found_by_their_storages() -> None:
    embedding, head = ts.nn.Embedding(5, 3), ts.nn.Linear(3, 5, bias=False)
    head.weight = embedding.weight
    assert head.weight.untyped_storage() == embedding.weight.untyped_storage()
    assert head.weight.untyped_storage().data_ptr() == embedding.weight.data_ptr()
    assert ts.ones(3).untyped_storage() != ts.ones(3).untyped_storage()


def test_a_view_has_the_storage_of_all() -> None:
    base = ts.arange(6).view(2, 3)
    part = base[1:]
    assert part.untyped_storage() == base.untyped_storage()
    assert part.untyped_storage().nbytes() == 48
    assert _typed(part).tolist() == [0, 1, 2, 3, 4, 5]
    assert part.untyped_storage().tolist()[:9] == [0] * 8 + [1]


def test_writes_go_through() -> None:
    x = ts.arange(4, dtype=ts.float32)
    _typed(x)[1] = 7
    assert x.tolist() == [0, 7, 2, 3]
    x.untyped_storage().fill_(0)
    assert x.tolist() == [0, 0, 0, 0]
    copied = copy.deepcopy(x.untyped_storage())
    copied[0] = 1
    assert x[0] == 0 and copied[0] == 1


def test_deep_copies_share_what_the_originals_share() -> None:
    base = ts.arange(6.0).view(2, 3)
    first, turned, storage = copy.deepcopy([base, base.t(), base.untyped_storage()])
    first[0, 1] = 50
    assert turned[1, 0] == 50 and base[0, 1] == 1
    assert storage == first.untyped_storage() and turned.stride() == (1, 3)


@pytest.mark.parametrize(
    "kept", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_view_keeps_its_place(kept: Any) -> None:
    part = ts.arange(10).bfloat16()[2:8:2]
    part.tag = ["attribute"]
    made = kept(part)
    assert made.tolist() == [2, 4, 6] and made.stride() == (2,) and made.storage_offset() == 2
    assert made.untyped_storage().nbytes() == 20 and made.tag == ["attribute"]
    assert (made.data_ptr() == part.data_ptr()) is (kept is copy.copy)
    assert kept(ts.ones(1, 3).expand(4, 3)).stride() == (0, 1)
    assert kept(ts.eye(2).to_sparse()).to_dense().tolist() == [[1, 0], [0, 1]]
    assert kept(ts.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_a_part_of_memory_of_another_library() -> None:
    outer = np.arange(12.0)
    part = ts.from_dlpack(outer[::2])
    assert part.untyped_storage().nbytes() >= 88
    assert copy.deepcopy(part).tolist() == [0, 2, 4, 6, 8, 10]


def test_set_moves_a_tensor_onto_a_storage() -> None:
    base = ts.arange(6.0)
    x = ts.empty(0).set_(base.untyped_storage(), 2, (2, 2), (2, 1))
    assert x.tolist() == [[2, 3], [4, 5]] and x.storage_offset() == 2
    x[0, 0] = 9
    assert base[2] == 9
    assert ts.empty(0).set_(base.untyped_storage()).is_set_to(base)
    with pytest.raises(RuntimeError, match="Expected a Storage of type Int or an UntypedStorage"):
        ts.empty(0, dtype=ts.int32).set_(_typed(base))
    with pytest.raises(RuntimeError, match="requiring a storage size of 40 are out of bounds"):
        x.set_(base.untyped_storage(), 4, (6,), (1,))


def test_storages_by_themselves(tmp_path: Path) -> None:
    assert ts.UntypedStorage(3).nbytes() == 3
    bytes_ = ts.UntypedStorage([1, 0, 2, 0])
    assert ts.empty(0, dtype=ts.int16).set_(bytes_).tolist() == [1, 2]
    typed = ts.FloatStorage([1.0, 2.5])
    assert isinstance(typed, ts.FloatStorage) and not isinstance(typed, ts.LongStorage)
    assert (typed.type(), typed.nbytes(), typed.half().tolist()) == (
        "torch.FloatStorage", 8, [1.0, 2.5],
    )  # fmt: skip
    assert repr(typed) == (
        " 1.0\n 2.5\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"
    )
    assert ts.is_storage(typed) and not ts.is_storage(ts.ones(2))
    path = tmp_path / "elements"
    path.write_bytes(bytes([1, 2, 3]))
    mapped = ts.UntypedStorage.from_file(str(path), shared=True, nbytes=4)
    mapped[3] = 4
    assert path.read_bytes() == bytes([1, 2, 3, 4])
    with pytest.raises(RuntimeError, match="not resizable"):
        mapped.resize_(8)
    with pytest.raises(IndexError, match="index 4 out of range for storage of size 4"):
        mapped[4]


@pytest.mark.torch
def test_as_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def seen(library: Any) -> list[Any]:
        x = library.arange(12, dtype=library.float32).view(3, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            typed = x[1:].storage()
        raw = x.t().untyped_storage()
        return [
            typed.tolist(), typed.size(), len(typed), typed.nbytes(), typed.element_size(),
            typed.type(), typed[3], typed.int().tolist(), typed.clone().fill_(2).tolist(),
            typed.pickle_storage_type(), typed.is_shared(), repr(raw[:3]), raw.nbytes(),
            raw.tolist(), raw[2], raw[4:8].tolist(), raw.type(), str(raw.device),
            raw.element_size(), raw == x.untyped_storage(), raw.clone() == raw,
            library.DoubleStorage([1, 2]).tolist(), library.BoolStorage([1, 0]).tolist(),
        ]  # fmt: skip

    assert seen(ts) == seen(torch)


def test_a_storage_is_the_memory_in_whatever_order_it_was_made() -> None:
    joined = ts.cat([ts.zeros(2, 3, 2, 2).contiguous(memory_format=ts.channels_last)], 1)
    assert not joined.is_contiguous()
    storage = joined.untyped_storage()
    assert storage.data_ptr() == joined.data_ptr() and storage.nbytes() == 96
    storage.fill_(0)
    joined[1, 2, 1, 1] = 1.0
    assert storage.tolist()[-4:] == [0, 0, 128, 63]


def test_normal_numbers_go_where_they_are_asked_to() -> None:
    drawn = ts.empty(0, dtype=ts.float64)
    ts.manual_seed(0)
    assert ts.normal(1.0, 2.0, (3,), out=drawn) is drawn
    ts.manual_seed(0)
    assert drawn.tolist() == ts.normal(1.0, 2.0, (3,), dtype=ts.float64).tolist()


@pytest.mark.parametrize(
    "first", ["signal.windows.hann(4)", "get_rng_state()", "ops.aten.zeros([2])"]
)
def test_any_function_may_be_the_first_that_a_program_calls(first: str) -> None:
    """The class of tensors is loaded when the first one is made."""
    program = f"import tensorscript as ts; assert len(ts.{first}) > 1"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_elements_of_buffers_and_files(tmp_path: Path) -> None:
    assert ts.ByteStorage.from_buffer(bytearray([1, 2, 3]), "native").tolist() == [1, 2, 3]
    assert ts.FloatStorage.from_buffer(b"\x40\0\0\0" * 2, "big").tolist() == [2.0, 2.0]
    assert ts.ShortStorage.from_buffer(b"\1\0\2\0\3\0", "little", 1, 2).tolist() == [2]
    with pytest.raises(ValueError, match="buffer has only 1 elements after offset 4"):
        ts.ShortStorage.from_buffer(b"\1\0\2\0\3\0", "little", 2, 4)
    with pytest.raises(ValueError, match="invalid byte_order 'middle'"):
        ts.ShortStorage.from_buffer(b"", "middle")
    path = tmp_path / "elements"
    path.write_bytes(bytes([0, 0, 128, 63]))
    assert ts.FloatStorage.from_file(str(path), size=1).tolist() == [1.0]


def test_bytes_turned_around() -> None:
    for dtype, turned in ((ts.int16, [256, 512]), (ts.complex64, [4.600602988224807e-41])):
        x = ts.tensor([1, 2][: len(turned)], dtype=dtype)
        x.untyped_storage().byteswap(dtype)
        assert x.tolist() == turned
        x.untyped_storage().byteswap(dtype)
        assert x.tolist() == [1, 2][: len(turned)]


def test_tensors_of_storages() -> None:
    for dtype in (ts.float32, ts.bfloat16, ts.int64):
        x = ts.arange(3, dtype=dtype)
        for storage in (_typed(x), x.untyped_storage()):
            made = ts.tensor(storage, dtype=dtype)
            assert made.dtype is dtype and made.tolist() == [0, 1, 2]
            assert made.data_ptr() != x.data_ptr()
        with pytest.raises(RuntimeError, match="Expected a Storage of type Double"):
            ts.tensor(_typed(x), dtype=ts.float64)
    assert _typed(ts.ones(1)).complex_double().dtype is ts.complex128


def test_deep_copies_share_as_before() -> None:
    x = ts.zeros(2)
    made, storage = copy.deepcopy([x, _typed(x)])
    made.add_(1)
    assert storage.tolist() == [1.0, 1.0] and x.tolist() == [0.0, 0.0]
