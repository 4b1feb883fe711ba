"""The disk cache: round trip, damage, permissions, bound, speed."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import tensorscript as ts
from tensorscript.compiler.cache import DiskCache, cache_key
from tensorscript.compiler.options import CompileOptions


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


def test_objects_of_a_model_are_kept_without_its_weights(tmp_path: Path) -> None:
    """Another model of the same layers finds the machine code of the first."""
    x = np.ones((8, 64), np.float32)
    found = []
    for seed in (0, 1):
        ts.manual_seed(seed)
        layer = ts.nn.Linear(64, 64)
        compiled = ts.compile(layer, options=CompileOptions(cache_dir=tmp_path, fallback="error"))
        result = compiled(x)
        wanted = x @ np.asarray(layer.weight).T + np.asarray(layer.bias)
        np.testing.assert_allclose(result, wanted, 1e-5, 1e-5)
        found.append({file.name for file in tmp_path.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]) >= 2  # the program and what packs its weights
