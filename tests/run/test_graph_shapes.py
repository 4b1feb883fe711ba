"""What the shape passes say of tensors holds for every tensor that a run makes."""

from __future__ import annotations

from typing import Any

import pytest

import tensorscript
from tensorscript import _C, Tensor, jit

CALLS = [
    "x + y", "x * 2", "i + 1.5", "i / i", "i > 1", "x.sum()", "x.sum(1)", "x.mm(y.t())",
    "x.view(-1)", "x.view(6)", "x.view(x.size(1), -1)", "x.squeeze()", "x[:1].squeeze()",
    "torch.cat([x, y], 1)", "torch.cat([x, y.double()], 0)", "x.max(1)[1]", "torch.argmax(x, 1)",
    "x.reshape(3, 2)", "x[0]", "x[:, 1:]", "x.permute(1, 0)", "x.expand(2, 2, 3)", "x.half()",
    "x.to(torch.int)", "torch.rand(2, 3)", "torch.zeros(x.size(0), n)", "x.chunk(3, 1)[0]",
    "torch.where(x > 0, x, y)", "x.matmul(y.t())",
    "torch.conv2d(b, w)", "torch.conv2d(b, w, padding=1)", "torch.addmm(m, x, y.t())",
    "x.add_(1)", "torch.stack([x, y])", "torch.nonzero(x)", "x.masked_select(x > 0)",
    "torch._unique(i)[0]", "x.index_select(1, i[0] - 1)", "torch.embedding(x, i - 1)",
    "x.unflatten(1, [3, 1])", "x.repeat_interleave(2)", "torch.arange(n)", "x.sort()[0]",
    "x if n > 2 else y.double()", "x.narrow(1, 0, n)", "x.unsqueeze(n).squeeze(0)",
    "x.clone().resize_([4])", "torch.mul(x, y, out=x.new_zeros([0]))", "x.t_()",
    "x.item() if n > 9 else 1.5", "torch.bucketize(x, m.sort()[0])", "x.to(i.dtype)",
]  # fmt: skip


def inputs(module: Any) -> dict[str, Any]:
    made = {
        "x": module.arange(6.0).view(2, 3), "y": module.ones(2, 3), "m": module.ones(2),
        "i": module.tensor([[1, 2, 1], [2, 1, 1]]), "b": module.ones(1, 2, 4, 4),
        "w": module.ones(3, 2, 3, 3), "n": 1,
    }  # fmt: skip
    return made


def holds(type: Any, value: Tensor) -> bool:
    """Whether what a type says is so."""
    if type.scalarType() is not None and type.dtype() is not value.dtype:
        return False
    if type.dim() not in (None, value.dim()):
        return False
    is_like = type.sizes() in (None, list(value.size()))
    return is_like and (type.strides() or []) in ([], list(value.stride()))


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_types_hold(call: str, is_whole: bool) -> None:
    source = f"def f(x, y, m, i, b, w, n: int):\n  return {call}\n"
    f: Any = jit.CompilationUnit(source).f
    given = tuple(inputs(tensorscript).values())
    graph = f.graph.copy()
    if is_whole:
        _C._jit_pass_complete_shape_analysis(graph, given, False)
    else:
        graph = _C._propagate_shapes(graph, given, False)
    graph.lint()
    (output,) = graph.outputs()
    result = f(*given)
    if isinstance(result, Tensor):
        assert holds(output.type(), result), output


SAID = {
    "x + y.double()": "Double(2, 3, strides=[3, 1], device=cpu)",
    "x.view(x.size(1), -1)": "Float(3, 2, strides=[2, 1], requires_grad=0, device=cpu)",
    "torch.nonzero(x)": "Long(*, 2, requires_grad=0, device=cpu)",
    "torch.zeros(n, 2)": "Float(*, *, device=cpu)",
    "x.to(i.dtype)": "Long(2, 3, strides=[3, 1], requires_grad=0, device=cpu)",
    "x.sum() if n > 2 else x": "FloatTensor(requires_grad=0, device=cpu)",
    "x + 1 if n > 2 else x.long()": "Tensor(2, 3, strides=[3, 1], requires_grad=0, device=cpu)",
    "x.mm(x)": "Tensor",
    "x.clone().resize_([n])": "Tensor",
}
"""What is said of the result where everything is known of what is given."""


@pytest.mark.parametrize("call", SAID)
def test_what_is_said(call: str) -> None:
    graph = jit.CompilationUnit(f"def f(x, y, m, i, b, w, n: int):\n  return {call}\n").f.graph
    _C._jit_pass_complete_shape_analysis(graph, tuple(inputs(tensorscript).values()), False)
    (output,) = graph.outputs()
    assert output.type().str() == SAID[call]


AGREED = ["x + 1", "x + y", "x.t()", "x.unsqueeze(0)", "i + 1.5", "x.sum()", "x.view(-1)",
          "x.softmax(1)", "x.masked_select(x > 0)", "(x, y)", "x.pow(2)"]  # fmt: skip
"""Calls of which PyTorch knows the same; of many it knows less, and of some it is wrong."""


@pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")
@pytest.mark.parametrize("call", AGREED)
def test_equals_torch(call: str) -> None:
    torch = pytest.importorskip("torch")

    def said(module: Any) -> list[str]:
        graph = module.jit.CompilationUnit(f"def f(x, y, i):\n  return {call}\n").f.graph
        module._C._jit_pass_constant_propagation(graph)
        given = tuple(value for name, value in inputs(module).items() if name in "xyi")
        copies = [module._C._propagate_shapes(graph, given, False)]
        module._C._jit_pass_complete_shape_analysis(graph, given, False)
        return [next(each.outputs()).type().str() for each in (*copies, graph)]

    assert said(tensorscript) == said(torch)


LOOP = """
def f(x, n: int):
    same = x
    wider = x
    for i in range(n):
        same = same * 2
        wider = wider.unsqueeze(0)
    before = x + 1
    before.unsqueeze_(0)
    return same, wider, before
"""


def test_what_turns_change_is_not_known() -> None:
    f: Any = jit.CompilationUnit(LOOP).f
    _C._jit_pass_complete_shape_analysis(f.graph, (tensorscript.ones(2, 3), 3), False)
    (output,) = f.graph.outputs()
    same, wider, before = output.type().elements()
    assert same.str() == "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)"
    assert wider.str() == "FloatTensor(requires_grad=0, device=cpu)"
    assert before.str() == "Tensor"


def test_a_graph_with_types_still_takes_others() -> None:
    f: Any = jit.CompilationUnit("def f(x):\n  return x + x.size(0)\n").f
    _C._jit_pass_complete_shape_analysis(f.graph, (tensorscript.ones(2, 3),), False)
    assert f(tensorscript.ones(4, dtype=tensorscript.int64)).tolist() == [5, 5, 5, 5]


def test_random_numbers_go_on_where_they_were() -> None:
    graph = jit.CompilationUnit("def f(x):\n  return torch.rand_like(x)\n").f.graph
    tensorscript.manual_seed(3)
    expected = tensorscript.rand(2).tolist()
    tensorscript.manual_seed(3)
    _C._jit_pass_complete_shape_analysis(graph, (tensorscript.ones(2),), False)
    assert tensorscript.rand(2).tolist() == expected


@pytest.mark.parametrize("text", ["FloatTensor(requires_grad=0)", "Tensor(2, *)", "Float()"])
def test_types_are_read_as_they_are_printed(text: str) -> None:
    graph = _C.parse_ir(f"graph(%x : {text}):\n  return (%x)\n")
    assert f"%x : {text}" in str(graph)
    assert (
        next(graph.inputs()).type().dim()
        == {"FloatTensor": None, "Tensor": 2, "Float": 0}[text.partition("(")[0]]
    )
