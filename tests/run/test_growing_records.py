"""Lists that grow of objects, of dicts that hold different kinds of values, and of what may be
None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest
from evaluated_stages import evaluated_te

import tensorscript as ts
from tensorscript.base.errors import NotCompilable
from tensorscript.compiler.arguments import bind
from tensorscript.compiler.entry_results import parse_results, results_text
from tensorscript.compiler.function import CompiledFunction

X = np.array([[0.9, 0.1], [-1.0, 2.0], [3.0, 0.5], [0.0, 0.25]], np.float32)


class Node:
    def __init__(self, value: float, before: int, name: str) -> None:
        self.value = value
        self.before = before
        self.name = name

    def shown(self) -> str:
        return self.name + ":" + str(self.value)


def detections(x: ts.Tensor) -> list[dict[str, ts.Tensor]]:
    out: list[dict[str, ts.Tensor]] = []
    for i in range(x.size(0)):
        if float(x[i, 0]) > 0:
            out.append({"box": x[i], "score": x[i].sum()})
    return out


def chained(x: ts.Tensor, n: int) -> tuple[float, str, int]:
    nodes: list[Node] = []
    for i in range(n):
        nodes.append(Node(float(x[i, 0]), i - 1, "n" + str(i)))
    total, text, at = 0.0, "", len(nodes) - 1
    while at >= 0:
        node = nodes[at]
        total += node.value
        text += node.shown() + " "
        at = node.before
    return total, text, len(nodes)


def best(x: ts.Tensor, n: int) -> Node:
    nodes = [Node(-1.0, 0, "none")]
    for i in range(n):
        found = Node(float(x[i].sum()), i, str(i))
        if found.value > nodes[-1].value:
            nodes.append(found)
    return nodes[-1]


def nested(x: ts.Tensor, n: int) -> list[dict[str, list[float]]]:
    out: list[dict[str, list[float]]] = []
    for i in range(n):
        part: list[float] = []
        for v in x[i]:
            part.append(float(v))
        out.append({"values": part, "first": part[:1]})
    return out


def numbers_or_none(x: ts.Tensor, n: int) -> tuple[list[Optional[int]], int]:  # noqa: UP045
    out: list[Optional[int]] = []  # noqa: UP045
    for i in range(n):
        v = int(x[i, 0])
        out.append(v if v > 0 else None)
    out.append(None)
    out[0] = 7
    total = 0
    for found in out:
        if found is not None:
            total += found
        else:
            total += 100
    return out, total


def tensors_or_none(x: ts.Tensor, n: int) -> tuple[float, int]:
    out: list[Optional[ts.Tensor]] = []  # noqa: UP045
    for i in range(n):
        if float(x[i, 0]) > 0:
            out.append(x[i] * 2)
        else:
            out.append(None)
    total, count = 0.0, 0
    for found in out:
        if found is None:
            count += 1
        else:
            total += float(found.sum())
    return total, count


class Hit(NamedTuple):
    name: Optional[str]  # noqa: UP045
    score: float


def names_or_none(x: ts.Tensor, n: int) -> list[Hit]:
    out: list[Hit] = []
    for i in range(n):
        score = float(x[i].sum())
        if score > 1:
            out.append(Hit("row " + str(i), score))
        else:
            out.append(Hit(None, score))
    return out


def only_none(x: ts.Tensor, n: int) -> tuple[int, bool]:
    out: list[Optional[ts.Tensor]] = []  # noqa: UP045
    for _ in range(n):
        out.append(None)
    return len(out), out[0] is None


def changed_later(x: ts.Tensor, n: int) -> float:
    nodes: list[Node] = []
    for i in range(n):
        node = Node(float(x[i, 0]), i, "")
        nodes.append(node)
        node.value += 1
    return nodes[0].value


CASES: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (detections, (X,)),
    (detections, (-X,)),
    (chained, (X, 4)),
    (chained, (X, 0)),
    (nested, (X, 3)),
    (numbers_or_none, (X, 4)),
    (tensors_or_none, (X, 4)),
    (names_or_none, (X, 4)),
    (only_none, (X, 2)),
)


@pytest.mark.parametrize(("program", "call"), CASES)
def test_as_interpreted_at_every_stage(program: Callable[..., Any], call: tuple[Any, ...]) -> None:
    native, scripted = ts.compile(program, fallback="error", cache=False), ts.jit.script(program)
    assert isinstance(native, CompiledFunction)
    given = [ts.from_numpy(v) if isinstance(v, np.ndarray) else v for v in call]
    expected = scripted(*given)
    assert str(native(*given)) == str(expected)
    bound = bind(native._names, call, native._taking)
    lowered = native.lower(bound.specs, keep=True)
    tree = lowered.plan.output
    assert parse_results(results_text(tree)) == tree
    if program is not detections:
        assert evaluated_te(lowered, bound.leaves) == expected


def test_an_object_out_of_a_list_is_a_result() -> None:
    native = ts.compile(best, fallback="error", cache=False)
    found = native(X, 4)
    assert (found.value, found.before, found.name) == (3.5, 2, "2")


def test_what_is_in_a_list_is_not_changed_natively() -> None:
    native = ts.compile(changed_later, cache=False)
    assert native(X, 3) == ts.jit.script(changed_later)(ts.from_numpy(X), 3)
    with pytest.raises(NotCompilable, match="may be the same as another one"):
        ts.compile(changed_later, (X, ts.ScalarSpec("int")), fallback="error", cache=False)
