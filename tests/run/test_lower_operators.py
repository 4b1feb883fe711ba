"""Each operator row: a one-operator program, specialised, evaluated as tg, against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Region

from tensorscript.base import dtypes
from tensorscript.base.schema import overloads, schema
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.lowering.tg.evaluate import evaluate
from tensorscript.lowering.tg.evaluate_points import to_wide
from tensorscript.lowering.ts_to_tg.specialise import Specialised, specialise
from tensorscript.lowering.ts_to_tg.specs import TensorSpec

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


def one_operator(name: str, arguments: list[object]) -> ModuleOp:
    """`def f(tensors...): return name(arguments)`; None in a tensor's place stays None."""
    found = schema(name)
    values = list(arguments) + [a.default for a in found.arguments[len(arguments) :]]
    flat: list[object] = []

    def count(v: object) -> None:
        if isinstance(v, torch.Tensor):
            flat.append(v)
        elif isinstance(v, list):
            for e in v:
                count(e)

    for v in values:
        count(v)
    block = Block(arg_types=[tt.TENSOR] * len(flat))
    given = iter(block.args)

    def operand(v: object):
        if isinstance(v, torch.Tensor):
            return next(given)
        if isinstance(v, list) and any(isinstance(e, torch.Tensor) for e in v):
            op: Any = ts.ListConstructOp([operand(e) for e in v], tt.ListType(tt.TENSOR))
            block.add_op(op)
            return op.result
        if isinstance(v, torch.dtype):
            v = dtypes.BY_NAME[str(v).removeprefix("torch.")].code
        if isinstance(v, list | tuple):
            v = ListLiteral(tuple(v))
        op = ts.ConstantOp(v, tt.ANY)
        block.add_op(op)
        return op.result

    returns = max(len(found.returns), 1)
    op = ts.OperatorOp(found.full_name, [operand(v) for v in values], [tt.ANY] * returns)
    block.add_op(op)
    result = op.outputs[0]
    if returns > 1:
        pack = ts.TupleConstructOp(list(op.outputs), tt.TupleType.of([tt.ANY] * returns))
        block.add_op(pack)
        result = pack.result
    block.add_op(ts.ReturnOp([result]))
    func = ts.FuncOp(
        properties={
            "sym_name": StringAttr("f"),
            "argument_names": ArrayAttr([StringAttr(f"x{k}") for k in range(len(flat))]),
            "defaults": ArrayAttr([UnitAttr()] * len(flat)),
            "return_type": tt.ANY,
        },
        regions=[Region(block)],
    )
    return ModuleOp([func])


def tensors_in(v: object) -> list[Any]:
    if isinstance(v, torch.Tensor):
        return [v]
    return [t for e in v for t in tensors_in(e)] if isinstance(v, list | tuple) else []


def dtype_of(t) -> dtypes.DType:
    return dtypes.BY_NAME[str(t.dtype).removeprefix("torch.")]


def to_array(t) -> np.ndarray:
    t = t.detach().contiguous()
    return t.view(torch.int16).numpy().view(np.uint16) if t.dtype is torch.bfloat16 else t.numpy()


def specialised(name: str, arguments: list[object]) -> tuple[Specialised, list[np.ndarray]]:
    tensors = tensors_in(arguments)
    specs = [TensorSpec(dtype_of(t), tuple(t.shape)) for t in tensors]
    out = specialise(one_operator(name, arguments), "f", specs)
    out.module.verify()
    return out, [to_array(t) for t in tensors]


def tolerance(dtype: dtypes.DType) -> float:
    if not dtype.is_floating_point:
        return 0.0
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype.name]
    return 64 * 2.0**-bits


def check(name: str, *arguments: object) -> None:
    """The evaluated program gives PyTorch's dtype, shape and values."""
    out, arrays = specialised(name, list(arguments))
    results = evaluate(out.function, arrays)
    base, _, overload = name.removeprefix("aten::").partition(".")
    packet = getattr(torch.ops.aten, base)
    call = getattr(packet, overload or "default", packet)
    found = schema(name).arguments
    keywords = {a.name: v for a, v in zip(found, arguments, strict=False) if a.kwarg_only}
    positional = [v for a, v in zip(found, arguments, strict=False) if not a.kwarg_only]
    expected = tensors_in(call(*positional, **keywords))
    leaves = [out.plan.output] if not out.plan.output.children else list(out.plan.output.children)
    assert len(leaves) == len(expected)
    for leaf, want in zip(leaves, expected, strict=True):
        dtype = dtype_of(want)
        got = np.asarray(results[leaf.leaf])
        value = out.function.return_op.values[leaf.leaf].type
        assert value.dtype is dtype, f"{value.dtype} instead of {dtype}"
        assert got.shape == tuple(want.shape)
        left, right = to_wide(got, dtype), to_wide(to_array(want), dtype)
        t = tolerance(dtype)
        np.testing.assert_allclose(left, right, rtol=t, atol=t, err_msg=str(out.module))


def samples(*shape: int, dtype=torch.float32, low: float = -3.0, high: float = 3.0):
    generator = torch.Generator().manual_seed(sum(shape) + 7)
    t = torch.rand(shape, generator=generator, dtype=torch.float64) * (high - low) + low
    return t.round().to(dtype) if not dtype.is_floating_point else t.to(dtype)


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, 1e-20, 30.0])
UNARY = [
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "trunc",
    "round",
    "abs",
    "neg",
    "sign",
    "reciprocal",
    "square",
    "frac",
    "relu",
    "relu6",
    "hardtanh",
    "leaky_relu",
    "gelu",
    "silu",
    "mish",
    "hardsigmoid",
    "hardswish",
    "elu",
    "celu",
    "selu",
    "softplus",
    "log_sigmoid",
    "hardshrink",
    "softshrink",
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "nan_to_num",
    "exp2",
]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for x in (samples(3, 4), SPECIAL, samples(2, 0), samples(5, dtype=torch.bfloat16)):
        if name in ("tan", "sinh", "cosh", "exp", "expm1", "square") and x.dtype is torch.bfloat16:
            x = x / 2
        if name == "gelu" and x is SPECIAL:
            x = x[torch.isfinite(x)]  # PyTorch's vector code gives nan at inf, its scalar code inf
        check(f"aten::{name}", x)


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "sigmoid", "abs", "neg", "sign", "floor", "reciprocal", "square"]
)
def test_unary_of_integers(name: str) -> None:
    check(f"aten::{name}", samples(6, dtype=torch.int32, low=1, high=9))


BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "atan2",
    "hypot",
    "copysign",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logaddexp",
    "xlogy",
    "logical_and",
    "logical_or",
    "logical_xor",
    "floor_divide",
]


def tensor_overload(name: str) -> str:
    names = [s.overload for s in overloads(f"aten::{name}")]
    for overload in ("Tensor", "Tensor_Tensor", ""):
        if overload in names:
            return f"aten::{name}.{overload}" if overload else f"aten::{name}"
    return f"aten::{name}"


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    full = tensor_overload(name)
    check(full, samples(3, 4), samples(4, low=0.5))
    check(full, samples(2, 1, 3), samples(4, 1, low=0.1))
    check(full, samples(4, dtype=torch.bfloat16), samples(1, dtype=torch.bfloat16, low=1))
    if name not in ("pow", "logaddexp", "hypot", "copysign", "atan2", "floor_divide"):
        check(full, SPECIAL, SPECIAL.flip(0))
    if name not in ("pow", "logaddexp", "hypot"):
        check(full, samples(6, dtype=torch.int32), samples(6, dtype=torch.int64, low=1, high=4))


def test_promotion() -> None:
    check("aten::add.Tensor", samples(3, dtype=torch.int8), 300)
    check("aten::add.Tensor", samples(3, dtype=torch.int32), 1.5)
    check("aten::add.Tensor", samples(3, dtype=torch.int8), torch.tensor(7))
    check(
        "aten::add.Tensor", samples(3, dtype=torch.float16), torch.tensor(1.0, dtype=torch.float64)
    )
    check(
        "aten::mul.Tensor",
        samples(3, dtype=torch.uint8, low=0, high=200),
        samples(3, dtype=torch.int8),
    )
    check("aten::add.Tensor", samples(3), samples(3), 2)
    check("aten::sub.Tensor", samples(3), 2.5, 3)
    check("aten::rsub.Scalar", samples(3), 2.5)
    check("aten::pow.Tensor_Scalar", samples(3, dtype=torch.int64), 3)


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_division(mode: str) -> None:
    x, y = samples(9), samples(9, low=0.3)
    out, arrays = specialised("aten::div.Tensor_mode", [x, y, mode])
    got = evaluate(out.function, arrays)[0]
    np.testing.assert_array_equal(got, torch.div(x, y, rounding_mode=mode).numpy())


CASES = [
    ("aten::clamp", (samples(5), -1, 1.5)),
    ("aten::clamp.Tensor", (samples(5), samples(1), samples(5, low=2))),
    ("aten::where.self", (samples(4, 1) > 0, samples(3), samples(4, 3))),
    ("aten::masked_fill.Scalar", (samples(4, 3), samples(3) > 0, -math.inf)),
    ("aten::lerp.Scalar", (samples(4), samples(4), 0.3)),
    ("aten::addcmul", (samples(4), samples(4), samples(4), 2)),
    ("aten::addcmul", (*(samples(4, dtype=torch.int32) for _ in range(3)), 2.75)),
    ("aten::addcmul", (samples(4).half(), samples(4).half(), samples(4), 0.25)),
    ("aten::hardtanh", (samples(4, dtype=torch.uint8), -0.5, 2.5)),
    ("aten::bitwise_and.Tensor", (samples(4, dtype=torch.int32), samples(4, dtype=torch.int32))),
    ("aten::prelu", (samples(2, 3, 2), samples(3))),
    ("aten::glu", (samples(4, 6), 1)),
    ("aten::threshold", (samples(4), 0.5, 9.0)),
    ("aten::sum", (samples(3, 4),)),
    ("aten::sum", (samples(3, 4, dtype=torch.int32),)),
    ("aten::sum", (torch.zeros(0),)),
    ("aten::sum.dim_IntList", (samples(3, 4, 2), [0, -1], True)),
    ("aten::sum.dim_IntList", (samples(40, dtype=torch.bfloat16), [0])),
    ("aten::mean", (samples(3, 4),)),
    ("aten::mean.dim", (samples(3, 4), [1], True)),
    ("aten::prod", (samples(5),)),
    ("aten::prod.dim_int", (samples(3, 2), 1)),
    ("aten::var.correction", (samples(3, 5), [1])),
    ("aten::std.correction", (samples(3, 5), [0, 1])),
    ("aten::var_mean.correction", (samples(3, 5), [1])),
    ("aten::amax", (samples(3, 5), [1])),
    ("aten::amin", (SPECIAL, [0])),
    ("aten::max", (samples(3, 5),)),
    ("aten::max.dim", (samples(3, 5), 1)),
    ("aten::min.dim", (samples(3, 5), 0, True)),
    ("aten::argmax", (SPECIAL,)),
    ("aten::argmax", (samples(3, 4), 1)),
    ("aten::argmin", (torch.tensor([3, 1, 2, 1]), 0)),
    ("aten::any.dim", (samples(3, 4) > 2, 1)),
    ("aten::all", (samples(3) > -9,)),
    ("aten::logsumexp", (samples(3, 4), [1])),
    ("aten::norm.ScalarOpt_dim", (samples(3, 4), 2, [1])),
    ("aten::linalg_vector_norm", (samples(3, 4), 1)),
    ("aten::count_nonzero", (samples(9, dtype=torch.int32),)),
    ("aten::view", (samples(2, 6), [3, -1])),
    ("aten::reshape", (samples(2, 6, 4), [4, 3, 4])),
    ("aten::flatten.using_ints", (samples(2, 3, 4), 1)),
    ("aten::permute", (samples(2, 3, 4), [2, 0, 1])),
    ("aten::transpose.int", (samples(2, 3, 4), 0, -1)),
    ("aten::squeeze", (samples(2, 1, 3, 1),)),
    ("aten::squeeze.dim", (samples(2, 1, 3), 1)),
    ("aten::unsqueeze", (samples(2, 3), -1)),
    ("aten::expand", (samples(2, 1), [4, -1, 3])),
    ("aten::select.int", (samples(2, 3), 1, -1)),
    ("aten::slice.Tensor", (samples(9, 2), 0, 1, -1, 3)),
    ("aten::slice.Tensor", (samples(3), 0, 5, 9)),
    ("aten::narrow", (samples(9, 2), 0, 2, 4)),
    ("aten::split.Tensor", (samples(5, 2), 2)),
    ("aten::split_with_sizes", (samples(5, 2), [1, 4])),
    ("aten::chunk", (samples(5, 2), 3)),
    ("aten::unbind.int", (samples(3, 2), 1)),
    ("aten::cat", ([samples(2, 3), samples(1, 3), samples(4, 3)], 0)),
    ("aten::cat", ([samples(2), samples(3, dtype=torch.float64)], 0)),
    ("aten::stack", ([samples(2, 3), samples(2, 3)], 1)),
    ("aten::flip", (samples(2, 3), [1])),
    ("aten::roll", (samples(2, 3), [1], [1])),
    ("aten::repeat", (samples(2, 3), [2, 1, 2])),
    ("aten::diagonal", (samples(3, 4), 1)),
    ("aten::unfold", (samples(9), 0, 3, 2)),
    ("aten::movedim.intlist", (samples(2, 3, 4), [0], [2])),
    ("aten::matmul", (samples(3), samples(3))),
    ("aten::matmul", (samples(2, 3), samples(3))),
    ("aten::matmul", (samples(3), samples(2, 3, 4))),
    ("aten::matmul", (samples(5, 1, 2, 3), samples(4, 3, 2))),
    ("aten::matmul", (samples(2, 0), samples(0, 3))),
    ("aten::mm", (samples(4, 8, dtype=torch.bfloat16), samples(8, 3, dtype=torch.bfloat16))),
    ("aten::bmm", (samples(2, 3, 4), samples(2, 4, 5))),
    ("aten::addmm", (samples(5), samples(3, 4), samples(4, 5), 0.5, 2)),
    ("aten::baddbmm", (samples(2, 3, 5), samples(2, 3, 4), samples(2, 4, 5))),
    ("aten::linear", (samples(2, 3, 4), samples(5, 4), samples(5))),
    ("aten::outer", (samples(3), samples(4))),
    ("aten::einsum", ("bij,bjk->ik", [samples(2, 3, 4), samples(2, 4, 5)])),
    ("aten::einsum", ("...i,...i", [samples(2, 3), samples(2, 3)])),
    ("aten::einsum", ("ij,jk,kl->il", [samples(2, 3), samples(3, 4), samples(4, 2)])),
    ("aten::arange.start_step", (1, 10, 3)),
    ("aten::linspace", (0.0, 1.0, 7)),
    ("aten::eye", (3,)),
    ("aten::zeros_like", (samples(2, 3),)),
    ("aten::full_like", (samples(2, 3), 4)),
    ("aten::tril", (samples(4, 4), -1)),
    ("aten::triu", (samples(2, 3, 4), 1)),
    ("aten::to.dtype", (samples(3), torch.int32)),
    ("aten::isclose", (samples(3), samples(3))),
    ("aten::softmax.int", (samples(3, 5), 1)),
    ("aten::log_softmax.int", (samples(3, 5, dtype=torch.bfloat16), 0)),
    ("aten::layer_norm", (samples(3, 5), [5], samples(5), samples(5), 1e-5)),
    ("aten::group_norm", (samples(2, 4, 3), 2, samples(4), samples(4), 1e-5)),
    ("aten::instance_norm", (samples(2, 4, 3), None, None, None, None, True, 0.1, 1e-5, False)),
    (
        "aten::batch_norm",
        (
            samples(2, 3, 4),
            samples(3),
            samples(3),
            samples(3),
            samples(3, low=0.1),
            False,
            0.1,
            1e-5,
            False,
        ),
    ),
    ("aten::conv1d", (samples(2, 4, 9), samples(6, 2, 3), samples(6), [2], [1], [2], 2)),
    ("aten::conv2d", (samples(2, 3, 6, 7), samples(4, 3, 3, 2), None, [1, 2], [1, 0])),
    ("aten::conv2d.padding", (samples(1, 2, 5, 5), samples(3, 2, 4, 3), None, [1, 1], "same")),
    ("aten::conv3d", (samples(1, 2, 4, 4, 4), samples(2, 2, 2, 2, 2))),
    (
        "aten::conv_transpose2d.input",
        (samples(2, 4, 3, 3), samples(4, 3, 3, 3), samples(6), [2, 2], [1, 1], [1, 1], 2),
    ),
    ("aten::max_pool2d", (samples(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], [1, 1], True)),
    ("aten::max_pool2d_with_indices", (samples(2, 3, 7, 6), [3, 3], [2, 2], [1, 1])),
    ("aten::avg_pool2d", (samples(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], True, True)),
    ("aten::avg_pool2d", (samples(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], True, False)),
    ("aten::avg_pool1d", (samples(2, 3, 7), [2])),
    ("aten::adaptive_avg_pool2d", (samples(2, 3, 7, 6), [3, 2])),
    ("aten::adaptive_avg_pool2d", (samples(2, 3, 4, 6), [1, 1])),
    ("aten::index_select", (samples(3, 4), 1, torch.tensor([2, 0, 2]))),
    ("aten::gather", (samples(3, 4), 1, torch.tensor([[1, 0], [3, 3]]))),
    ("aten::embedding", (samples(5, 4), torch.tensor([[1, 0], [4, 3]]))),
    ("aten::index.Tensor", (samples(3, 4, 2), [torch.tensor([2, -1]), torch.tensor([0, 3])])),
    ("aten::index_put", (samples(3, 4), [torch.tensor([2, 0])], samples(2, 4))),
    ("aten::index_put", (samples(3, 4), [torch.tensor([2, 2])], samples(2, 4), True)),
    ("aten::scatter.src", (samples(3, 4), 1, torch.tensor([[1, 0], [3, 3]]), samples(3, 4))),
    ("aten::scatter_add", (samples(3, 4), 0, torch.tensor([[1, 0], [1, 2]]), samples(2, 2))),
    ("aten::index_add", (samples(3, 4), 0, torch.tensor([1, 1]), samples(2, 4))),
    ("aten::cumsum", (samples(3, 4), 1)),
    ("aten::sort", (samples(3, 8, dtype=torch.int64), 1, False)),
    ("aten::topk", (samples(3, 8), 3)),
    ("aten::searchsorted.Tensor", (torch.tensor([1.0, 2.0, 3.0]), samples(5))),
    (
        "aten::scaled_dot_product_attention",
        (samples(2, 3, 4, 8), samples(2, 3, 5, 8), samples(2, 3, 5, 6)),
    ),
    (
        "aten::scaled_dot_product_attention",
        (samples(2, 3, 5, 8), samples(2, 3, 5, 8), samples(2, 3, 5, 6), None, 0.0, True),
    ),
    (
        "aten::scaled_dot_product_attention",
        (samples(2, 3, 4, 8), samples(2, 3, 5, 8), samples(2, 3, 5, 6), samples(4, 5)),
    ),
    ("aten::mse_loss", (samples(4), samples(4))),
    ("aten::smooth_l1_loss", (samples(4), samples(4), 2, 0.5)),
    ("aten::huber_loss", (samples(4), samples(4), 0, 0.5)),
    ("aten::nll_loss", (samples(3, 4), torch.tensor([1, -100, 3]), samples(4))),
    ("aten::cross_entropy_loss", (samples(3, 4, 2), torch.tensor([[1, 2], [0, 0], [3, 3]]))),
    ("aten::binary_cross_entropy_with_logits", (samples(4), samples(4, low=0, high=1))),
    ("aten::kl_div", (samples(4), samples(4, low=0, high=1))),
    ("aten::constant_pad_nd", (samples(2, 3), [1, 2, 0, 1], 2.5)),
    ("aten::constant_pad_nd", (samples(2, 5), [-1, 2])),
    ("aten::reflection_pad2d", (samples(1, 2, 4, 5), [1, 2, 3, 1])),
    ("aten::replication_pad1d", (samples(1, 2, 4), [1, 3])),
    ("aten::upsample_nearest2d", (samples(1, 2, 4, 5), [8, 3])),
    ("aten::upsample_bilinear2d", (samples(1, 2, 4, 5), [8, 3], False)),
    ("aten::upsample_bilinear2d", (samples(1, 2, 4, 5), [7, 3], True)),
    ("aten::upsample_bicubic2d", (samples(1, 2, 4, 5), [8, 3], False)),
    ("aten::pixel_shuffle", (samples(1, 8, 3, 2), 2)),
    (
        "aten::lstm_cell",
        (
            samples(2, 4),
            [samples(2, 3), samples(2, 3, low=0)],
            samples(12, 4),
            samples(12, 3),
            samples(12),
            samples(12, low=0),
        ),
    ),
    (
        "aten::gru_cell",
        (samples(2, 4), samples(2, 3), samples(9, 4), samples(9, 3), samples(9), samples(9, low=0)),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].removeprefix("aten::"))
def test_operator(case: tuple[str, tuple[object, ...]]) -> None:
    check(case[0], *case[1])


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("steps", [2, 9])
def test_recurrent(kind: str, steps: int) -> None:
    """Two layers, both directions, batch first."""
    size = 3 * {"lstm": 4, "gru": 3}.get(kind, 1)
    weights = []
    for k in range(4):
        inner = 4 if k < 2 else 6
        for shape in ((size, inner), (size, 3), (size,), (size,)):
            weights.append(samples(*shape, low=-1, high=1) * (1 + 0.1 * k))
    x, state = samples(2, steps, 4), samples(4, 2, 3)
    hidden = [state, state * 0.5] if kind == "lstm" else state
    check(f"aten::{kind}.input", x, hidden, weights, True, 2, 0.0, False, True, True)
