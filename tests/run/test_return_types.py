"""`torch.return_types`: the classes of named results, against PyTorch's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.eager.return_types import NAMES


def _largest() -> Any:
    return ts.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]]).max(1)


def test_results_are_of_the_classes_by_name() -> None:
    x = ts.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert isinstance(_largest(), ts.return_types.max)
    assert isinstance(ts.linalg.eigh(x), ts.return_types.linalg_eigh)
    into = (ts.empty(0), ts.empty(0, dtype=ts.int64))
    assert isinstance(ts.max(x, 0, out=into), ts.return_types.max_out)
    assert type(ts.var_mean(x)) is tuple


def test_it_is_printed_a_line_each() -> None:
    said = "torch.return_types.max(\nvalues=tensor([3., 6.]),\nindices=tensor([0, 1]))"
    assert repr(_largest()) == said


def test_it_is_made_of_a_sequence() -> None:
    made = ts.return_types.max([1, 2])
    assert (made.values, made.indices) == (1, 2) == made
    assert (made.n_fields, made.n_sequence_fields, made.n_unnamed_fields) == (2, 2, 0)
    with pytest.raises(TypeError, match=r"max\(\) takes a 2-sequence \(1-sequence given\)"):
        ts.return_types.max([1])
    with pytest.raises(TypeError, match="takes a dict as second arg, if any"):
        ts.return_types.max([1, 2], 3)
    with pytest.raises(AttributeError, match="no attribute 'relu'"):
        ts.return_types.relu  # noqa: B018


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_of_the_same_class(again: Any) -> None:
    found = again(_largest())
    assert type(found) is ts.return_types.max and found.indices.tolist() == [0, 1]


def test_a_compiled_function_gives_the_names() -> None:
    def largest(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
        return ts.max(x, 1)

    found: Any = ts.jit.trace(largest, ts.ones(2, 2))(ts.ones(2, 2))
    assert [x.tolist() for x in found] == [[1, 1], [0, 0]]


def test_the_classes_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    theirs = {
        name: list(kind.__match_args__)
        for name, kind in vars(torch.return_types).items()
        if getattr(kind, "__module__", "") == "torch.return_types"
        and hasattr(kind, "n_fields")
        and name != "_attr"
    }
    ours = {name: list(getattr(ts.return_types, name)._fields) for name in NAMES}
    assert ours == theirs
