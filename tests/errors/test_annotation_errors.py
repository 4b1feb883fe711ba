"""Annotations that are no types are refused, in texts and comments, as TorchScript refuses them."""

from __future__ import annotations

import re

import pytest

from tensorscript import Tensor, jit
from tensorscript.base.errors import CompileError

ANNOTATIONS = [
    ("List[int, str]", "expected exactly one element type but found 2"),
    ("Optional[int, str]", "expected exactly one element type but found 2"),
    ("Dict[int]", "expected exactly 2 element types but found 1"),
    ("List[()]", "Expression of type tuple-literal cannot be used in a type expression"),
    ("Tuple[3 + 4, Tensor]", "Expression of type + cannot be used in a type expression"),
    ("List[-int]", "Expression of type unary minus cannot be used in a type expression"),
    ("int and str", "Expression of type and cannot be used in a type expression"),
    ("int if True else str", "Expression of type if cannot be used in a type expression"),
    ("Tuple[int, int][int]", "Subscripted type must be a type identifier"),
    ("BroadcastingListx[int]", "subscript of Broadcastable list must be a positive integer"),
    ("Final[int]", "Unknown type constructor Final"),
]


@pytest.mark.parametrize(("annotation", "said"), ANNOTATIONS)
def test_of_an_argument(annotation: str, said: str) -> None:
    text = f"def f(x: {annotation}):\n  return 1\n"
    with pytest.raises(CompileError, match=re.escape(said)) as refused:
        jit.CompilationUnit(text)
    span = refused.value.span
    assert span is not None and span.text == annotation
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match=re.escape(said)):
        torch.jit.CompilationUnit(text)


def no_elements(x: list[()]) -> int:  # type: ignore[type-arg]  # this is what is refused
    return 1


def one_element(x: Tensor, y: dict[int]) -> int:  # type: ignore[type-arg]  # as above
    return 1


def test_of_a_live_function() -> None:
    with pytest.raises(CompileError):
        jit.script(no_elements)
    with pytest.raises(CompileError, match="expected exactly 2 element types but found 1"):
        jit.script(one_element)
