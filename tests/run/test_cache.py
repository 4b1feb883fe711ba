"""The disk cache: round trip, damage, permissions, bound, speed."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.cache import DiskCache, cache_key
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.holdings import holdings
from tensorscript.compiler.options import CompileOptions
from tensorscript.runtime.values import Future, ScriptObject


def test_round_trip_and_private_files(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "c")
    key = cache_key("a", b"b")
    assert cache.load(key) is None
    assert cache.store(key, b"object", {"entry": "f", "n": 3})
    entry = cache.load(key)
    assert entry is not None
    assert entry.data == b"object"
    assert entry.metadata == {"entry": "f", "n": 3}
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    (file,) = (tmp_path / "c").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_parts_do_not_run_together() -> None:
    assert cache_key("ab", "c") != cache_key("a", "bc")


def test_damage_is_a_miss_and_is_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    key = cache_key("x")
    for damage in (
        lambda raw: raw[:-1],
        lambda raw: raw[:-1] + b"?",
        lambda raw: b"",
        lambda raw: raw[:20],
    ):
        cache.store(key, b"0123456789" * 10)
        (file,) = tmp_path.iterdir()
        file.write_bytes(damage(file.read_bytes()))
        assert cache.load(key) is None
        assert list(tmp_path.iterdir()) == []


def test_size_bound_drops_the_oldest(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=5000)
    for index in range(4):
        cache.store(cache_key(str(index)), bytes(1000))
        os.utime(tmp_path / f"{cache_key(str(index))}.tsk", (index, index))
    cache.load(cache_key("0"))
    cache.store(cache_key("4"), bytes(1000))
    assert cache.load(cache_key("0")) is not None
    assert cache.load(cache_key("1")) is None
    assert cache.load(cache_key("4")) is not None


def test_unwritable_directory_is_only_slower(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not DiskCache(tmp_path / "file" / "c").store("k", b"")


def test_many_writers(tmp_path: Path) -> None:
    def work(index: int) -> bytes | None:
        cache = DiskCache(tmp_path)
        cache.store(cache_key("same"), b"z" * 10000)
        entry = cache.load(cache_key("same"))
        return entry.data if entry else None

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(32))) == {b"z" * 10000}


def test_a_hit_is_fast(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.store("k", bytes(20000))
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        cache.load("k")
        best = min(best, time.perf_counter() - start)
    assert best < 0.3e-3


def test_arrays_come_back_aligned(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    arrays: list[np.ndarray] = [
        np.arange(7, dtype=np.float64),
        np.zeros((0, 3), np.float32),
        np.array(True),
        np.arange(6, dtype=np.int16).reshape(2, 3).T,
    ]
    assert cache.store("k", b"odd", {"n": 1}, arrays)
    entry = cache.load("k")
    assert entry is not None
    assert (entry.data, entry.metadata) == (b"odd", {"n": 1})
    for got, wanted in zip(entry.arrays, arrays, strict=True):
        assert got.ctypes.data % 64 == 0
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def test_some_keys_look_through_the_folder(tmp_path: Path) -> None:
    """A process that writes little does not, at first: there may be thousands of entries."""
    for number in range(40):
        DiskCache(tmp_path, limit=100_000).store(f"{number % 15 + 1:x}{number}", bytes(200))
    assert len(list(tmp_path.glob("*.tsk"))) == 40
    cache = DiskCache(tmp_path, limit=10_000)  # of which 200 bytes are a large part
    assert cache.store("f", bytes(200))
    assert len(list(tmp_path.glob("*.tsk"))) < 35
    for number in range(40):
        DiskCache(tmp_path, limit=100_000).store(f"a{number}", bytes(200))
    cache = DiskCache(tmp_path, limit=100_000)
    cache.limit = 10_000 * 256  # nothing is large
    assert cache.store("0", bytes(200))
    cache.limit = 10_000
    assert cache.store("b", bytes(200))  # from then on it counts
    assert len(list(tmp_path.glob("*.tsk"))) < 35


def test_an_entry_beyond_half_of_the_limit_is_not_written(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=5000)
    assert not cache.store("k", b"", {}, [np.zeros(1000, np.float32)])
    assert list(tmp_path.iterdir()) == []


def compiled_linear(layer: ts.nn.Module, folder: Path) -> np.ndarray:
    """The result of a layer of 64 inputs on ones, as compiled code gives it."""
    compiled = ts.compile(layer, options=CompileOptions(cache_dir=folder, fallback="error"))
    return np.asarray(compiled(np.ones((8, 64), np.float32)))


def test_models_of_the_same_layers_share_machine_code(tmp_path: Path) -> None:
    """Each keeps its own packed weights; the rest is the first one's."""
    found = []
    for seed in (0, 1):
        ts.manual_seed(seed)
        layer = ts.nn.Linear(64, 64)
        wanted = np.asarray(layer.weight).sum(1) + np.asarray(layer.bias)
        np.testing.assert_allclose(compiled_linear(layer, tmp_path)[0], wanted, 1e-5, 1e-5)
        found.append({file.name for file in tmp_path.iterdir()})
    (own,) = found[1] - found[0]
    assert (tmp_path / own).stat().st_size > layer.weight.numel() * 4


def test_a_model_from_the_cache_is_not_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new process would find the model again; other weights, or another mode, are another."""

    def made() -> ts.nn.Module:
        ts.manual_seed(0)
        layers = ts.nn.Linear(64, 64), ts.nn.Dropout(0.5), ts.nn.Tanh()
        return ts.nn.Sequential(*layers).eval()

    first = compiled_linear(made(), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(CompiledFunction, "lower", None)
        np.testing.assert_array_equal(compiled_linear(made(), tmp_path), first)
    other = made()
    other[0].bias.data[3] += 1
    assert (compiled_linear(other, tmp_path)[0] != first[0]).sum() == 1
    assert (compiled_linear(made().train(), tmp_path) == 0).any()


def test_weights_that_are_used_as_they_are_stay_with_the_model(tmp_path: Path) -> None:
    def result(layer: ts.nn.Module) -> np.ndarray:
        compiled = ts.compile(layer, options=CompileOptions(cache_dir=tmp_path, fallback="error"))
        return np.asarray(compiled(np.array([5, 3])))

    layer = ts.nn.Embedding(1000, 64)
    for _ in range(2):
        np.testing.assert_array_equal(result(layer), np.asarray(layer.weight)[[5, 3]])
    assert all(file.stat().st_size < 100_000 for file in tmp_path.iterdir())


def test_holdings_tell_structures_and_values_apart() -> None:
    weight = ts.ones(3)
    kinds: list[dict[str, object]] = [
        {"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {"b": 1}, {"a": None}, {"a": 0.0},
        {"a": -0.0}, {"a": [1, 2]}, {"a": (1, 2)}, {"a": [[1], 2]}, {"a": [[1, 2]]},
        {"a": {"x": 1}}, {"a": ts.device("cpu")}, {"a": ScriptObject("A")}, {"a": weight},
        {"a": ts.zeros(3)}, {"a": ts.ones(3, dtype=ts.float64)}, {"a": ts.ones(3, 1)},
        {"a": weight, "b": weight}, {"a": weight, "b": ts.ones(3)}, {"a": ts.ones(3, 3)},
        {"a": weight, "b": weight[:2]}, {"a": ts.ones(9)[::3]},
    ]  # fmt: skip
    found = [holdings(ScriptObject("C", attributes)) for attributes in kinds]
    assert len({own.digest for own in found if own is not None}) == len(kinds)
    again = holdings(ScriptObject("C", {"a": ts.ones(3)}))
    assert again is not None
    assert again.digest == getattr(found[15], "digest", "")


def test_what_has_no_digest_is_not_kept() -> None:
    assert holdings(ScriptObject("C", {"a": Future()})) is None
