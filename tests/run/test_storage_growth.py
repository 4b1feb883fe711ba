"""Memory that grows under several tensors: all of them see it, or the program is told."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import nn

SCRIPT = """
def longer(x, n: int):
    part = x[1:]
    part.resize_([n])
    return part.fill_(3.0)
"""


def _view_grows(t: Any) -> Any:
    x = t.arange(6.0)
    part = x[2:]
    part.resize_(8)
    part[0], part[7] = 50, 9
    part[4:7] = 1
    kept = x.untyped_storage()
    return (
        x.tolist(), part.tolist(), kept.nbytes(), part.storage_offset(),
        kept.data_ptr() == part.untyped_storage().data_ptr() == x.data_ptr(),
    )  # fmt: skip


def _storage_grows(t: Any) -> Any:
    x = t.arange(6.0)
    turned, storage = x.view(2, 3).t(), x.untyped_storage()
    storage.resize_(40)
    x[1] = 7
    same = x.untyped_storage()
    return turned.tolist(), turned.stride(), storage.tolist()[:8], storage.nbytes(), same == storage


def _typed_storage_grows(t: Any) -> Any:
    x = t.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        storage = x.storage()
    storage.resize_(8)
    storage.fill_(3.0)
    wide = t.empty(0).set_(storage)
    wide[0] = 1
    return wide.tolist(), x.tolist(), storage.size(), storage.tolist()


def _storage_shrinks(t: Any) -> Any:
    x = t.arange(8.0)
    x.resize_(2)
    x.untyped_storage().resize_(8)
    return x.tolist(), x.untyped_storage().nbytes()


def _empty_ones(t: Any) -> Any:
    x = t.empty(0)
    other = x[:]
    other.resize_(3).fill_(2)
    return x.tolist(), x.untyped_storage().nbytes(), x.set_(other).tolist()


def _parameters_and_data(t: Any) -> Any:
    x = t.zeros(4)
    parameter = t.nn.Parameter(x)
    x.resize_(9)
    parameter.data[0] = 4
    x.detach().resize_(10)[1] = 5
    return parameter.tolist(), parameter.untyped_storage().nbytes()


def _strides_and_dtypes(t: Any) -> Any:
    x = t.arange(8, dtype=t.int32)
    every, halves = x[::2], x.view(t.int16)
    every[1:].resize_(2, 2, 3).fill_(6)
    halves[0] = 5
    wide = t.arange(2.0).expand(3, 2)
    wide._base.resize_(9)[0] = 4
    return x.tolist(), every.tolist(), halves.shape, wide.tolist()


def _an_out(t: Any) -> Any:
    x = t.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        last = x[1:]
        t.add(t.ones(5), 1, out=last)
    return x.tolist(), last.tolist(), x.untyped_storage().nbytes()


def _a_memory_format(t: Any) -> Any:
    x = t.zeros(1, 3, 2, 2)
    y = x[:]
    y.resize_(2, 3, 2, 2, memory_format=t.channels_last).fill_(1)
    return x.tolist(), y.stride(), x.untyped_storage().nbytes()


def _parts_without_elements(t: Any) -> Any:
    x = t.arange(6.0)
    inner, after, turned = x[3:3], x.narrow(0, 6, 0), x.view(2, 3).t()[1:, 2:]
    seen = [y.storage_offset() for y in (inner, after, turned, x[None, 6:], inner[:])]
    inner.resize_(2).fill_(7)
    after.resize_(1).fill_(8)
    return seen, x.tolist(), after.tolist(), x.untyped_storage().nbytes()


def _in_a_script(t: Any) -> Any:
    x = t.zeros(3)
    longer = t.jit.CompilationUnit(SCRIPT).longer
    return longer(x, 6).tolist(), x.tolist(), x.untyped_storage().nbytes()


GROWING = [
    _view_grows, _storage_grows, _typed_storage_grows, _storage_shrinks, _empty_ones,
    _parameters_and_data, _strides_and_dtypes, _an_out, _a_memory_format, _in_a_script,
    _parts_without_elements,
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("program", GROWING)
def test_all_views_see_it_as_in_pytorch(program: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert program(ts) == program(torch)


def test_all_views_see_it() -> None:
    shown, part, size, offset, same = _view_grows(ts)
    assert shown == [0, 1, 50, 3, 4, 5] and part == [50, 3, 4, 5, 1, 1, 1, 9]
    assert (size, offset, same) == (40, 2, True)
    assert _typed_storage_grows(ts) == ([1, *[3] * 7], [1, 3, 3, 3], 8, [1, *[3] * 7])


OTHERS: list[Callable[[], ts.Tensor]] = [
    lambda: ts.from_numpy(np.zeros(3)),
    lambda: ts.as_tensor(np.zeros(3))[1:],
    lambda: ts.from_dlpack(np.zeros(3)),
    lambda: ts.frombuffer(bytearray(12), dtype=ts.float32),
    lambda: (x := ts.zeros(3), x[1:].numpy())[0],
    lambda: (x := ts.zeros(3), np.asarray(x))[0],
    lambda: (x := ts.zeros(3).bfloat16(), x.__dlpack__())[0],
]


@pytest.mark.parametrize("make", OTHERS)
def test_memory_of_others_keeps_its_size(make: Callable[[], ts.Tensor]) -> None:
    x = make()
    assert x.resize_(1).numel() == 1
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(20)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(100)


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    x = ts.arange(8.0)
    with pytest.raises(RuntimeError, match=r"16 bytes, where a tensor of sizes \[8\] reaches up"):
        x.untyped_storage().resize_(16)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage()[4:8].resize_(64)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        ts.zeros(2, requires_grad=True).resize_(3)
    assert x.tolist() == list(range(8)) and x.untyped_storage().nbytes() == 32


@pytest.fixture
def frozen() -> Iterator[None]:
    gc.freeze()
    yield
    gc.unfreeze()


def test_tensors_that_are_hidden_are_not_forgotten(frozen: None) -> None:
    x = ts.zeros(3)
    part = x[1:]
    with pytest.raises(RuntimeError, match=r"gc\.unfreeze"):
        part.resize_(9)
    assert ts.zeros(3).resize_(9).shape == (9,)


def test_tensors_of_other_threads_and_of_modules() -> None:
    class Cache(nn.Module):
        rows: ts.Tensor

        def __init__(self, rows: ts.Tensor) -> None:
            super().__init__()
            self.register_buffer("rows", rows)

    x = ts.zeros(2)
    cache, seen, grown = Cache(x[:1]), [], threading.Event()

    def watch(mine: ts.Tensor) -> None:
        grown.wait(10)
        seen.append(mine.tolist())

    other = threading.Thread(target=watch, args=(x.view(2, 1),))
    other.start()
    x.resize_(50).fill_(2)
    grown.set()
    other.join()
    assert seen == [[[2], [2]]] and cache.rows.tolist() == [2]


def test_memory_of_one_tensor_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def search() -> list[Any]:
        raise AssertionError("a search through all objects")

    monkeypatch.setattr(gc, "get_objects", search)
    for make in (lambda: ts.empty(0), lambda: ts.zeros(2, 2)):
        x = make()
        assert x.resize_(5, 5).shape == (5, 5)
        out = make().resize_(0)
        assert ts.add(ts.ones(40), 1, out=out) is out and out.shape == (40,)
        out = make().resize_(0)
        assert ts.cat([ts.ones(9), ts.ones(9)], out=out).shape == (18,)
