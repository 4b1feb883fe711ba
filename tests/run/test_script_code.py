"""Code of scripted functions equals PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from tensorscript.frontends.script.api import compile_function

torch = pytest.importorskip("torch")
PROGRAMS = pytest.importorskip("script_programs").PROGRAMS


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_code_equals_torch(fn: Callable[..., object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = torch.jit.script(fn).code
    assert compile_function(fn).code == wanted
