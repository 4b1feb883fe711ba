"""The disk cache: round trip, damage, permissions, bound, speed."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tensorscript.compiler.cache import DiskCache, cache_key


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
