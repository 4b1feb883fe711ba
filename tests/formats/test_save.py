"""Saved archives, read back by ourselves: equal results, shared memory, stable bytes, layout."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_load_samples import FOLDER, SAMPLES, run_calls

import tensorscript as ts
from tensorscript.base.errors import ArchiveError
from tensorscript.frontends.torchscript.archive import Archive
from tensorscript.frontends.torchscript.pickle_writer import pickle
from tensorscript.frontends.torchscript.pickled import (
    DeviceRef,
    EnumRef,
    ObjectState,
    TaggedDict,
    TaggedList,
)
from tensorscript.frontends.torchscript.unpickle import unpickle
from tensorscript.frontends.torchscript.zip_writer import ZipWriter


def twice(x, k: int = 2):  # type: ignore[no-untyped-def]  # tensors have no annotation here
    return x * k


@pytest.mark.parametrize("name", SAMPLES)
def test_saved_samples_still_agree_with_pytorch(name: str) -> None:
    data = ts.jit.load(FOLDER / f"{name}.pt").save_to_buffer()
    run_calls(ts.jit.load(data), name)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_second_generation_is_the_first(name: str) -> None:
    first = ts.jit.load(FOLDER / f"{name}.pt").save_to_buffer()
    assert ts.jit.load(first).save_to_buffer() == first


def test_a_function_becomes_a_module_without_defaults() -> None:
    loaded = ts.jit.load(ts.jit.script(twice).save_to_buffer())
    assert loaded(ts.ones(2), 3).tolist() == [3.0, 3.0]
    assert loaded.original_name == "PlaceholderModule"
    with pytest.raises(RuntimeError, match="missing value for argument 'k'"):
        loaded(ts.ones(2))


def test_paths_and_file_objects(tmp_path: Path) -> None:
    module = ts.jit.load(FOLDER / "s02_small_cnn_scripted.pt")
    path = tmp_path / "small.cnn.pt"
    extra = {"meta.json": "{}", "raw": b"\0\1"}
    ts.jit.save(module, path, _extra_files=extra)
    with zipfile.ZipFile(path) as made:
        assert made.testzip() is None
        assert {name.partition("/")[0] for name in made.namelist()} == {"small.cnn"}
    found: dict[str, Any] = {"meta.json": "", "raw": "", "missing": ""}
    ts.jit.load(path, _extra_files=found)
    assert found == {"meta.json": b"{}", "raw": b"\0\1", "missing": b""}
    file = io.BytesIO()
    ts.jit.save(module, file)
    assert file.getvalue() == module.save_to_buffer()
    assert Archive.open(file.getvalue()).root == "archive"


def test_memory_that_is_shared_stays_shared() -> None:
    module = ts.jit.load(FOLDER / "s04_gru_tagger_scripted.pt")
    again = ts.jit.load(module.save_to_buffer())
    with ts.no_grad():
        dict(again.g.named_parameters())["weight_ih_l0"].fill_(3.0)
    flat = again.g._script_object.attributes["_flat_weights"]
    assert flat[0].detach().numpy().min() == 3.0


def test_entries_are_aligned_and_sized_in_the_directory() -> None:
    file = io.BytesIO()
    out = ZipWriter(file, "m")
    out.add("one", b"x")
    out.add("code/two.py", b"pass\n" * 100, deflate=True)
    out.add("empty", b"")
    out.close()
    data = file.getvalue()
    with zipfile.ZipFile(file) as made:
        assert made.testzip() is None
        assert made.read("m/code/two.py") == b"pass\n" * 100
        for entry in made.infolist():
            at = entry.header_offset
            name, extra = struct.unpack_from("<2H", data, at + 26)
            assert (at + 30 + name + extra) % 64 == 0


VALUES: list[Any] = [
    None, True, 0, 255, 256, 65535, 65536, -1, 1 << 31, -(1 << 63), 0.5, float("inf"), "caf\u00e9",
    "", 1 + 2j, (), (1,), (1, "a", 2.0), (1, 2, 3, 4), ("a", "a", ("a", 1)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_pickles_of_plain_values(value: Any) -> None:
    assert unpickle(pickle(value), "data") == value


def test_pickles_of_structure() -> None:
    shared = TaggedList([1, 2], "List[int]")
    table = TaggedDict({"a": shared, "b": shared}, "Dict[str, List[int]]")
    place = DeviceRef("cuda:1")
    state: dict[str, Any] = {"t": table, "l": shared, "c": EnumRef("__torch__.E", 3), "d": place}
    found = unpickle(pickle(ObjectState("__torch__.a.M", dict(state))), "data")
    assert isinstance(found, ObjectState) and isinstance(found.state, dict)
    back = found.state["t"]
    assert isinstance(back, TaggedDict) and back.type_str == table.type_str
    assert back.items["a"] is back.items["b"] is found.state["l"]
    assert (found.state["c"], found.state["d"]) == (state["c"], place)


def test_an_integer_over_64_bits_is_refused() -> None:
    with pytest.raises(ArchiveError, match="64 bits"):
        pickle(1 << 63)


def test_views_keep_their_strides() -> None:
    module = ts.jit.load(FOLDER / "s11_mutating_buffers_scripted.pt")
    base = ts.arange(12.0)
    module.avg = base.reshape(3, 4).t()[1]
    again = ts.jit.load(module.save_to_buffer())
    np.testing.assert_array_equal(again.avg.numpy(), [1.0, 5.0, 9.0])
    assert again.avg.stride() == (4,)


@pytest.mark.parametrize("home", ["03-model", "<run_path>", "a.1b"])
def test_classes_of_files_that_are_no_modules_have_names_that_code_can_say(home: str) -> None:
    class Doubles(ts.nn.Module):
        def forward(self, x: ts.Tensor) -> ts.Tensor:
            return x * 2

    Doubles.__module__ = home
    loaded = ts.jit.load(ts.jit.script(Doubles()).save_to_buffer())
    assert loaded(ts.ones(2)).tolist() == [2.0, 2.0]


def multiplied(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    z = x + 1
    return z @ y


def test_graphs_after_loading_show_the_original_places() -> None:
    line = multiplied.__code__.co_firstlineno + 2
    place = f"# {Path(__file__)}:{line}:11"
    made = ts.jit.script(multiplied)
    assert place in str(made.graph)
    assert place in str(ts.jit.load(made.save_to_buffer()).graph)


def test_errors_after_loading_point_at_the_original_source() -> None:
    data = ts.jit.script(multiplied).save_to_buffer()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="original code") as failure:
            ts.jit.load(data)(ts.ones(2), ts.ones(3))
        told = str(failure.value)
        original = told[told.index("original code") :]
        assert Path(__file__).name in original
        assert "    return z @ y\n           ~~~~~ <--- HERE" in original
        data = ts.jit.load(data).save_to_buffer()
