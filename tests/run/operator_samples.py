"""Sample arguments for operators, made from their schemas, and one-operator ts programs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue

from tensorscript.base.dtypes import DType, complex_dtype, from_numpy
from tensorscript.base.schema import Argument, Schema, schema
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.constants import ListLiteral
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.storage import TensorBase, shown
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.tg.evaluate import evaluate
from tensorscript.lowering.tg.evaluate_points import to_wide
from tensorscript.lowering.ts_to_tg.specialise import Specialised, specialise
from tensorscript.lowering.ts_to_tg.specs import OutputTree, TensorSpec

_RNG = np.random.default_rng(11)
_NAN_INF = np.array([[np.nan, np.inf, -np.inf], [-0.0, 0.0, 1e-20], [2.5, -3.5, 30.0]])
FLOATS = _RNG.standard_normal((4, 3)) * 2
TENSORS: dict[str, np.ndarray] = {
    "f32": FLOATS.astype(np.float32),
    "f64 cube": _RNG.standard_normal((2, 3, 4)),
    "i64": _RNG.integers(-5, 6, (4, 3)),
    "bool": _RNG.random((4, 3)) > 0.5,
    "u8": _RNG.integers(0, 256, (4, 3)).astype(np.uint8),
    "special": _NAN_INF.astype(np.float32),
    "transposed": np.ascontiguousarray(FLOATS.T, np.float32).T,
    "0-dim": np.array(1.5, np.float32),
    "0-dim i64": np.array(-2),
    "empty": np.zeros((0, 3), np.float32),
    "f16": FLOATS.astype(np.float16),
}
PAIRS: list[tuple[str, str]] = [
    ("f32", "transposed"), ("f32", "0-dim"), ("f32", "i64"), ("i64", "i64"), ("bool", "bool"),
    ("i64", "u8"), ("u8", "0-dim i64"), ("special", "special"), ("0-dim", "0-dim"),
    ("empty", "0-dim"), ("f16", "f32"), ("i64", "0-dim"), ("bool", "f32"),
]  # fmt: skip
PLAIN = {"Tensor", "Scalar", "int", "float", "bool"}
SCALARS: dict[str, tuple[object, ...]] = {
    "Scalar": (2, -1.5), "int": (1, -1), "float": (0.75,), "bool": (True,),
}  # fmt: skip


def is_simple(found: Schema) -> bool:
    """Whether `samples` can make arguments: one to three tensors, numbers, and defaults."""
    required = [a for a in found.arguments if a.default_text is None]
    kinds = [str(a.type).partition("(")[0] for a in required]
    tensors = kinds.count("Tensor")
    return 1 <= tensors <= 3 and len(kinds) <= 4 and PLAIN.issuperset(kinds)


def _tensors(count: int) -> Iterator[tuple[np.ndarray, ...]]:
    if count == 1:
        yield from ((t,) for t in TENSORS.values())
        return
    for a, b in PAIRS:
        yield (TENSORS[a], TENSORS[b], *[TENSORS[b]] * (count - 2))


def samples(found: Schema) -> Iterator[list[object]]:
    """Argument lists in schema order, with every default filled in."""
    required = [a for a in found.arguments if a.default_text is None]
    kinds = [str(a.type).partition("(")[0] for a in required]
    scalars = [SCALARS[k] for k in kinds if k != "Tensor"]
    for tensors in _tensors(kinds.count("Tensor")):
        for numbers in itertools.product(*scalars):
            left, right = iter(tensors), iter(numbers)
            given = {a.name: next(left) if k == "Tensor" else next(right)
                     for a, k in zip(required, kinds, strict=True)}  # fmt: skip
            yield [given[a.name] if a.name in given else _default(a) for a in found.arguments]


def _default(a: Argument) -> object:
    return list(a.default) if isinstance(a.default, tuple) else a.default


def one_operator(name: str, arguments: Sequence[object]) -> ModuleOp:
    """`def f(tensors...): return name(arguments)` as a ts module."""
    found = schema(name)
    flat = [v for v in arguments if isinstance(v, np.ndarray)]
    block = Block(arg_types=[tt.TENSOR] * len(flat))
    given = iter(block.args)

    def operand(v: object) -> SSAValue:
        if isinstance(v, np.ndarray):
            return next(given)
        op = ts.ConstantOp(ListLiteral(tuple(v)) if isinstance(v, list) else v, tt.ANY)
        block.add_op(op)
        return op.result

    returns = max(len(found.returns), 1)
    op = ts.OperatorOp(found.full_name, [operand(v) for v in arguments], [tt.ANY] * returns)
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


def lowered_values(name: str, arguments: Sequence[object]) -> list[object]:
    """What the lowered operator gives: (dtype, array) of each tensor, or the number it returns.

    Raises:
        NotCompilable, OperatorError: the row refuses.
    """
    arrays = [v for v in arguments if isinstance(v, np.ndarray)]
    specs = [TensorSpec(from_numpy(a.dtype), a.shape) for a in arrays]
    out = specialise(one_operator(name, arguments), "f", specs)
    out.module.verify()
    results = evaluate(out.function, [np.ascontiguousarray(a).reshape(a.shape) for a in arrays])
    return [_leaf(out, results, tree) for tree in _leaves(out.plan.output)]


def _leaves(tree: OutputTree) -> list[OutputTree]:
    if tree.kind in ("tuple", "list"):
        return [leaf for child in tree.children for leaf in _leaves(child)]
    return [tree]


def _leaf(out: Specialised, results: Sequence[object], tree: OutputTree) -> object:
    if tree.kind == "constant":
        return tree.value
    value = np.asarray(results[tree.leaf])
    if tree.kind == "scalar":
        return value.item()
    return tensor_leaf(out, tree.leaf, value)


def tensor_leaf(out: Specialised, leaf: int, value: np.ndarray) -> tuple[DType, np.ndarray]:
    """Dtype and values of a tensor among the results; pairs of parts as complex numbers."""
    dtype = out.function.return_op.values[leaf].type.dtype
    if leaf not in out.function.complex_numbers[1]:
        return dtype, value
    found = complex_dtype(dtype)
    assert found.numpy is not None
    whole = value.dtype.kind == "c"
    return found, value if whole else np.ascontiguousarray(value).view(found.numpy)[..., 0]


def eager_values(name: str, arguments: Sequence[object]) -> list[object]:
    """The same from the eager kernel, with NumPy arrays as they lie (views stay views)."""
    bound = [Tensor(v.copy(order="K"), from_numpy(v.dtype)) if isinstance(v, np.ndarray) else v
             for v in arguments]  # fmt: skip
    result = call_overload(name, tuple(bound))
    return [_eager_leaf(t) for t in _flat(result)]


def _flat(result: object) -> list[object]:
    if not isinstance(result, (tuple, list)):
        return [result]
    return [leaf for part in result for leaf in _flat(part)]


def _eager_leaf(t: object) -> object:
    if isinstance(t, TensorBase):
        return t.dtype, shown(t)
    return t.code if isinstance(t, DType) else t  # programs hold a dtype as its number


_BITS = {
    "float16": 11,
    "bfloat16": 8,
    "float32": 24,
    "float64": 53,
    "complex64": 24,
    "complex128": 53,
}


def difference(left: Sequence[object], right: Sequence[object]) -> str:
    """How two lists of results differ; empty where they agree to a few roundings."""
    if len(left) != len(right):
        return f"{len(left)} results, {len(right)} expected"
    return next((text for a, b in zip(left, right, strict=True) if (text := _unlike(a, b))), "")


def _unlike(a: object, b: object) -> str:
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return "" if a == b else f"{a!r}, {b!r} expected"
    (dtype, x), (want, y) = a, b
    if dtype is not want:
        return f"{dtype.name}, {want.name} expected"
    if x.shape != y.shape:
        return f"shape {x.shape}, {y.shape} expected"
    x, y = to_wide(x, dtype), to_wide(y, dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        return "" if np.array_equal(x, y) else f"{x.tolist()}, {y.tolist()} expected"
    limit = 64 * 2.0 ** -_BITS[dtype.name]
    ok = np.isclose(x, y, rtol=limit, atol=limit, equal_nan=True)
    at = np.argwhere(~np.atleast_1d(ok))
    if not len(at):
        return ""
    k = tuple(at[0])
    return f"{np.atleast_1d(x)[k]} at {k}, {np.atleast_1d(y)[k]} expected"
