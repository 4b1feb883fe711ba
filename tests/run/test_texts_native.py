"""Strings that the running program makes: how they come back, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.compiler.entry_results import parse_results, results_text

LABELS = ["cat", "dög", "fish"]


def named(x: ts.Tensor, names: list[str]) -> tuple[str, dict[str, str]]:
    k = int(x.argmax())
    return names[k], {"best": "{} of {}".format(names[k], x.size(0))}  # noqa: UP032


def of_bytes(x: ts.Tensor) -> tuple[list[str], str]:
    parts: list[str] = []
    for v in x:
        parts.append(chr(int(v)))
    return parts, "".join(parts)


def of_float(x: ts.Tensor) -> str:
    return f"{float(x.sum())}"


def of_missing_key(x: ts.Tensor) -> int:
    return {"1": 2, "3": 4}[str(int(x.sum()))]


def of_empty_dict(x: ts.Tensor, table: dict[str, int]) -> tuple[bool, int]:
    key = str(x.numel() * int(x[0]))
    if key in table:
        return True, table[key]
    return False, table.get(key, 5)


def of_few_arguments(x: ts.Tensor) -> str:
    return "{} {}".format(int(x[0]))  # type: ignore[str-format]  # noqa: F524  # refused when run


def of_numbered_fields(x: ts.Tensor) -> str:
    return "{1} {0}".format(int(x[0]), "a")  # noqa: UP030  # the form under test


def test_formats_are_as_interpreted() -> None:
    with pytest.raises(UserError, match="Too few arguments for format string"):
        ts.compile(of_few_arguments)(ts.ones(2))
    assert ts.compile(of_numbered_fields)(ts.ones(2)) == "a 1"


def test_labels_by_a_number() -> None:
    f = ts.compile(named, fallback="error")
    for k in (2, 0, 1):
        assert f(ts.from_numpy(np.eye(3, dtype="f4")[k]), LABELS) == (
            LABELS[k],
            {"best": f"{LABELS[k]} of 3"},
        )


def test_bytes_that_are_no_characters() -> None:
    """As interpreted: a piece of a character is a surrogate escape."""
    f = ts.compile(of_bytes, fallback="error")
    for data in ("dög".encode(), b"\xff", b""):
        x = ts.from_numpy(np.frombuffer(data, np.uint8).astype(np.int64))
        assert f(x) == ts.jit.script(of_bytes)(x)


def test_floats_are_spelled_by_the_interpreter() -> None:
    with pytest.raises(NotCompilable, match="a string that depends on unknown values"):
        ts.compile(of_float, (ts.ones(2),), fallback="error")
    f = ts.compile(of_float)
    assert f(ts.ones(2)) == "2."
    assert not f.stats.is_native


def test_a_key_that_is_not_there() -> None:
    f = ts.compile(of_missing_key, fallback="error")
    assert f(ts.ones(3)) == 4
    with pytest.raises(UserError, match="KeyError: 2"):
        f(ts.ones(2))


def test_an_empty_dict_has_no_key() -> None:
    f = ts.compile(of_empty_dict, fallback="error")
    assert f(ts.ones(2), {}) == (False, 5)
    assert f(ts.ones(2), {"2": 1}) == (True, 1)


def test_trees_of_strings_have_a_text() -> None:
    text = "(text(0), [texts(column(1), 2)],)"
    assert results_text(parse_results(text)) == text
