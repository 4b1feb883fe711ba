"""Programs on strings that the running program makes: interpreted, native, and at every stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from evaluated_stages import evaluated_te, evaluated_tg
from text_programs import PARTS, PROGRAMS, STRINGS

import tensorscript as ts
from tensorscript.compiler.arguments import bind
from tensorscript.compiler.function import CompiledFunction


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def program(request: pytest.FixtureRequest) -> Callable[..., Any]:
    found: Callable[..., Any] = request.param
    return found


def outcome(program: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the words of its refusal: bounds behind the end of a text."""
    try:
        return program(*given)
    except RuntimeError as error:
        return str(error).splitlines()[-1]


def test_as_interpreted_at_every_stage(program: Callable[..., Any]) -> None:
    native, scripted = ts.compile(program, fallback="error", cache=False), ts.jit.script(program)
    assert isinstance(native, CompiledFunction)
    for k in range(len(STRINGS)):
        given = k, STRINGS, PARTS
        assert outcome(native, *given) == outcome(scripted, *given)
    assert len(native.stats.native) == 1
    call = (0, STRINGS, PARTS)
    bound = bind(native._names, call, native._taking)
    lowered = native.lower(bound.specs, keep=True)
    expected = native(*call)
    assert evaluated_tg(lowered, bound.leaves) == expected
    assert evaluated_te(lowered, bound.leaves) == expected


@pytest.mark.filterwarnings("ignore")
def test_as_torch(program: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = ts.jit.script(program), torch.jit.script(program)
    for k in range(len(STRINGS)):
        if STRINGS[k].isascii() and STRINGS[k]:  # some starts are refused there
            assert ours(k, STRINGS, PARTS) == theirs(k, STRINGS, PARTS)
