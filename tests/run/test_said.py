"""What native code prints and warns of: the same, in the same order, as the interpreter."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.compiler.function import CompiledFunction

X = np.arange(4, dtype=np.float32)


class Point(NamedTuple):
    x: int
    y: float


def known(x: ts.Tensor, names: list[str]) -> ts.Tensor:
    print("start", 1, 1.5, True, None, names, Point(1, 2.5), {"a": [1]}, x.dtype)
    return x + 1


def in_a_loop(x: ts.Tensor, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += float(x[i])
        if i % 2 == 1:
            print("step", i, total, total > 2, (i, [total]), {"a": i})
    print("end", total)
    return total


def of_tensors(x: ts.Tensor, n: int) -> ts.Tensor:
    x = x.clone()
    for i in range(n):
        print(x, x[i], x > i, x[: i + 1])
        x[i] = -1.0
    return x


def of_lists(n: int) -> list[list[int]]:
    rows: list[list[int]] = []
    counts: dict[str, int] = {}
    for i in range(n):
        rows.append([i])
        rows[0][0] += 1
        counts[str(i % 2)] = i
        print(rows, rows[i], counts)
    return rows


def of_strings(x: ts.Tensor, names: list[str]) -> str:
    text = names[int(x.argmax())]
    print(text, text + "!", [text])
    other = "many" if float(x.sum()) > 3 else text
    print(other)
    return other


def of_one_or_none(x: ts.Tensor, n: int) -> int:
    found: Optional[int] = None  # noqa: UP045  # the form of scripts
    if float(x[0]) > 0:
        found = n
    print("found", found)
    return n


def warns(x: ts.Tensor, n: int) -> ts.Tensor:
    for i in range(n):
        warnings.warn(f"step {i}", stacklevel=2)
        print(i)
        if float(x[i]) > 1:
            warnings.warn("large", stacklevel=2)
    return x


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (known, (X, ["p", "q"])),
    (in_a_loop, (X, 4)),
    (in_a_loop, (X, 0)),
    (of_tensors, (X, 3)),
    (of_lists, (4,)),
    (of_strings, (X, ["p", "q", "ä", "s"])),
    (of_strings, (X[:1], ["p"])),
    (of_one_or_none, (X, 2)),
    (of_one_or_none, (X + 1, 2)),
    (warns, (X, 4)),
    (warns, (X, 1)),
]

Heard = tuple[str, list[tuple[str, str, int]]]


def heard(call: Callable[[], Any], capsys: pytest.CaptureFixture[str]) -> Heard:
    """What a call prints, and its warnings with their file and line."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        call()
    return capsys.readouterr().out, [(str(w.message), w.filename, w.lineno) for w in shown]


@pytest.mark.parametrize(("fn", "given"), PROGRAMS)
def test_as_interpreted(
    fn: Callable[..., Any], given: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    scripted = ts.jit.script(fn)
    plain = [ts.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for v in given]
    expected = heard(lambda: scripted(*plain), capsys)
    native = ts.compile(fn, fallback="error", cache=False)
    for _ in range(2):
        assert heard(lambda: native(*given), capsys) == expected


def fails_at(x: ts.Tensor, n: int) -> ts.Tensor:
    for i in range(10):
        print("at", i)
        if i == n:
            raise ValueError("far enough")
    return x


def test_a_failure_is_preceded_by_what_was_printed(capsys: pytest.CaptureFixture[str]) -> None:
    native = ts.compile(fails_at, fallback="error")
    native(X, 20)
    assert capsys.readouterr().out.count("at") == 10
    with pytest.raises(UserError, match="far enough"):
        native(X, 2)
    assert capsys.readouterr().out == "at 0\nat 1\nat 2\n"


def test_a_warning_as_an_error_stops_the_call() -> None:
    def kept(x: ts.Tensor) -> ts.Tensor:
        x += 1
        warnings.warn("careful", stacklevel=2)
        return x

    native, x = ts.compile(kept, fallback="error"), np.zeros(2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="careful"):
            native(x)
    assert x.tolist() == [0, 0]


def test_from_the_disk_cache(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    options = ts.CompileOptions(cache_dir=str(tmp_path), fallback="error")
    first, again = (ts.compile(warns, options=options) for _ in range(2))
    expected = heard(lambda: first(X, 4), capsys)
    assert isinstance(first, CompiledFunction) and first.report.seconds
    assert heard(lambda: again(X, 4), capsys) == expected
    assert isinstance(again, CompiledFunction) and not again.report.seconds


def test_what_is_emitted() -> None:
    f = ts.compile(in_a_loop, (X, 4), fallback="error", cache=False)
    text = f.ir("tg")
    order, *slots = re.findall(r"(%\w+) = tg\.list \"new\"", text)
    assert len(slots) > 1
    assert len(re.findall(rf'tg\.list "push" {order},', text)) == 2


def test_what_cannot_be_recorded_is_refused() -> None:
    def of_complex(x: ts.Tensor) -> ts.Tensor:
        print(ts.complex(x, x))
        return x

    with pytest.raises(NotCompilable, match="prim::Print: a value that cannot be recorded"):
        ts.compile(of_complex, fallback="error")(X)
