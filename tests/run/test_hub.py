"""`hub`: weights by address, without a network (addresses of files)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import tensorscript as ts
from tensorscript.base.errors import ArchiveError


def saved(folder: Path) -> tuple[Path, str]:
    """A checkpoint whose name tells its hash, and the hash."""
    plain = folder / "net.pt"
    ts.save({"w": ts.arange(3)}, plain)
    digest = hashlib.sha256(plain.read_bytes()).hexdigest()
    return plain.rename(folder / f"net-{digest[:8]}.pt"), digest


def test_weights_are_fetched_once(tmp_path: Path) -> None:
    source, _ = saved(tmp_path)
    folder = tmp_path / "kept"
    state = ts.hub.load_state_dict_from_url(source.as_uri(), folder, check_hash=True)
    assert state["w"].tolist() == [0, 1, 2]
    source.unlink()
    assert ts.hub.load_state_dict_from_url(source.as_uri(), folder)["w"].tolist() == [0, 1, 2]
    assert [p.name for p in folder.iterdir()] == [source.name]


def test_another_hash_leaves_no_file(tmp_path: Path) -> None:
    source, digest = saved(tmp_path)
    with pytest.raises(ArchiveError, match=f'expected "0123abcd", got "{digest}"'):
        ts.hub.download_url_to_file(source.as_uri(), tmp_path / "copy.pt", "0123abcd")
    assert [p.name for p in tmp_path.iterdir()] == [source.name]


def test_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert ts.hub.get_dir() == str(tmp_path / "tensorscript" / "hub")
    monkeypatch.setenv("TENSORSCRIPT_HOME", str(tmp_path / "home"))
    assert ts.hub.get_dir() == str(tmp_path / "home" / "hub")


def test_a_process_is_alone() -> None:
    assert not ts.distributed.is_available() and not ts.distributed.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        ts.distributed.get_rank()
