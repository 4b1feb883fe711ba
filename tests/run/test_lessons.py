"""Every lesson runs to its end; what it claims, it asserts."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

LESSONS = sorted((Path(__file__).parents[2] / "docs" / "lessons").glob("*.py"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_lesson(
    lesson: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", os.fspath(tmp_path / "cache"))
    runpy.run_path(os.fspath(lesson))
    assert capsys.readouterr().out
