"""Values of which only the running program knows the kind, natively as the interpreter has them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035 - as programs write

import pytest

import tensorscript as torch
from tensorscript import jit

X = torch.tensor([[1.0, -2.0], [0.5, 4.0]])


class Kind(Enum):
    LOW = 1
    HIGH = 2


class Found(NamedTuple):
    value: torch.Tensor
    more: Optional[torch.Tensor]  # noqa: UP045


def none_or_tensor(x: torch.Tensor) -> Optional[torch.Tensor]:  # noqa: UP045
    if bool(x.sum() > 0):
        return x * 2
    return None


def refined(x: torch.Tensor) -> torch.Tensor:
    found = none_or_tensor(x)
    other = none_or_tensor(-x)
    if found is None:
        assert other is not None
        return other - 1
    return found + 1


def none_or_number(x: torch.Tensor) -> Optional[int]:  # noqa: UP045
    n = int(x.sum())
    if n > 2:
        return n
    if n < -2:
        return -1
    return None


def strings(x: torch.Tensor) -> Tuple[str, bool, int]:  # noqa: UP006
    name = "high" if bool(x.sum() > 0) else "low"
    return name, name == "high", len(name)


def members(x: torch.Tensor) -> Tuple[Kind, int]:  # noqa: UP006
    kind = Kind.HIGH if bool(x.sum() > 0) else Kind.LOW
    return kind, kind.value


def ranks(x: torch.Tensor) -> Tuple[torch.Tensor, int]:  # noqa: UP006
    y = x.sum(0) if bool(x.sum() > 0) else x
    return y * 2 + 1, y.dim()


def keys(x: torch.Tensor) -> Dict[str, torch.Tensor]:  # noqa: UP006
    out = {"x": x}
    if bool(x.sum() > 0):
        out["high"] = x + 1
    else:
        out["low"] = x - 1
    if "low" in out:
        out["both"] = out["low"] * 2
    return out


def made_dicts(x: torch.Tensor) -> Dict[str, torch.Tensor]:  # noqa: UP006
    if bool(x.sum() > 0):
        return {"a": x, "b": x + 1}
    return {"a": -x, "b": x}


def first_iteration(x: torch.Tensor, n: int) -> Tuple[torch.Tensor, bool]:  # noqa: UP006
    held: Optional[torch.Tensor] = None  # noqa: UP045
    for i in range(n):
        if held is None:
            held = x + i
        else:
            held = held * 2
    if held is None:
        return x, False
    return held, True


def states(x: torch.Tensor, n: int) -> Tuple[str, int]:  # noqa: UP006
    state = "idle"
    changes = 0
    for i in range(n):
        before = state
        if state == "idle" and i > 1:
            state = "busy"
        elif state == "busy" and float(x[0, 0]) > 0.0:
            state = "done"
        if before != state:
            changes += 1
    return state, changes


def tuples(x: torch.Tensor) -> Found:
    if bool(x.sum() > 0):
        return Found(x, x + 1)
    return Found(-x, None)


def once(n: int) -> int:
    """A loop that always stops, its condition a known False."""
    count = 0
    for i in range(n):
        while True:
            count += i
            break
    return count


def elements(x: torch.Tensor) -> List[Optional[torch.Tensor]]:  # noqa: UP006, UP045
    return [none_or_tensor(x), None, none_or_tensor(-x)]


def label(x: torch.Tensor) -> str:
    return ["first", "second"][int(x.sum(0).argmax()) - 2]


def unwrapped(x: torch.Tensor) -> torch.Tensor:
    found = none_or_tensor(x)
    assert found is not None
    return found


ON_TENSORS = [
    none_or_tensor, refined, none_or_number, strings, members, ranks, keys, made_dicts, tuples,
    elements, unwrapped, label,
]  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(v) for v in value] if isinstance(value, tuple | list) else value


def result(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, or that it fails."""
    try:
        return plain(function(*arguments))
    except torch.jit.Error as error:
        return type(error)


@pytest.mark.parametrize("program", ON_TENSORS, ids=lambda f: f.__name__)
def test_branches(program: Callable[..., Any]) -> None:
    scripted = jit.script(program)
    compiled = torch.compile(scripted)
    for x in (X, -X, X * 0.1):
        assert result(compiled, x) == result(scripted, x)
    assert compiled.stats.is_native and len(compiled.stats.native) == 1, compiled.stats


def text_of_known(x: torch.Tensor, text: str) -> Tuple[str, Dict[str, int], torch.Tensor]:  # noqa: UP006
    pairs = [(word.capitalize(), ord(word[0])) for word in text.split()]
    codes = [ord(c) for c in text]
    shown = "%s has %d words" % (text.title().rjust(16), len(pairs))  # noqa: UP031
    return shown + chr(33), dict(pairs), x * sum(codes)


def into(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(2, 2)
    torch.index_select(x, 0, at, out=out)
    torch.add(out, 1, out=out[:])
    return out


def spelled(x: torch.Tensor, n: int) -> str:
    out = ""
    for i in range(n):
        out += "a" if float(x[0, 0]) > i else "b"
    return out


def test_strings_that_a_loop_makes_are_one_string_in_time() -> None:
    compiled = torch.compile(spelled, (X, torch.ScalarSpec("int")), fallback="error")
    assert [compiled(X, n) for n in (0, 1, 40)] == ["", "a", "a" + "b" * 39]


def test_known_strings_and_out() -> None:
    for program, arguments in (
        (text_of_known, (X, "two words")),
        (into, (X, torch.tensor([1, 0]))),
    ):
        scripted = jit.script(program)
        compiled = torch.compile(scripted, fallback="error")
        assert plain(compiled(*arguments)) == plain(scripted(*arguments))


def checked(n: int) -> int:
    if n < 1:
        raise ValueError(f"n is {n}")
    return n


def calls(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * checked(n)


def test_errors_have_values_and_the_call_stack() -> None:
    scripted = jit.script(calls)
    compiled = torch.compile(scripted, fallback="error")
    assert plain(compiled(X, 2)) == plain(X * 2)
    told: List[str] = []  # noqa: UP006
    for function in (scripted, compiled, compiled):
        with pytest.raises(torch.jit.Error, match="n is -3") as caught:
            function(X, -3)
        told.append(str(caught.value))
    assert told[0] == told[1] == told[2] and "in calls" in told[0] and "in checked" in told[0]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_loops(n: int) -> None:
    for program in (first_iteration, states):
        scripted = jit.script(program)
        compiled = torch.compile(scripted, fallback="error")
        for x in (X, -X):
            assert plain(compiled(x, n)) == plain(scripted(x, n))
    assert torch.compile(once, fallback="error")(n) == once(n)
