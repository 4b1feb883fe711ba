"""What PyTorch writes today, of every kind of value that an archive can hold, is read."""

from __future__ import annotations

import enum
import io
from typing import Any

import numpy as np
import pytest

from tensorscript.base.errors import ArchiveError
from tensorscript.frontends.torchscript.archive import load_storage, load_tensor, read
from tensorscript.frontends.torchscript.pickled import (
    DeviceRef,
    EnumRef,
    ObjectState,
    TaggedDict,
    TaggedList,
    Value,
)

torch = pytest.importorskip("torch")
# torch.jit is deprecated since PyTorch 2.13, and is what we compare with.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


class Color(enum.Enum):
    RED = 3


def saved(attributes: dict[str, tuple[Any, Any]]) -> dict[str, Value]:
    """The attributes of a module that PyTorch saved; `attributes` maps name to (value, type)."""
    annotations = {name: kind for name, (_, kind) in attributes.items()}
    module = type("Holder", (torch.nn.Module,), {"__annotations__": annotations})()
    for name, (value, _) in attributes.items():
        setattr(module, name, value)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    contents = read(file.getvalue())
    assert isinstance(contents.root, ObjectState) and isinstance(contents.root.state, dict)
    return contents.root.state


def test_containers_and_scalars() -> None:
    state = saved(
        {
            "ints": ([1, -(2**40), 2**62], list[int]),
            "floats": ([1.5, float("inf")], list[float]),
            "bools": ([True, False], list[bool]),
            "texts": (["a", "b"], list[str]),
            "nested": ([[1], [2, 3]], list[list[int]]),
            "table": ({"a": [1.0], "b": []}, dict[str, list[float]]),
            "pair": ((1, "x", None), tuple[int, str, None]),
            "device": (torch.device("cuda:1"), torch.device),
            "complex": (1 - 2j, complex),
        }
    )
    for name, elements, type_str in [
        ("ints", [1, -(2**40), 2**62], "List[int]"),
        ("floats", [1.5, float("inf")], "List[float]"),
        ("bools", [True, False], "List[bool]"),
        ("texts", ["a", "b"], "List[str]"),
    ]:
        value = state[name]
        assert isinstance(value, TaggedList)
        assert (value.elements, value.type_str) == (elements, type_str)
    nested, table = state["nested"], state["table"]
    assert isinstance(nested, TaggedList) and nested.type_str == "List[List[int]]"
    assert [v.elements for v in nested.elements if isinstance(v, TaggedList)] == [[1], [2, 3]]
    assert isinstance(table, TaggedDict) and table.type_str == "Dict[str, List[float]]"
    assert list(table.items) == ["a", "b"]
    assert state["pair"] == (1, "x", None)
    assert state["device"] == DeviceRef("cuda:1")
    assert state["complex"] == 1 - 2j


def test_enums() -> None:
    class Holder(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch has no type here
        def __init__(self) -> None:
            super().__init__()
            self.color = Color.RED

        def forward(self) -> bool:
            return self.color == Color.RED

    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Holder()), file)
    root = read(file.getvalue()).root
    assert isinstance(root, ObjectState) and isinstance(root.state, dict)
    color = root.state["color"]
    assert isinstance(color, EnumRef)
    assert color.type_name.startswith("__torch__") and color.type_name.endswith(".Color")
    assert color.value == 3


INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "bool")
DTYPES = (*INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64")


def test_tensors_of_every_dtype_and_layout() -> None:
    holder = torch.nn.Module()
    for dtype in DTYPES:
        values = torch.arange(24).reshape(4, 6).to(getattr(torch, dtype))
        holder.register_buffer(f"of_{dtype}", values)
        holder.register_buffer(f"of_{dtype}_view", values[1:, ::2].t())
    holder.register_buffer("empty", torch.empty(0, 3))
    holder.register_buffer("scalar", torch.tensor(2.5))
    holder.register_buffer("expanded", torch.ones(1).expand(5, 7))
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(holder), file)
    contents = read(file.getvalue())
    assert isinstance(contents.root, ObjectState) and isinstance(contents.root.state, dict)
    state: dict[str, Any] = contents.root.state
    for name, tensor in holder.named_buffers():
        mine = load_tensor(state[name], load_storage(contents.archive, state[name].storage))
        theirs = tensor.view(torch.uint16) if tensor.dtype is torch.bfloat16 else tensor
        np.testing.assert_array_equal(mine, theirs.numpy(), err_msg=name)
    for dtype in DTYPES:
        assert state[f"of_{dtype}"].storage.record == state[f"of_{dtype}_view"].storage.record


def test_a_checkpoint_is_told_apart() -> None:
    file = io.BytesIO()
    torch.save({"a": torch.ones(2)}, file)
    with pytest.raises(ArchiveError, match=r"failed locating file constants\.pkl: file not found"):
        read(file.getvalue())
