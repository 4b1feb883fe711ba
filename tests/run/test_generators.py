"""Random generators as arguments, attributes and constants of programs."""

from __future__ import annotations

import io
from typing import Any

import pytest

import tensorscript as torch
from tensorscript.base.errors import CompileError, NotCompilable
from tensorscript.frontends.trace.cautions import TracingError

X = torch.ones(3)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(x, g: torch.Generator):
    return torch.rand(3, generator=g) + x


def perhaps(x, g: torch.Generator | None = None):
    if g is None:
        return x
    return x.clone().uniform_(0.0, 1.0, generator=g) + torch.randperm(3, generator=g)


def within(x, gs: list[torch.Generator]):
    return draw(x, gs[0]) + torch.randn(3, generator=gs[1])


def again(x, g: torch.Generator):
    g.manual_seed(3)
    return torch.rand(3, generator=g) + x


def seed_of(g: torch.Generator):
    return g.initial_seed()


def anew(g: torch.Generator):
    return g.seed()


def own(x):
    g = torch.Generator()
    return torch.rand(3, generator=g) + x


def own_seeded(x, seed: int):
    g = torch.Generator(device="cpu")
    g.manual_seed(seed)
    return torch.rand(3, generator=g) + x


G = seeded(5)


def closed(x):
    return draw(x, G)


def is_generator(g: torch.Generator):
    return isinstance(g, torch.Generator), g


class Noise(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.g = seeded(7)

    def forward(self, x):
        return torch.rand(3, generator=self.g) + x


CALLS: list[tuple[Any, Any]] = [
    (draw, lambda: (X, seeded(7))),
    (perhaps, lambda: (X, seeded(7))),
    (perhaps, lambda: (X,)),
    (within, lambda: (X, [seeded(7), seeded(8)])),
    (again, lambda: (X, seeded(7))),
    (own_seeded, lambda: (X, 5)),
]


@pytest.mark.parametrize(("program", "arguments"), CALLS)
def test_scripts_draw_what_python_draws(program: Any, arguments: Any) -> None:
    expected = program(*arguments())
    scripted = torch.jit.script(program)
    assert torch.equal(scripted(*arguments()), expected)
    archive = io.BytesIO()
    torch.jit.save(scripted, archive)
    archive.seek(0)
    given = arguments() if len(arguments()) > 1 else (X, None)  # archives keep no defaults
    assert torch.equal(torch.jit.load(archive)(*given), expected)


def test_the_stream_of_an_argument_goes_on() -> None:
    scripted, g, other = torch.jit.script(draw), seeded(7), seeded(7)
    assert [scripted(X, g).tolist() for _ in range(2)] == [draw(X, other).tolist() for _ in "12"]


def test_a_generator_of_the_program_is_one_for_all_calls() -> None:
    scripted, g = torch.jit.script(own), torch.Generator()
    assert [scripted(X).tolist() for _ in range(2)] == [draw(X, g).tolist() for _ in range(2)]
    assert 'torch.Generator(device="cpu", seed=67280421310721)' in scripted.code


def test_seeds_are_signed_numbers() -> None:
    assert torch.jit.script(seed_of)(seeded(2**64 - 1)) == -1
    g = seeded(0)
    assert torch.jit.script(anew)(g) % 2**64 == g.initial_seed() != 0


def test_generators_are_returned_as_they_are() -> None:
    g = seeded(7)
    found, same = torch.jit.script(is_generator)(g)
    assert found is True and same is g


def test_attributes() -> None:
    scripted = torch.jit.script(Noise())
    assert torch.equal(scripted(X), draw(X, seeded(7)))


def test_traces_hold_the_generator_of_the_closure() -> None:
    g = seeded(5)
    traced = torch.jit.trace(lambda x: torch.rand(3, generator=g) + x, (X,), check_trace=False)
    assert 'Generator = prim::Constant[value=torch.Generator(device="cpu", seed=5)]' in str(
        traced.graph
    )
    g.manual_seed(9)
    assert torch.equal(traced(X), draw(X, seeded(9)))
    archive = io.BytesIO()
    torch.jit.save(traced, archive)
    archive.seek(0)
    assert torch.equal(torch.jit.load(archive)(X), draw(X, seeded(9)))


def test_refusals() -> None:
    g = seeded(5)
    with pytest.raises(TracingError, match=r"Type 'Tuple\[Tensor, Generator\]' cannot be traced"):
        torch.jit.trace(draw, (X, g))
    with pytest.raises(CompileError, match="python value of type 'Generator' cannot be used"):
        torch.jit.script(closed)
    for program, arguments in ((draw, (X, g)), (own, (X,))):
        compiled = torch.compile(torch.jit.script(program), fallback="error", cache=False)
        with pytest.raises(NotCompilable, match="random generator"):
            compiled(*arguments)
