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


def of_tensor(x: ts.Tensor) -> str:
    return str(x)


def of_integer(x: ts.Tensor) -> tuple[str, str]:
    return str(int(x)), hex(int(x))


def parsed(x: ts.Tensor, text: str) -> tuple[int, float]:
    parts = text[int(x) :].split(",")
    return int(parts[0]), float(parts[1])


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


def test_floats_are_spelled_as_interpreted() -> None:
    f, scripted = ts.compile(of_float, fallback="error"), ts.jit.script(of_float)
    numbers = [0.0, -0.0, 1.0, 0.1, 1e16, 123456789012345678.0, 1e22, 5e-324, 1.5e300, -2.5e-7]
    for number in (*numbers, float("inf"), -float("inf"), float("nan"), -float("nan")):
        x = ts.tensor([number], dtype=ts.float64)
        assert f(x) == scripted(x)
    assert f(ts.ones(2)) == "2."


def of_tensor_and_length(x: ts.Tensor) -> int:
    return len(str(x))


def test_tensors_are_spelled_by_the_caller() -> None:
    """Who returns such a text gets it; who computes with it is interpreted."""
    f = ts.compile(of_tensor, fallback="error")
    assert f(ts.ones(1)) == " 1\n[ CPUFloatType{1} ]"
    assert f.stats.is_native
    with pytest.raises(NotCompilable, match="a string that depends on unknown values"):
        ts.compile(of_tensor_and_length, (ts.ones(2),), fallback="error")


def test_the_least_integer() -> None:
    f = ts.compile(of_integer, fallback="error")
    for number in (-(2**63), 2**63 - 1, -10, 0, 7):
        assert f(np.array(number)) == (str(number), hex(number))


def test_numbers_in_strings() -> None:
    f, scripted = ts.compile(parsed, fallback="error"), ts.jit.script(parsed)
    for text in ("1,2", " -3,+4.5e2", "\t007,inf", "5,.5", "0,-nan"):
        assert str(f(ts.zeros(1), text)) == str(scripted(ts.zeros(1), text))
    for text in ("a,1", "1,", "1,0x10", "1 ,2", "1,2 ", "-,1", ",1", "1,nan(2)", "1_0,1"):
        for program in (f, scripted):
            with pytest.raises(UserError, match=r"invalid literal|could not convert"):
                program(ts.zeros(1), text)


NAMES = [f"name {k}" for k in range(300)] + ["name 7", "ä"]


class Labels(ts.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = NAMES
        self.numbers = {name: k for k, name in enumerate(NAMES)}
        self.by_number = dict(enumerate(NAMES))

    def forward(self, x: ts.Tensor) -> tuple[list[str], str, int, bool]:
        out: list[str] = []
        for i in range(x.size(0)):
            name = self.names[int(x[i])]
            if not name.endswith("0"):
                out.append(name)
        last = self.by_number[int(x[-1])]
        return out, last, self.numbers[last], "name 1" in out


def test_many_names_are_a_table() -> None:
    """What is done with a name is compiled once, not for each of them."""
    f = ts.compile(Labels(), fallback="error", cache=False)
    for given in ([0, 1, 5, 301], [300, 20], [-1, 299]):
        kept = [NAMES[k] for k in given if not NAMES[k].endswith("0")]
        last = NAMES[given[-1]]
        known = last in ("ä", "name 299", "name 20")
        assert known and f(np.array(given)) == (kept, last, NAMES.index(last), "name 1" in kept)
    assert f.ir("tg").count("tg.if") < 10
    with pytest.raises(UserError, match="list index out of range"):
        f(np.array([400]))


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
