"""Files are written whole before they take the place of another: what maps the old one reads on."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensorscript as ts
from tensorscript import nn
from tensorscript.base.replacing import replacing


def test_a_module_is_saved_over_the_archive_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    ts.jit.script(nn.Linear(300, 300)).save(path)
    first = ts.jit.load(path)
    total = first.weight.sum().item()
    first.save(path)
    second = ts.jit.load(path)
    ts.jit.save(second, path)
    assert second.weight.sum().item() == first.weight.sum().item() == total
    assert [p.name for p in tmp_path.iterdir()] == ["m.pt"]


def test_a_checkpoint_is_saved_over_itself(tmp_path: Path) -> None:
    path = tmp_path / "state.pt"
    ts.save({"w": ts.arange(100_000.0)}, path)
    state = ts.load(path)
    ts.save(state, path)
    assert ts.load(path)["w"].sum().item() == state["w"].sum().item()


def test_a_file_that_fails_to_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"n")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 2
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()


def test_a_missing_folder_is_refused_as_pytorch_does(tmp_path: Path) -> None:
    for save in (ts.jit.script(nn.ReLU()).save, lambda f: ts.save({}, f)):
        with pytest.raises(RuntimeError, match=r"Parent directory .*/none does not exist\."):
            save(str(tmp_path / "none" / "m.pt"))
