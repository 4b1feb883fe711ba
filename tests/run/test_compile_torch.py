"""`tensorscript.compile` takes what PyTorch scripted or traced, by the archive PyTorch writes."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript.base.errors import CompileError

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def net() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU()
    return torch.nn.Sequential(*layers, torch.nn.Linear(16, 3)).eval()


@pytest.mark.parametrize(
    "made",
    [
        torch.jit.script,
        lambda m: torch.jit.trace(m, torch.ones(4, 8)),
        lambda m: torch.jit.freeze(torch.jit.script(m)),
    ],
    ids=["scripted", "traced", "frozen"],
)
def test_modules(made) -> None:
    module, x = net(), torch.randn(4, 8)
    compiled = ts.compile(made(module), fallback="error")
    torch.testing.assert_close(compiled(x), module(x).detach())
    assert compiled.__name__ == "Sequential"


def test_a_scripted_function_keeps_its_default_values() -> None:
    def scaled(x, n: int = 2):
        return x * n

    compiled = ts.compile(torch.jit.script(scaled))
    x = torch.randn(3)
    assert torch.equal(compiled(x), x * 2)
    assert torch.equal(compiled(x, n=5), x * 5)
    assert compiled.__name__ == "scaled"


def test_a_traced_function_is_what_was_traced() -> None:
    def branching(x):
        return x + 1 if bool(x.sum() > 0) else x - 1

    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(branching, torch.ones(3))
    compiled = ts.compile(traced)
    assert torch.equal(compiled(-torch.ones(3)), torch.zeros(3))


def test_part_of_another_module_is_refused() -> None:
    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.jit.script(net())

        def forward(self, x):
            return self.inner(x)

    with pytest.raises(CompileError, match="or load the archive"):
        ts.compile(Outer())


def test_functions_that_bear_their_prefix() -> None:
    """`torch.fft.rfft` is a built-in function of the name fft_rfft."""

    def program(x):
        return torch.fft.rfft(torch.linalg.inv(x)).abs() + torch.special.expit(x[:, :3])

    x = torch.eye(4) + 0.25
    compiled = ts.compile(program, (x.numpy(),), fallback="error")
    torch.testing.assert_close(torch.from_numpy(compiled(x.numpy())), program(x))
