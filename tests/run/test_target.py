"""Spelling of targets."""

from dataclasses import replace
from pathlib import Path

import pytest

from tensorscript.backends.target import (
    FIRST_CACHE,
    LAST_CACHE,
    first_cache,
    host,
    last_cache,
    parse,
)
from tensorscript.base.errors import UserError


def test_host_and_named_cpus() -> None:
    assert parse("cpu") is host()
    assert parse("x86_64-unknown-linux-gnu", "haswell").vector_bytes == 32
    assert parse("aarch64-unknown-linux-gnu").vector_bytes == 16
    assert parse("aarch64-unknown-linux-gnu").key != parse("x86_64-unknown-linux-gnu").key


def test_gpus() -> None:
    assert parse("cuda:sm_80").arch == "sm_80"
    assert parse("cuda:0").is_ptx
    assert parse("ptx-emulate").emulate
    assert not parse("cuda").allows("exp")
    assert not parse("cuda").allows("vector.reduce.fadd")


@pytest.mark.parametrize("text", ["gpu", "cuda:sm_1", "nonsense-unknown-linux"])
def test_unknown_targets(text: str) -> None:
    with pytest.raises(UserError, match="unknown"):
        parse(text)


def test_the_last_cache_is_the_largest_that_the_system_names(tmp_path: Path) -> None:
    for number, size in enumerate(("48K", "1024K", "32M", "")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(size + "\n")
    assert last_cache(tmp_path) == 32 << 20
    assert last_cache(tmp_path / "nothing") == LAST_CACHE
    assert host().last_cache > 0
    assert replace(host(), last_cache=1).key != host().key


def test_the_first_cache_is_the_one_of_data(tmp_path: Path) -> None:
    caches = (("1", "Instruction", "64K"), ("1", "Data", "32K"), ("2", "Unified", "1024K"))
    for number, texts in enumerate(caches):
        (tmp_path / f"index{number}").mkdir()
        for name, text in zip(("level", "type", "size"), texts, strict=True):
            (tmp_path / f"index{number}" / name).write_text(text + "\n")
    assert first_cache(tmp_path) == 32 << 10
    assert first_cache(tmp_path / "nothing") == FIRST_CACHE
    assert replace(host(), first_cache=1).key != host().key


@pytest.mark.parametrize(
    ("size", "sharing", "on_mesh", "megabytes"),
    [
        ("266240K", "0-1", True, 12),  # two processors of a host's 48
        ("266240K", "0-47,96-143", True, 260),
        ("32768K", "0-1", False, 32),
        ("98304K", "0-7", False, 96),
        ("266240K", "0,2", False, 32),
        ("8192K", "3", False, 8),
    ],
)
def test_processors_count_on_their_share_of_the_last_cache(
    tmp_path: Path, size: str, sharing: str, on_mesh: bool, megabytes: int
) -> None:
    near, last = tmp_path / "index2", tmp_path / "index3"
    for folder, text, users in ((near, "2048K", "0"), (last, size, sharing)):
        folder.mkdir()
        (folder / "size").write_text(text + "\n")
        (folder / "shared_cpu_list").write_text(users + "\n")
    assert last_cache(tmp_path, on_mesh) == megabytes << 20
