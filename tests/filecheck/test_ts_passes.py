"""What do the passes on ts print? TorchScript text in, fragments of the graph out, in order."""

from __future__ import annotations

import numpy as np
import pytest

from tensorscript.base.dtypes import float32
from tensorscript.compiler.folding import optimize
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.graph_text import graph_text
from tensorscript.frontends.script.program import Program
from tensorscript.frontends.script.text import TextWorld, compile_source
from tensorscript.frontends.script.text_library import TextLibrary
from tensorscript.lowering.ts.aliases import fate_of
from tensorscript.lowering.ts.dce import remove_dead_code
from tensorscript.lowering.ts.fold_constants import FoldConstants, constant_of
from tensorscript.lowering.ts.fold_convolution import fold_into_layers
from tensorscript.lowering.ts.freeze import ModuleTree
from tensorscript.lowering.ts.inline import inline_calls
from tensorscript.lowering.ts.merge_equal import merge_equal
from tensorscript.lowering.ts.peephole import simplify_patterns
from tensorscript.lowering.ts.remove_dropout import remove_dropout
from tensorscript.lowering.ts.transpose_linear import transpose_linear
from tensorscript.lowering.ts_to_tg.values import ObjectValue
from tensorscript.runtime.interpreter import Interpreter


def program(source: str) -> dict[str, ts.FuncOp]:
    module = compile_source(source).program.module
    return {
        op.sym_name.data.rpartition(".")[2]: op for op in module.ops if isinstance(op, ts.FuncOp)
    }


def function(body: str, arguments: str = "x: Tensor") -> ts.FuncOp:
    indented = "".join(f"  {line}\n" for line in body.strip().split("\n"))
    return program(f"def f({arguments}):\n{indented}")["f"]


def nodes(made: ts.FuncOp) -> list[str]:
    """The kinds of all nodes but constants, in order."""
    made.verify()
    return [
        op.node_kind
        for op in made.walk()
        if isinstance(op, ts.TSOp) and op.node_kind not in ("", "prim::Constant")
    ]


def in_order(text: str, *fragments: str) -> None:
    at = 0
    for fragment in fragments:
        found = text.find(fragment, at)
        assert found >= 0, f"{fragment!r} is not behind offset {at} of\n{text}"
        at = found + len(fragment)


def folded(made: ts.FuncOp) -> ts.FuncOp:
    interpreter = Interpreter(made.parent_op())  # type: ignore[arg-type]  # the module
    optimize(made, interpreter, optimize_numerics=False, for_native=True)
    return made


def literal(values: np.ndarray) -> TensorLiteral:
    return TensorLiteral(values.astype(np.float32), float32)


def weights(made: ts.FuncOp, **held: np.ndarray) -> ts.FuncOp:
    """A function whose arguments of these names are constants."""
    first = made.block.first_op
    assert first is not None
    for arg, name in zip(made.block.args, made.argument_names, strict=True):
        if name.data in held:
            op = ts.ConstantOp(literal(held[name.data]), arg.type)
            op.result.name_hint = name.data
            made.block.insert_op_before(op, first)
            arg.replace_all_uses_with(op.result)
    return made


# -- inline ----------------------------------------------------------------------------------------


def test_inline() -> None:
    functions = program(
        "def g(x: Tensor, k: int):\n  return x * k\ndef f(x: Tensor):\n  return g(x, 2) + g(x, 3)\n"
    )
    made = inline_calls(functions["f"], {f"__torch__.{n}": f for n, f in functions.items()})
    assert nodes(made) == ["aten::mul", "aten::mul", "aten::add"]


# -- fold-constants --------------------------------------------------------------------------------

CONSTANTS: dict[str, tuple[str, list[str]]] = {
    "arithmetic": ("return x * (2 + 3 * 4)", ["aten::mul"]),
    "a branch that is decided": (
        "k = 3\nif k > 2:\n  y = x + 1\nelse:\n  y = x - 1\nreturn y",
        ["aten::add"],
    ),
    "branches that agree": (
        "if bool(x.sum() > 0):\n  k = 3\nelse:\n  k = 3\nreturn x * k",
        ["aten::mul"],
    ),
    "a loop that never starts": ("for i in range(0):\n  x = x + i\nreturn x", []),
    "a list that nobody writes": ("return x.sum([0, 1])", ["aten::sum"]),
    "a list that somebody writes": (
        "xs = [1, 2]\nxs.append(3)\nreturn x.sum(xs)",
        ["prim::ListConstruct", "aten::append", "aten::sum"],
    ),
    "a tensor that is only read": ("return x + torch.ones([2]).sum()", ["aten::add"]),
    "a tensor that is written": (
        "y = torch.zeros([2])\ny.add_(1)\nreturn x + y",
        ["aten::zeros", "aten::add_", "aten::add"],
    ),
    "a tensor that is handed out": ("return torch.zeros([2])", ["aten::zeros"]),
    "random numbers": ("return x + torch.rand([2])", ["aten::rand", "aten::add"]),
    "what fails stays where it is": (
        "if bool(x.sum() > 0):\n  k = 1 // 0\nelse:\n  k = 2\nreturn k",
        ["aten::sum", "aten::gt", "aten::Bool", "prim::If", "aten::floordiv"],
    ),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_fold_constants(name: str) -> None:
    body, wanted = CONSTANTS[name]
    assert nodes(folded(function(body))) == wanted


def test_fold_constants_leaves_what_grows_too_much() -> None:
    made = function("return x + torch.zeros([1000000]).sum()")
    assert nodes(folded(made))[0] == "aten::zeros"


def test_fold_constants_keeps_names_and_places() -> None:
    made = folded(function("k = torch.ones([3]).sum()\nreturn x * k"))
    in_order(graph_text(made), "%k", "value={3}", "<string>:2", "aten::mul(%x.1, %k")


def test_the_evaluator_may_refuse() -> None:
    made = function("return x * torch.ones([3])")
    assert not FoldConstants(lambda op: None)(made)
    assert nodes(made)[-2:] == ["aten::ones", "aten::mul"]


# -- peephole --------------------------------------------------------------------------------------

PATTERNS: dict[str, tuple[str, str, list[str]]] = {
    "is None": ("if x is None:\n  return x\nreturn x + 1", "x: Tensor", ["aten::add"]),
    "unpacking": ("a, b = (x, x + 1)\nreturn b", "x: Tensor", ["aten::add"]),
    "indexing": ("t = (x, x + 1)\nreturn t[1]", "x: Tensor", ["aten::add"]),
    "length": ("return len([x, x]) + k", "x: Tensor, k: int", ["aten::add"]),
    "element": ("return [x, y][1]", "x: Tensor, y: Tensor", []),
    "a repeated condition": (
        "if c:\n  b = True\nelse:\n  b = False\nreturn b",
        "x: Tensor, c: bool",
        [],
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_peephole(name: str) -> None:
    body, arguments, wanted = PATTERNS[name]
    made = function(body, arguments)
    simplify_patterns(made)
    assert nodes(folded(made)) == wanted


# -- dead code -------------------------------------------------------------------------------------


MERGED = {
    "sizes": ("return x.size(0) + x.size(0)", ["aten::size", "aten::add"]),
    "tensors": ("return (x + 1) * (x + 1)", ["aten::add", "aten::mul"]),
    "lists": (
        "return x.sum([0, 1]) * x.sum([0, 1])",
        ["prim::ListConstruct", "aten::sum", "aten::mul"],
    ),
    "dominated": (
        "y = x.sum()\nif bool(y):\n  y = y + x.sum()\nreturn y",
        ["aten::sum", "aten::Bool", "prim::If", "aten::add"],
    ),
    "sizes_beside_writes": (
        "a = x.size(0)\nx.add_(1)\nreturn a + x.size(0)",
        ["aten::size", "aten::add_", "aten::add"],
    ),
}
NOT_MERGED = {
    "two_results": "return (x + 1, x + 1)",
    "written_between": "a = x.sum()\nx.add_(1)\nreturn a + x.sum()",
    "written_through_a_view": "v = x[0]\na = x.sum()\nv.add_(1)\nreturn a + x.sum()",
    "written_itself": "y = x + 1\ny.add_(1)\nreturn y * (x + 1)",
    "random": "return torch.rand([2]) * torch.rand([2])",
    "statistics": "a = torch.batch_norm(x, None, None, x, x, True, 0.1, 1e-5, False)\n"
    "return a + torch.batch_norm(x, None, None, x, x, True, 0.1, 1e-5, False)",
    "lists_that_grow": "a = [1]\nb = [1]\na.append(2)\nreturn (a, b)",
    "other_numbers": "return torch.full([2], 1) + torch.full([2], 1.0)",
    "branches": "if bool(x):\n  y = x + 1\nelse:\n  y = x + 1\nreturn y",
    "other_shape": "a = x.size(0)\nx.unsqueeze_(0)\nreturn a + x.size(0)",
}


@pytest.mark.parametrize("name", MERGED)
def test_equal_ops_are_merged(name: str) -> None:
    body, wanted = MERGED[name]
    made = function(body)
    assert merge_equal(made)
    remove_dead_code(made)
    assert nodes(made) == wanted


@pytest.mark.parametrize("name", NOT_MERGED)
def test_what_differs_is_not_merged(name: str) -> None:
    made = function(NOT_MERGED[name])
    before = [kind for kind in nodes(made) if kind != "prim::ListConstruct"]
    merge_equal(made)
    assert [kind for kind in nodes(made) if kind != "prim::ListConstruct"] == before


def test_dead_code() -> None:
    made = function("y = x + 1\nx.add_(2)\nreturn x * 2, y.sum() + 1")
    returned = made.return_op.values[0].owner
    assert isinstance(returned, ts.TupleConstructOp)
    made.return_op.operands[0] = returned.arguments[0]
    assert remove_dead_code(made)
    assert nodes(made) == ["aten::add_", "aten::mul"]
    assert not remove_dead_code(made)


def test_raises_and_prints_stay() -> None:
    made = function('if k < 0:\n  raise ValueError("no")\nprint(k)\nreturn x', "x: Tensor, k: int")
    before = nodes(made)
    remove_dead_code(made)
    assert [n for n in before if n in ("prim::RaiseException", "prim::Print")] == [
        n for n in nodes(made) if n in ("prim::RaiseException", "prim::Print")
    ]


# -- dropout ---------------------------------------------------------------------------------------


def test_dropout_that_is_off() -> None:
    made = function("y = torch.dropout(x, 0.5, False)\nreturn torch.dropout(y, 0.5, True)")
    assert remove_dropout(made)
    assert nodes(made) == ["aten::dropout"]
    assert not remove_dropout(made)


# -- layers ----------------------------------------------------------------------------------------

CONV = "y = torch.conv2d(x, w, b, [1, 1], [0, 0], [1, 1], 1)\n"
NORM = "return torch.batch_norm(y, g, h, m, v, False, 0.1, 1e-5, True)"
PARAMETERS = "x: Tensor, w: Tensor, b: Optional[Tensor], g: Tensor, h: Tensor, m: Tensor, v: Tensor"


def numbers(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape)) + 1.0).reshape(shape)


LAYERS: dict[str, tuple[str, list[str]]] = {
    "batch norm": (CONV + NORM, ["aten::conv2d"]),
    "batch norm behind a shape": (
        CONV + "k = y.dim()\n" + NORM.replace("return ", "z = ") + "\nreturn z, k",
        ["aten::conv2d", "aten::dim", "prim::TupleConstruct"],
    ),
    "batch norm in training": (
        CONV + NORM.replace("False", "True"),
        ["aten::conv2d", "aten::batch_norm"],
    ),
    "a second reader": (
        CONV + NORM.replace("return ", "z = ") + "\nreturn z + y",
        ["aten::conv2d", "aten::batch_norm", "aten::add"],
    ),
    "sums and products": (CONV + "return (y + 1.5) * 2.0 - 0.5", ["aten::conv2d"]),
    "one number a channel": (CONV + "return y * g.view([-1, 1, 1])", ["aten::conv2d"]),
    "one number a column": (CONV + "return y + g", ["aten::conv2d", "aten::add"]),
    "a linear layer": (
        "y = torch.linear(x, w.flatten(1), b)\n" + NORM,
        ["aten::linear"],
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_fold_into_layers(name: str) -> None:
    body, wanted = LAYERS[name]
    held = {"w": numbers(4, 3, 1, 1), "b": numbers(4), "g": numbers(4), "h": numbers(4)}
    made = folded(weights(function(body, PARAMETERS), **held, m=numbers(4), v=np.abs(numbers(4))))
    while fold_into_layers(made):
        folded(made)
    assert nodes(made) == wanted
    if name == "batch norm":
        in_order(graph_text(made), "%w_fused_bn", "%b_fused_bn", "aten::conv2d(%x.1, %w_fused_bn")


def test_transposed_linear_weights() -> None:
    made = weights(function("return torch.linear(x, w, b)", PARAMETERS), w=numbers(4, 3))
    assert transpose_linear(made)
    assert nodes(made) == ["aten::matmul", "aten::add"]
    turned = next(op for op in made.walk() if isinstance(op, ts.OperatorOp)).arguments[1]
    held = constant_of(turned)
    assert isinstance(held, TensorLiteral) and held.array.shape == (3, 4)


# -- aliases ---------------------------------------------------------------------------------------

FATES: dict[str, tuple[str, bool, bool]] = {
    "only read": ("return x.sum() + 1", False, False),
    "returned": ("return x", False, True),
    "a view is returned": ("return x.view([-1])[0:2]", False, True),
    "written": ("x.add_(1)\nreturn 0", True, False),
    "a view is written": ("y = x.t()\ny[0] = 1\nreturn 0", True, False),
    "written in a loop": ("for i in range(3):\n  x[i].mul_(2)\nreturn 0", True, False),
    "put into a list": ("ys = [1, 2]\nzs = [x]\nzs[0].zero_()\nreturn 0", True, False),
    "appended": ("zs = [x]\nws = [x]\nws.append(x)\nreturn len(ws)", True, True),
    "through a branch": (
        "if bool(x.sum() > 0):\n  y = x\nelse:\n  y = x + 1\ny.add_(1)\nreturn 0",
        True,
        False,
    ),
    "statistics of a batch norm": (
        "return torch.batch_norm(x, None, None, x, x, True, 0.1, 1e-5, True)",
        True,
        False,
    ),
}


@pytest.mark.parametrize("name", FATES)
def test_fates(name: str) -> None:
    body, written, leaves = FATES[name]
    fate = fate_of(function(body).block.args[0])
    assert (fate.written, fate.leaves) == (written, leaves)


# -- freeze ----------------------------------------------------------------------------------------


LAYER = """
class Inner(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  weight : Tensor
  mean : Tensor
  k : int
class M(Module):
  inner : __torch__.Inner
  hits : int
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    inner = self.inner
    mean = inner.mean
    _0 = torch.add_(mean, 1)
    self.hits = torch.add(self.hits, 1)
    y = torch.mul(torch.mul(x, inner.weight), inner.k)
    return torch.add(torch.add(y, mean), self.hits)
"""


def test_attributes_become_constants() -> None:
    world = TextWorld(Program(), TextLibrary.parse(LAYER))
    world.compile_class("__torch__.M")
    functions = {name: compiled.op for name, compiled in world.program.functions.items()}
    inner = {"weight": literal(numbers(2)), "mean": literal(numbers(2)), "k": 3}
    root = ObjectValue("__torch__.M", {"inner": ObjectValue("__torch__.Inner", inner), "hits": 0})
    tree = ModuleTree(root, functions)
    made = tree.inlined(functions["__torch__.M.forward"])
    tree.keep_set([made])
    tree.keep_written([made])
    assert {name for _, name in tree.kept} == {"hits", "mean"}
    tree.fold_attributes(made)
    remove_dead_code(made)
    text = graph_text(made)
    in_order(text, "%self.inner.k", "value=3", "%self.inner.weight", 'GetAttr[name="inner"]')
    assert text.count("GetAttr") == 4 and text.count("SetAttr") == 1


def test_what_is_asked_for_is_kept() -> None:
    root = ObjectValue("__torch__.M", {"a": ObjectValue("__torch__.N", {"b": 1}), "c": 2})
    tree = ModuleTree(root, {})
    tree.keep("a.b")
    assert {name for _, name in tree.kept} == {"b"}
    tree.keep("a")
    assert {name for _, name in tree.kept} == {"a", "b"} and len(tree.whole) == 1
    with pytest.raises(LookupError):
        tree.keep("a.z")
