"""Files keep to the house: their size, what their text may say, and how light the import is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 800
# Pure tables may be longer; each is one row an operator, dtype or instruction.
TABLES: set[str] = set()
# A text that names the machine it was written on helps nobody else.
MACHINE = re.compile(
    r"(?<![\w./])/(?:work|opt|root|home|Users)/[A-Za-z]"  # house: this line is the pattern
)
SEPARATE = {".git", ".venv", ".venv-dev", ".venv-torch", "build", "dist", "out"}
BINARY = {".pt", ".pth", ".npz", ".npy", ".png"}


def tracked() -> list[Path]:
    """The files of the repository: git's list, or all of them in an unpacked archive."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            named = (ROOT / name for name in done.stdout.split("\0") if name)
            return [path for path in named if path.is_file()]
    files = (path for path in ROOT.rglob("*") if path.is_file())
    return [path for path in files if not SEPARATE & set(path.relative_to(ROOT).parts)]


def texts() -> list[tuple[str, list[str]]]:
    """(path, lines) of every text file that is ours, links not followed."""
    found = []
    for path in tracked():
        if path.suffix not in BINARY and not path.is_symlink():
            name = path.relative_to(ROOT).as_posix()
            found.append((name, path.read_text(encoding="utf-8").splitlines()))
    return found


def test_no_python_file_is_too_long() -> None:
    sizes = {name: len(lines) for name, lines in texts() if name.endswith(".py")}
    too_long = {n: size for n, size in sizes.items() if size > LONGEST and n not in TABLES}
    assert not too_long, f"split these by subject: {too_long}"


def test_no_text_names_this_machine() -> None:
    faults = [
        f"{name}:{number}: {line.strip()}"
        for name, lines in texts()
        for number, line in enumerate(lines, 1)
        if MACHINE.search(line) and "house:" not in line
    ]
    assert not faults, "\n".join(faults)


def test_test_files_have_unique_names() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)


def test_every_module_says_what_it_is() -> None:
    folders = [p.readlink().name for p in (ROOT / "src/tensorscript").iterdir() if p.is_symlink()]
    silent = [
        name
        for name, lines in texts()
        if name.endswith(".py")
        and name.split("/")[0] in folders
        and lines
        and not lines[0].lstrip("r").startswith('"""')
    ]
    assert not silent, f"no docstring on the first line: {silent}"


@pytest.mark.parametrize("heavy", ["torch", "xdsl", "llvmlite"])
def test_import_is_light(heavy: str) -> None:
    """Eager mode and cached kernels must not wait for the compiler's parts."""
    program = f"import sys, tensorscript; sys.exit({heavy!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == 0, f"import tensorscript imports {heavy}"
