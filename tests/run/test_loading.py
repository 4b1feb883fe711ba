"""`utils.data`, `testing.make_tensor` and `testing.FileCheck` do what PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript as ts
from tensorscript.testing import FileCheck, make_tensor

loading = pytest.importorskip("loading_program")
DTYPES = (
    "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64",
    "bool", "complex64", "complex128",
)  # fmt: skip
TEXT = "a b\nc d a\ne f g\n"


@pytest.mark.torch
def test_loaders_and_samplers_give_pytorchs_batches() -> None:
    torch = pytest.importorskip("torch")
    wanted = loading.outcome(torch, pytest.importorskip("torch.utils.data"))
    for found, expected in zip(loading.outcome(ts, ts.utils.data), wanted, strict=True):
        assert found == expected


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "options",
    [{}, {"low": -2, "high": 3}, {"noncontiguous": True}, {"exclude_zero": True}, {"low": 0.5}],
    ids=str,
)
def test_tensors_are_made_as_pytorch_makes_them(dtype: str, options: dict[str, Any]) -> None:
    testing = pytest.importorskip("torch.testing")
    torch = pytest.importorskip("torch")
    found = []
    for library, make in ((torch, testing.make_tensor), (ts, make_tensor)):
        library.manual_seed(0)
        made = make((3, 4), dtype=getattr(library, dtype), device="cpu", **options)
        found.append((made.stride(), made.tolist()))
    assert found[1] == found[0]


@pytest.mark.torch
@pytest.mark.parametrize("size", [5, 63])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bounds_of_uniform_numbers_are_rounded_once(size: int, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for library in (torch, ts):
        library.manual_seed(0)
        made = library.empty(size, dtype=getattr(library, dtype))
        found.append([made.uniform_(-0.3, 0.7).tolist(), made.uniform_(-9, 9).tolist()])
    assert found[1] == found[0]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.startswith("complex")])
def test_random_integers_go_as_far_as_pytorchs(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for library in (torch, ts):
        library.manual_seed(0)
        found.append(library.empty(40, dtype=getattr(library, dtype)).random_().tolist())
    assert found[1] == found[0]


CHECKS = [
    lambda c: c.check("a").check("c"), lambda c: c.check("c").check("b"),
    lambda c: c.check("a").check_same("b"), lambda c: c.check("a").check_same("c"),
    lambda c: c.check("b").check_next("d"), lambda c: c.check("b").check_next("e"),
    lambda c: c.check_not("z").check("c"), lambda c: c.check_not("b").check("c"),
    lambda c: c.check("c").check_not("b"), lambda c: c.check_count("a", 2, exactly=True),
    lambda c: c.check_count("a", 1, exactly=True), lambda c: c.check_count("a", 3),
    lambda c: c.check_count(str="a", count=2, exactly=True),
    lambda c: c.check_dag("c").check_dag("a").check("e"), lambda c: c.check_regex("[cd] d"),
]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("checks", CHECKS)
def test_texts_are_checked_in_pytorchs_words(checks: Any) -> None:
    testing = pytest.importorskip("torch.testing")
    found = []
    for check in (testing.FileCheck, FileCheck):
        try:
            checks(check()).run(TEXT)
        except RuntimeError as error:
            found.append(str(error))
        else:
            found.append("")
    assert found[1] == found[0]


def test_a_graph_is_checked_by_its_text() -> None:
    graph = ts.jit.script(doubled).graph
    FileCheck().check("aten::mul").check_not("aten::add").check("return").run(graph)
    with pytest.raises(RuntimeError, match='Expected to find "aten::add"'):
        FileCheck().check("aten::add").run(graph)


def doubled(x):
    return x * 2
