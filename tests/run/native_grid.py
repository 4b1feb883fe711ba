"""Many operator calls as one native module: what each gives, next to its eager kernel.

A call names an overload and all its arguments in schema order. `disagreements` specialises each
call by itself (under a millisecond) to learn which are refused, compiles all others as one
function with one tuple of results, runs the machine code, and compares. Where that fails the
calls are halved until the one at fault stands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from tensorscript.base.dtypes import BY_CODE, DType, bfloat16, from_numpy
from tensorscript.base.errors import InternalError, NotCompilable, TensorScriptError
from tensorscript.base.schema import Schema, schema
from tensorscript.compiler.arguments import Taking, bind
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.program import Program
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.constants import DictLiteral, ListLiteral
from tensorscript.eager.dispatch import call_overload
from tensorscript.eager.random import manual_seed
from tensorscript.eager.storage import TensorBase, shown
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.tg.evaluate_points import to_wide
from tensorscript.lowering.ts_to_tg.dropout import DROPOUT
from tensorscript.lowering.ts_to_tg.random_numbers import RANDOM
from tensorscript.lowering.ts_to_tg.specialise import specialise

SEED = 11
"""Every call that draws random numbers starts from it."""
OPTIONS = CompileOptions(cache=False, fallback="error")
_BITS = {
    "float16": 11,
    "bfloat16": 8,
    "float32": 24,
    "float64": 53,
    "complex64": 24,
    "complex128": 53,
}


@dataclass(frozen=True)
class Known:
    """A number that is only known when the program runs; bare numbers are constants of it."""

    value: bool | int | float

    def __repr__(self) -> str:
        return f"run-time {self.value!r}"


@dataclass(frozen=True, eq=False)
class Call:
    """One operator on values: arrays (tensors), `Known` numbers, constants, lists of these."""

    name: str
    arguments: tuple[object, ...]

    @property
    def schema(self) -> Schema:
        return schema(self.name)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_show, self.arguments))})"

    def separate(self) -> Call:
        """The same call on memory of its own where the operator writes."""
        parts = zip(self.schema.arguments, self.arguments, strict=True)
        return Call(self.name, tuple(_own(v) if a.is_write else v for a, v in parts))


def _show(value: object) -> str:
    if isinstance(value, np.ndarray):
        plain = value.flags.c_contiguous
        return f"{value.dtype}{list(value.shape)}" + ("" if plain else f"/{list(value.strides)}")
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    return repr(value)


def dtype_of(value: np.ndarray) -> DType:
    """uint16 arrays hold bfloat16."""
    return bfloat16 if value.dtype == np.uint16 else from_numpy(value.dtype)


def _own(value: object) -> object:
    """A copy in new memory of the same layout."""
    if isinstance(value, list):
        return [_own(v) for v in value]
    if isinstance(value, dict):
        return dict(value)
    if not isinstance(value, np.ndarray):
        return value
    steps = [abs(s) * (n - 1) for n, s in zip(value.shape, value.strides, strict=True) if n]
    room = np.zeros((sum(steps) // value.itemsize + 1) if value.size else 0, value.dtype)
    copy = as_strided(room, value.shape, value.strides)
    copy[...] = value
    return copy


# --- one ts module --------------------------------------------------------------------------------

_NUMBERS: dict[type, Attribute] = {bool: tt.BOOL, int: tt.INT, float: tt.FLOAT}


class _Writer:
    """Writes calls into one function; an array that several calls read is one argument."""

    def __init__(self) -> None:
        self.block = Block()
        self.values: list[object] = []
        self.arguments: dict[int, SSAValue] = {}

    def argument(self, value: Any, type_: Attribute) -> SSAValue:
        made = self.block.insert_arg(type_, len(self.block.args))
        self.values.append(value)
        return made

    def operand(self, value: object) -> SSAValue:
        if isinstance(value, np.ndarray):
            if id(value) not in self.arguments:
                self.arguments[id(value)] = self.argument(Tensor(value, dtype_of(value)), tt.TENSOR)
            return self.arguments[id(value)]
        if isinstance(value, Known):
            return self.argument(value.value, _NUMBERS[type(value.value)])
        if isinstance(value, list) and any(isinstance(v, np.ndarray | Known | None) for v in value):
            parts = [self.operand(v) for v in value]
            packed = ts.ListConstructOp(parts, tt.ListType(_element(value)))
            self.block.add_op(packed)
            return packed.result
        op = ts.ConstantOp(_constant(value), tt.ANY)
        self.block.add_op(op)
        return op.result

    def call(self, call: Call) -> list[SSAValue]:
        """The results, and the arguments that the operator writes."""
        found = call.schema
        if _draws(found):
            seed = self.operand(SEED)
            self.block.add_op(ts.OperatorOp("aten::manual_seed", [seed], []))
        operands = [self.operand(v) for v in call.arguments]
        op = ts.OperatorOp(found.full_name, operands, [tt.ANY] * len(found.returns))
        self.block.add_op(op)
        written = zip(found.arguments, operands, strict=True)
        return [*op.outputs, *(v for a, v in written if a.is_write)]

    def module(self, results: Sequence[SSAValue]) -> ModuleOp:
        pack = ts.TupleConstructOp(list(results), tt.TupleType.of([tt.ANY] * len(results)))
        self.block.add_op(pack)
        self.block.add_op(ts.ReturnOp([pack.result]))
        names = [StringAttr(f"x{k}") for k in range(len(self.block.args))]
        func = ts.FuncOp(
            properties={
                "sym_name": StringAttr("f"),
                "argument_names": ArrayAttr(names),
                "defaults": ArrayAttr([UnitAttr()] * len(names)),
                "return_type": tt.ANY,
            },
            regions=[Region(self.block)],
        )
        return ModuleOp([func])


def _element(items: Sequence[object]) -> Attribute:
    if any(isinstance(v, np.ndarray | None) for v in items):
        return tt.OptionalType(tt.TENSOR) if None in map(type, items) else tt.TENSOR
    return next(_NUMBERS[type(v.value)] for v in items if isinstance(v, Known))


def _constant(value: object) -> object:
    if isinstance(value, list):
        return ListLiteral(tuple(map(_constant, value)))
    if isinstance(value, dict):
        return DictLiteral(tuple(value.items()))
    return value


def program(calls: Sequence[Call]) -> tuple[ModuleOp, list[object], list[int]]:
    """A function of some calls, its arguments, and the number of results of each call."""
    writer = _Writer()
    results = [writer.call(c) for c in calls]
    module = writer.module([v for group in results for v in group])
    return module, writer.values, [len(group) for group in results]


def native(calls: Sequence[Call]) -> list[list[object]]:
    """The results of each call, from machine code.

    Raises:
        NotCompilable, OperatorError, UserError: one of the calls is refused or fails.
    """
    module, values, counts = program(calls)
    function = CompiledFunction(Program(module, "f"), OPTIONS, "f")
    results = iter(function(*values))
    assert function.stats.is_native
    return [[leaf for _ in range(n) for leaf in _leaves(next(results))] for n in counts]


def eager(call: Call) -> list[object]:
    """The same from the eager kernel; random numbers from the start of the same stream."""
    if _draws(call.schema):
        manual_seed(SEED)
    parts = zip(call.schema.arguments, call.arguments, strict=True)
    arguments = [_eager_value(v, str(a.type).startswith("ScalarType")) for a, v in parts]
    result = call_overload(call.name, tuple(arguments))
    found = call.schema
    results = list(result) if len(found.returns) > 1 else [result][: len(found.returns)]
    written = zip(found.arguments, arguments, strict=True)
    return [v for r in (*results, *(v for a, v in written if a.is_write)) for v in _leaves(r)]


def _draws(found: Schema) -> bool:
    return f"aten::{found.base_name.removesuffix('_')}" in _DRAWING


_DRAWING = {key.partition(".")[0] for key in (*RANDOM, *DROPOUT)} - {"aten::manual_seed"}


def _eager_value(value: object, is_dtype: bool = False) -> object:
    if is_dtype and isinstance(value, int):
        return BY_CODE[value]
    if isinstance(value, np.ndarray):
        return Tensor(value, dtype_of(value))
    if isinstance(value, list):
        return [_eager_value(v) for v in value]
    return value.value if isinstance(value, Known) else value


def _leaves(value: object) -> Iterator[object]:
    """Tensors as (dtype, array), numbers and the like as they are, lists with their lengths."""
    if isinstance(value, TensorBase):
        yield value.dtype, shown(value)
    elif isinstance(value, list | tuple):
        yield len(value)
        for v in value:
            yield from _leaves(v)
    elif isinstance(value, dict):
        yield from _leaves(list(value.items()))
    elif isinstance(value, DType):
        yield value.code
    else:
        yield value


# --- comparing ------------------------------------------------------------------------------------


def difference(
    left: Sequence[object], right: Sequence[object], exact: bool = True, scaled: bool = False
) -> str:
    """How two lists of results differ; empty where they agree to a few roundings.

    Args:
        exact: compare values; else dtypes and shapes only (random numbers).
        scaled: an element is off by roundings of the largest one (long sums that cancel).
    """
    if len(left) != len(right):
        return f"{len(left)} results, {len(right)} expected"
    found = (_unlike(a, b, exact, scaled) for a, b in zip(left, right, strict=True))
    return next((text for text in found if text), "")


def _unlike(a: object, b: object, exact: bool, scaled: bool) -> str:
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        same = type(a) is type(b) and (a == b or _close(a, b))
        return "" if same else f"{a!r}, {b!r} expected"
    (dtype, x), (want, y) = a, b
    if dtype is not want:
        return f"{dtype.name}, {want.name} expected"
    if x.shape != y.shape:
        return f"shape {x.shape}, {y.shape} expected"
    if not exact:
        return ""
    x, y = to_wide(x, dtype), to_wide(y, dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        return "" if np.array_equal(x, y) else f"{x.tolist()}, {y.tolist()} expected"
    limit = 64 * 2.0 ** -_BITS[dtype.name]
    most = max(1.0, float(np.abs(y).max(initial=0))) if scaled else 1.0
    ok = np.isclose(x, y, rtol=limit, atol=limit * most, equal_nan=True)
    at = np.argwhere(~np.atleast_1d(ok))
    if not len(at):
        return ""
    k = tuple(at[0])
    return f"{np.atleast_1d(x)[k]} at {[int(n) for n in k]}, {np.atleast_1d(y)[k]} expected"


def _close(a: object, b: object) -> bool:
    if not (isinstance(a, float) and isinstance(b, float)):
        return False
    return bool(np.isclose(a, b, rtol=2.0**-46, atol=2.0**-46, equal_nan=True))


# --- all of it ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disagreement:
    """A call on which the two sides differ. `is_refusal`: native code says it cannot do it."""

    call: Call
    text: str
    is_refusal: bool = False

    def __str__(self) -> str:
        return f"{self.call}: {self.text}"


def disagreements(calls: Sequence[Call], random: frozenset[str]) -> list[Disagreement]:
    """The calls on which eager kernels and native code differ.

    Args:
        random: overloads whose values are drawn; only dtypes and shapes are compared.
    """
    out: list[Disagreement] = []
    accepted: list[tuple[Call, list[object]]] = []
    for call in calls:
        expected = _outcome(lambda c=call: eager(c.separate()))
        refusal = _outcome(lambda c=call: _specialised(c))
        if isinstance(expected, Failure) and expected.is_refusal:
            if refusal is None:
                refusal = _outcome(lambda c=call: native([c.separate()]))
            if not (isinstance(refusal, Failure) and refusal.is_refusal):
                out.append(Disagreement(call, f"eager refuses ({expected}), native {refusal}"))
        elif isinstance(expected, Failure):
            out.append(Disagreement(call, f"eager breaks: {expected}"))
        elif isinstance(refusal, Failure):
            out.append(Disagreement(call, f"native refuses: {refusal}", refusal.is_limit))
        else:
            accepted.append((call, expected))
    for (call, expected), got in zip(accepted, _halved([c for c, _ in accepted]), strict=True):
        if isinstance(got, Failure):
            out.append(Disagreement(call, f"native breaks: {got}"))
        elif text := difference(got, expected, call.name not in random, _sums(call.name)):
            out.append(Disagreement(call, text))
    return out


def _sums(name: str) -> bool:
    """Whether each element is a sum over all of a line or of a matrix."""
    starts = ("fft_", "stft", "istft", "linalg_", "cholesky", "inverse", "matrix_exp", "svd", "qr")
    return name.removeprefix("aten::").startswith(starts)


@dataclass(frozen=True)
class Failure:
    """What a call raised."""

    error: Exception

    @property
    def is_refusal(self) -> bool:
        """A refusal in words of ours, as opposed to a fault."""
        return isinstance(self.error, TensorScriptError) and not isinstance(
            self.error, InternalError
        )

    @property
    def is_limit(self) -> bool:
        """Native code says that it cannot do this."""
        return isinstance(self.error, NotCompilable)

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {str(self.error).splitlines()[:1]}"


def _outcome(run: Callable[[], Any]) -> Any:
    """What `run` returns, or a Failure: faults of either side are what is looked for."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - any fault is an answer here
        return Failure(error)


def _specialised(call: Call) -> None:
    """Raises: what specialising the call alone raises."""
    module, values, _ = program([call])
    specialise(module, "f", bind([f"x{k}" for k in range(len(values))], values, Taking()).specs)


def _halved(calls: Sequence[Call]) -> list[Any]:
    """The results of each call, or how its compilation or run failed."""
    if not calls:
        return []
    found = _outcome(lambda: native([c.separate() for c in calls]))
    if not isinstance(found, Failure):
        return list(found)
    if len(calls) == 1:
        return [found]
    middle = len(calls) // 2
    return _halved(calls[:middle]) + _halved(calls[middle:])
