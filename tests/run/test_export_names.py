"""Names in exported objects: every name of a program is one that C and C++ can declare, and the
header says what the outputs mean."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ROWS = ts.TensorSpec(("N", 3))


def exported(folder: Path, program: Any, *inputs: Any, name: str = "model") -> str:
    """The header of an exported program; C and C++ take it with all warnings."""
    made = ts.compile(program, inputs, fallback="error", cache=False)
    made.export_object(folder / "model.o", header=folder / "model.h", name=name)
    (folder / "main.c").write_text('#include "model.h"\nint main(void) { return 0; }\n')
    languages = [("c", "c99"), ("c", "gnu17"), ("c++", "c++17"), ("c++", "gnu++20")]
    for language, standard in languages:
        if language == "c++" and shutil.which("c++") is None:
            continue
        command = ["cc", "-x", language, f"-std={standard}", "-fsyntax-only", "-pedantic"]
        done = subprocess.run(
            [*command, "-Wall", "-Wextra", "-Werror", "main.c"],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return (folder / "model.h").read_text()


def keywords(register, default):  # type: ignore[no-untyped-def]
    return register + default


def words_of_others(new, this, register, register_):  # type: ignore[no-untyped-def]
    return new + this - register * register_


def words_of_the_header(int64_t, DLTensor, self):  # type: ignore[no-untyped-def]
    return int64_t + DLTensor * self


def words_of_llvm(entry, cells, pointers, v1):  # type: ignore[no-untyped-def]
    return entry + cells - pointers * v1


def letters(α, β):  # type: ignore[no-untyped-def]
    return α - β


def sizes(N, x):  # type: ignore[no-untyped-def]
    return N + x


@pytest.mark.parametrize(
    "program",
    [keywords, words_of_others, words_of_the_header, words_of_llvm, letters, sizes],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("given", [X, ROWS], ids=["static", "named"])
def test_every_header_is_c_and_c_plus_plus(program: Any, given: Any, tmp_path: Path) -> None:
    count = program.__code__.co_argcount
    exported(tmp_path, program, *[given] * count)


def test_a_size_and_an_argument_of_one_name() -> None:
    def both(x, N: int):  # type: ignore[no-untyped-def]
        return x + N, x.size(0)

    f = ts.compile(both, (ROWS, ts.ScalarSpec("int")), fallback="error", cache=False)
    y, n = f(X, 5)
    np.testing.assert_array_equal(y, X + 5)
    assert n == 2


@pytest.mark.parametrize("name", ["double", "main", "malloc", "expf", "new", "ts_set_error"])
def test_names_of_c_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{name!r} .*: give the function another name"):
        exported(tmp_path, keywords, X, X, name=name)
    assert not (tmp_path / "model.o").exists()


def structured(x, mode: str, n: int, key: dict[str, ts.Tensor]):  # type: ignore[no-untyped-def]
    rows: list[list[int]] = []
    for i in range(n):
        rows.append([i] * i)
    y = x * 2 if mode == "twice" else x
    return {"y": y, "*/": ((x + 1, n), None)}, rows, str(n), key["a*/b"]


def test_the_header_says_what_the_outputs_are(tmp_path: Path) -> None:
    header = exported(tmp_path, structured, X, "twice", 3, {"a*/b": X})
    assert " * Made for:\n *   mode = 'twice'\n" in header
    result = (
        "({'y': out0, '* /': ((out1, out2), None)}, "
        "[[out4[j] ... out3[i] times] ...], text(out5), out6)"
    )
    assert f" * The result is {result}\n" in header
