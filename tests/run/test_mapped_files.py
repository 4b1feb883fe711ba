"""`torch.from_file`: memory over files, shared with them or not."""

from __future__ import annotations

from pathlib import Path

import pytest

import tensorscript as ts


def test_a_shared_file_takes_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    x = ts.from_file(str(path), shared=True, size=2, dtype=ts.int16)
    assert x.tolist() == [0x0100, 0x0302]
    x.fill_(5)
    assert path.read_bytes() == bytes([5, 0, 5, 0, 4, 5, 6, 7])
    longer = ts.from_file(str(path), shared=True, size=3)
    assert longer.dtype is ts.float32 and path.stat().st_size == 12


def test_a_private_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    x = ts.from_file(str(path), size=4, dtype=ts.uint8).add_(1)
    assert x.tolist() == [1, 2, 3, 4] and path.read_bytes() == bytes(range(8))
    assert ts.from_file(str(path)).shape == (0,)
    half = ts.from_file(str(path), size=2, dtype=ts.bfloat16)
    assert half.dtype is ts.bfloat16 and half.view(ts.int16).tolist() == [0x0100, 0x0302]


def test_compiled_programs_read_files(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))

    @ts.jit.script
    def read(name: str) -> ts.Tensor:
        return ts.from_file(name, size=3, dtype=ts.uint8) * 2

    assert read(str(path)).tolist() == [0, 2, 4]


@pytest.mark.torch
def test_refusals_as_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "numbers"
    path.write_bytes(bytes(8))
    calls = (
        (str(path), False, 3), (str(tmp_path / "none"), False, 1),
        (str(tmp_path / "no" / "where"), True, 1), (str(path), False, -1),
    )  # fmt: skip
    for name, shared, size in calls:
        with pytest.raises(RuntimeError) as theirs:
            torch.from_file(name, shared=shared, size=size)
        with pytest.raises(RuntimeError) as ours:
            ts.from_file(name, shared=shared, size=size)
        assert str(ours.value) == str(theirs.value)
