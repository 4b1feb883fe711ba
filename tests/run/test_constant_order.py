"""The constants of graphs stand in PyTorch's order: line by line graphs are one, names aside."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from language_harness import Scripted, parse_table, script_program

import tensorscript

TEXT = """\

=== asserted_with_a_place
def f(n: int, s: str):
    assert n > 1, f"small {n}"
    assert n > 2, s
    assert n > 3
    return n
>>> f(4, "a")

=== strings_and_numbers
def f(s: str, k: int):
    out = ""
    for c in s:
        if c != ",":
            out = out + c + c
    return out, k + 3, "end", s.split()
>>> f("a,b", 2)

=== breaks
def f(n: int):
    total = 0
    for i in range(n):
        if i == 5:
            break
        if i % 2 == 0:
            continue
        total += i
    return total
>>> f(9)

=== leaves
def f(n: int) -> str:
    while n > 1:
        if n % 3 == 0:
            return "three"
        n -= 2
    if n < 0:
        return "below"
    return "end"
>>> f(5)

=== slices
def f(x, words: list[str]):
    return x[1:, :-2], x[0], words[::2], words[:3], x[None, ..., -1]
>>> f(T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), ["a"])

=== counted
def f(words: list[str]):
    out = ""
    for i, (w, v) in enumerate(zip(words, words[1:])):
        if i > 7:
            out += w + v
    return out
>>> f(["a", "b"])

=== asserted
def f(n: int, pair: tuple[int, str]):
    assert n > 3, f"{n} is low, {-1} is lower"
    if n == 4:
        raise ValueError("four")
    return pair[1], pair[0] + 1, {"a": [n, 1]}["a"][0]
>>> f(7, (1, "a"))

=== folded
def f(n: int):
    scale = 2.5 * 2
    flag = True and n > 0
    return scale, flag, None if n > 1 else "few", (1, "a")
>>> f(2)

=== optional_that_is_known
def f(n: int):
    return torch.device("cuda:1").index, torch.device("cpu").index, n
>>> f(2)

=== calls
def g(n: int, word: str = "many") -> str:
    print("called", n)
    return word if n > 2 else "few"

def f(n: int):
    found = [g(n), g(3)]
    for i in range(n):
        found.append(g(i, "more"))
    return found
>>> f(2)
"""
PROGRAMS = parse_table(TEXT)


def _lines(graph: str) -> list[str]:
    """The lines without places and functions, the values numbered as they come."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"%{len(names)}")

    lines = [line.partition(" # ")[0] for line in graph.splitlines()]
    return [re.sub(r"%[\w.]+", name, line) for line in lines if ": Function =" not in line]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_is_pytorch_s(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [script_program(PROGRAMS[name], side, tmp_path) for side in (tensorscript, torch)]
    ours, theirs = (m.function for m in made if isinstance(m, Scripted))
    assert _lines(str(ours.graph)) == _lines(str(theirs.graph))
    assert _lines(str(ours.inlined_graph)) == _lines(str(theirs.inlined_graph))
