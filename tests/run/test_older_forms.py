"""Older ways to write modules, types and tensors that programs for PyTorch still use."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tensorscript as torch
from tensorscript import jit, nn
from tensorscript.autograd import Variable

with pytest.warns(DeprecationWarning, match="script_method"):

    class Marked(nn.Module):
        """A method is marked, though the class is no ScriptModule."""

        @jit.script_method
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    class Older(jit.ScriptModule):
        """A ScriptModule with a documented method."""

        @jit.script_method
        def documented(self, x: torch.Tensor) -> torch.Tensor:
            """What it does."""
            return x


def test_marked_methods_of_plain_modules_are_script() -> None:
    module = jit.script(Marked())
    assert module(torch.ones(1)).tolist() == [2]
    assert module.graph.findNode("aten::add") is not None


def test_marked_methods_keep_their_documentation() -> None:
    assert Older().documented.__doc__ == "What it does."


def test_variables_are_tensors() -> None:
    base = torch.ones(2)
    made = Variable(base, requires_grad=True)
    assert type(made) is torch.Tensor and made.requires_grad and not base.requires_grad
    made.data[0] = 3.0
    assert base.tolist() == [3, 1]
    assert isinstance(base, Variable) and not isinstance(1, Variable)
    assert not Variable(base).requires_grad

    f = jit.CompilationUnit("def f(x: Variable) -> Variable:\n  return x * 2\n").f
    assert f(base).tolist() == [6, 2]
    assert str(f.schema) == "f(Tensor x) -> Tensor"


def test_types_of_one_dtype_warn() -> None:
    def f(x: torch.LongTensor) -> torch.Tensor:
        return x

    with pytest.warns(UserWarning, match="dtype constraints are not enforced"):
        jit.script(f)


@pytest.mark.parametrize("given", [{"drop": True}, {"drop_on_export": True}])
def test_ignored_calls_that_are_dropped(given: dict[str, Any]) -> None:
    with pytest.warns(FutureWarning, match="will now drop the function call"):

        @jit.ignore(**given)
        def outside(x: torch.Tensor) -> torch.Tensor:
            return x

    @jit.script
    def f(x: torch.Tensor) -> torch.Tensor:
        return outside(x)

    with pytest.raises(jit.Error, match="annotated to be ignored"):
        f(torch.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.ignore(drop=False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [([nn.Linear(1, 1)], "torch.nn.modules.linear.Linear"), ((1, (2, int)), "type")],
)
def test_what_is_no_constant_is_named(value: object, shown: str) -> None:
    class Holding(nn.Module):
        __constants__ = ("held",)

        def __init__(self) -> None:
            super().__init__()
            self.held = value

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    wanted = f"'{shown}' object in attribute 'Holding.held' is not a valid constant"
    with pytest.raises(TypeError, match=wanted):
        jit.script(Holding())


def test_loops_over_a_starred_name_are_refused() -> None:
    with pytest.raises(RuntimeError, match="only appear on the lhs within the presence of another"):
        jit.CompilationUnit("def f(x: List[int]):\n  for *a in x:\n    pass\n  return 1\n")


class Remembering(nn.Module):
    """Has its own way to be stored."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.stored: int = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)

    @jit.export
    def _save_to_state_dict(
        self, destination: dict[str, torch.Tensor], prefix: str, keep_vars: bool
    ) -> None:
        self.stored += 1


def test_exported_methods_come_before_those_of_modules() -> None:
    module: Any = jit.script(nn.Sequential(Remembering()))
    module.state_dict()
    assert module[0].stored == 1


@pytest.mark.parametrize(
    ("dims", "other", "plain"),
    [([1], (2, 4), 1), ([[1, 2], [0, 1]], (3, 2, 4), None), ([[2], [0]], (2, 4), None)],
)
def test_dimensions_in_a_tensor(dims: Any, other: tuple[int, ...], plain: int | None) -> None:
    def f(a: torch.Tensor, b: torch.Tensor, dims: torch.Tensor) -> torch.Tensor:
        return torch.tensordot(a, b, dims=dims)

    a, b = torch.arange(12.0).reshape(2, 3, 2), torch.rand(other)
    expected = torch.tensordot(a, b, dims if plain is None else plain)
    assert f(a, b, torch.tensor(dims)).tolist() == expected.tolist()
    assert jit.script(f)(a, b, torch.tensor(dims)).tolist() == expected.tolist()


def test_types_are_asked_for_by_tuples_alone() -> None:
    assert jit.isinstance([1], (int, list[int]))
    with pytest.raises(RuntimeError, match="must be a type or a tuple of types"):
        jit.isinstance(1, [int, str])
