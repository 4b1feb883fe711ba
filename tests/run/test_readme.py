"""What README.md shows runs as it stands there, from the top of a checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tensorscript.compiler.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [text for named, text in found if named == language]


@pytest.fixture(autouse=True)
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the README names, to which the others can be written."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENSORSCRIPT_CACHE_DIR", str(tmp_path / "cache"))


def test_python(tmp_path: Path) -> None:
    programs = blocks("python")
    assert programs
    for at, program in enumerate(programs):
        file = tmp_path / f"block_{at}.py"
        file.write_text(program)  # scripting reads the source of what it is given
        names: dict[str, Any] = {"__name__": "readme"}
        exec(compile(program, str(file), "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} >= {"f.o", "f.h", "net.pt"}


def test_commands(tmp_path: Path) -> None:
    commands = [
        line.removeprefix("tensorscript ")
        for block in blocks("")
        for line in block.splitlines()
        if line.startswith("tensorscript ")
    ]
    assert commands
    for command in commands:
        assert main(command.split()) == 0
    assert list((tmp_path / "stages").iterdir()) and (tmp_path / "digits.h").is_file()
