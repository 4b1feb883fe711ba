"""Operations of `tg`: pure values on ranked tensors, scalars, and structured control flow.

A computing op names its operands `a0, a1, ...` and its iteration variables `i0, i1, ...` (one per
result dimension); `body` is the scalar expression of one element. In it `aK.dtype[indices]` reads
the K-th operand if that is a tensor, `aK.dtype` if it is a scalar. Every read must be in bounds for
every point of the iteration space, or stand in the untaken side of a `select`.

```
tg.func @f (args) -> types, sizes = the symbols N, M that stand in its types (i64 scalars)
tg.pointwise %x, %y {body = sigmoid(a0.f32[i0, i1]) * a1.f32[i1]}       map and broadcast
tg.view      %x     {body = a0.f32[i1, i0]}                              one read, other indices
tg.gather    %x, %n {body = a0.f32[a1.i64[i0], i1]}                      index from data
tg.reduce    %x     {body = a0.f32[i0, r0], extents = 64, combiner = max} over r0 in [0, 64)
tg.contract  %x, %w {body = a0.f32[i0, r0] * a1.f32[i1, r0], ...}        a sum of products
tg.scan      %x     {axis, combiner}                                     inclusive
tg.sort      %x     {axis, descending} -> values, indices                stable, NaN last
tg.scatter   %base, %x.. {extents, indices, body, combiner}  base with element [indices] set or
                                                   combined, for d0, d1 .. over extents in order
tg.constant  {data}            tg.scalar %n {body = a0 + 1} -> scalar
tg.if %c -> types {..} {..}    tg.loop %max_trip, %condition (carried) {..}    tg.yield
tg.list "push" %l, %v          actions on lists that grow (`lists.py`)
tg.size "n" %v                 a number as a size: `n` stands for it in shapes made after it
tg.assert %c {message}         tg.kernel %x, %y {..}: what one kernel computes (after fusion)
```
`tg.view`, `tg.gather` and `tg.pointwise` mean the same thing; the names tell the fuser what to
expect. `tg.loop` is TorchScript's loop: body arguments (counter, carried), yields (condition,
carried). An empty reduction gives the combiner's identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import DType, bool_, float32, float64
from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, as_expr, const, walk

from .lists import LIST_OPS
from .types import ListType, ScalarType, TensorType, tensor

COMBINERS = ("add", "mul", "min", "max", "and", "or")


def identity(combiner: str, dtype: DType) -> Expr:
    """The neutral element of a combiner.

    Raises:
        ValueError: unknown combiner.
    """
    if combiner == "add":
        return const(0, dtype)
    if combiner == "mul":
        return const(1, dtype)
    if combiner in ("and", "or"):
        full = True if dtype is bool_ else -1 if dtype.signed else (1 << dtype.bits) - 1
        return const(full if combiner == "and" else 0, dtype)
    if combiner in ("min", "max"):
        low = combiner == "max"
        if dtype.is_floating_point:
            return const(float("-inf") if low else float("inf"), dtype)
        if dtype is bool_:
            return const(not low, dtype)
        if not dtype.signed:
            return const(0 if low else (1 << dtype.bits) - 1, dtype)
        return const(-(1 << (dtype.bits - 1)) if low else (1 << (dtype.bits - 1)) - 1, dtype)
    raise ValueError(f"unknown combiner {combiner!r}")


class TGOp(IRDLOperation):
    """Base of the dialect's ops."""


def _numbers(numbers: Sequence[int]) -> ArrayAttr[IntAttr] | None:
    return ArrayAttr([IntAttr(n) for n in numbers]) if numbers else None


@irdl_op_definition
class FuncOp(TGOp):
    """The specialised program. Block arguments: tensors and scalars, then one i64 scalar per name
    in `sizes` (the symbols that stand in tensor shapes). `input_strides` holds, per tensor
    argument, its strides in elements (`te.exprs`) or unit for contiguous. `complex_arguments` and
    `complex_results` number those whose last dimension, of 2, holds the parts of what the caller
    calls complex numbers."""

    name = "tg.func"
    sym_name = prop_def(StringAttr)
    argument_names = prop_def(ArrayAttr[StringAttr])
    sizes = prop_def(ArrayAttr[StringAttr])
    input_strides = prop_def(ArrayAttr[Attribute])
    complex_arguments = opt_prop_def(ArrayAttr[IntAttr])
    complex_results = opt_prop_def(ArrayAttr[IntAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        argument_names: Sequence[str],
        sizes: Sequence[str],
        block: Block,
        input_strides: Sequence[tuple[Expr, ...] | None] | None = None,
        complex_arguments: Sequence[int] = (),
        complex_results: Sequence[int] = (),
    ) -> None:
        if input_strides is None:
            input_strides = [None] * len(argument_names)
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "argument_names": ArrayAttr([StringAttr(n) for n in argument_names]),
                "sizes": ArrayAttr([StringAttr(n) for n in sizes]),
                "input_strides": ArrayAttr(
                    [UnitAttr() if s is None else ExprsAttr(s) for s in input_strides]
                ),
                "complex_arguments": _numbers(complex_arguments),
                "complex_results": _numbers(complex_results),
            },
            regions=[Region(block)],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n.data for n in self.argument_names)

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(n.data for n in self.sizes)

    @property
    def strides(self) -> tuple[tuple[Expr, ...] | None, ...]:
        return tuple(s.data if isinstance(s, ExprsAttr) else None for s in self.input_strides)

    @property
    def complex_numbers(self) -> tuple[frozenset[int], frozenset[int]]:
        """Which arguments and which results hold parts of complex numbers."""
        found = (self.complex_arguments, self.complex_results)
        arguments, results = (frozenset(n.data for n in a or ()) for a in found)
        return arguments, results

    @property
    def return_op(self) -> ReturnOp:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    def verify_(self) -> None:
        if len(self.argument_names) != len(self.block.args):
            raise VerifyException("one name per argument")


@irdl_op_definition
class ReturnOp(TGOp):
    name = "tg.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class YieldOp(TGOp):
    name = "tg.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


def _check_body(op: Operation, body: Expr, inputs: Sequence[SSAValue], variables: set[str]) -> None:
    """Reads name existing operands with their dtype and rank; variables are declared."""
    operands = {f"a{k}": v.type for k, v in enumerate(inputs)}
    for n in walk(body):
        if n.op not in ("load", "var"):
            continue
        name = str(n.value)
        found = operands.get(name)
        if n.op == "load":
            if not isinstance(found, TensorType):
                raise VerifyException(f"{op.name}: {name} is not a tensor operand")
            if found.dtype is not n.dtype or found.rank != len(n.args):
                raise VerifyException(f"{op.name}: read {n} does not fit {found.data}")
        elif name in operands:
            if not isinstance(found, ScalarType) or found.dtype is not n.dtype:
                raise VerifyException(f"{op.name}: {name} is not a scalar of {n.dtype}")
        elif name[0] in "ird" and name[1:].isdigit() and name not in variables:
            raise VerifyException(f"{op.name}: undeclared variable {name}")


class BodyOp(TGOp):
    """Base of the ops whose result is one tensor, made by `body`."""

    inputs = var_operand_def()
    body = prop_def(ExprAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def expr(self) -> Expr:
        return self.body.data

    @property
    def type(self) -> TensorType:
        found = self.result.type
        assert isinstance(found, TensorType)
        return found

    def check_body(self, variables: set[str], narrow: DType | None = None) -> None:
        """The body gives the result's dtype, or `narrow`, and reads what there is."""
        if self.expr.dtype not in (self.type.dtype, narrow):
            raise VerifyException(
                f"{self.name}: body is {self.expr.dtype}, result {self.type.dtype}"
            )
        _check_body(self, self.expr, self.inputs, variables)


class ComputeOp(BodyOp):
    """Base of the ops whose result element is `body` at (i0, i1, ...)."""

    def __init__(self, inputs: Sequence[SSAValue], body: Expr, type: TensorType) -> None:
        super().__init__(
            operands=[inputs], properties={"body": ExprAttr(body)}, result_types=[type]
        )

    def verify_(self) -> None:
        variables = {f"i{d}" for d in range(self.type.rank)}
        self.check_body(variables)


@irdl_op_definition
class PointwiseOp(ComputeOp):
    name = "tg.pointwise"
    assembly_format = "$inputs $body attr-dict `:` functional-type($inputs, $result)"


@irdl_op_definition
class ViewOp(ComputeOp):
    name = "tg.view"
    assembly_format = "$inputs $body attr-dict `:` functional-type($inputs, $result)"


@irdl_op_definition
class GatherOp(ComputeOp):
    name = "tg.gather"
    assembly_format = "$inputs $body attr-dict `:` functional-type($inputs, $result)"


class ReductionOp(BodyOp):
    """Base of the ops that combine `body` over r0 < extents[0], r1 < extents[1], ...

    A sum of float32 may be float64: partial sums are float32, and what they add up to is not."""

    extents = prop_def(ExprsAttr)
    combiner = prop_def(StringAttr)

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        body: Expr,
        extents: Sequence[Expr | int],
        combiner: str,
        type: TensorType,
    ) -> None:
        super().__init__(
            operands=[inputs],
            properties={
                "body": ExprAttr(body),
                "extents": ExprsAttr(tuple(as_expr(e) for e in extents)),
                "combiner": StringAttr(combiner),
            },
            result_types=[type],
        )

    def verify_(self) -> None:
        if self.combiner.data not in COMBINERS:
            raise VerifyException(f"unknown combiner {self.combiner.data}")
        variables = {f"i{d}" for d in range(self.type.rank)}
        variables |= {f"r{d}" for d in range(len(self.extents.data))}
        sums = self.combiner.data == "add" and self.type.dtype is float64
        self.check_body(variables, float32 if sums else None)


_REDUCTION_FORMAT = (
    "$inputs $combiner $body `over` $extents attr-dict `:` functional-type($inputs, $result)"
)


@irdl_op_definition
class ReduceOp(ReductionOp):
    name = "tg.reduce"
    assembly_format = _REDUCTION_FORMAT


@irdl_op_definition
class ContractOp(ReductionOp):
    """A sum of products of reads of its operands (matmul, convolution by index maps)."""

    name = "tg.contract"
    assembly_format = _REDUCTION_FORMAT


@irdl_op_definition
class ScanOp(TGOp):
    """Inclusive scan along `axis`. Sums and products of float32 run in float64, as PyTorch's do: an
    error made early is in all results that follow."""

    name = "tg.scan"
    input = operand_def(TensorType)
    axis = prop_def(IntAttr)
    combiner = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(self, input: SSAValue, axis: int, combiner: str) -> None:
        super().__init__(
            operands=[input],
            properties={"axis": IntAttr(axis), "combiner": StringAttr(combiner)},
            result_types=[input.type],
        )

    @property
    def running_dtype(self) -> DType:
        """The dtype of the value that runs along."""
        assert isinstance(self.input.type, TensorType)
        dtype = self.input.type.dtype
        widens = dtype is float32 and self.combiner.data in ("add", "mul")
        return float64 if widens else dtype


@irdl_op_definition
class SortOp(TGOp):
    """Stable sort along `axis`; results are the values and their i64 indices. NaN is greatest.

    The results may be shorter than the input along `axis`: the first elements in sorted order."""

    name = "tg.sort"
    input = operand_def(TensorType)
    axis = prop_def(IntAttr)
    descending = opt_prop_def(UnitAttr)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(
        self, input: SSAValue, axis: int, descending: bool, index_type: TensorType
    ) -> None:
        assert isinstance(input.type, TensorType)
        super().__init__(
            operands=[input],
            properties={
                "axis": IntAttr(axis),
                "descending": UnitAttr() if descending else None,
            },
            result_types=[tensor(input.type.dtype, index_type.shape), index_type],
        )

    def verify_(self) -> None:
        axis = self.axis.data
        given, kept = self.input.type, self.indices.type
        assert isinstance(given, TensorType) and isinstance(kept, TensorType)
        same = [a is b for a, b in zip(given.shape, kept.shape, strict=True)]
        if not all(same[:axis] + same[axis + 1 :]) or self.values.type.shape != kept.shape:
            raise VerifyException("tg.sort changes sizes along its axis only")


@irdl_op_definition
class ScatterOp(TGOp):
    """`base` with, for d0, d1, ... over `extents` in order, element [indices] set to `body`
    (combiner "set") or combined with it. In the expressions a0 is the first of `inputs`."""

    name = "tg.scatter"
    base = operand_def(TensorType)
    inputs = var_operand_def()
    body = prop_def(ExprAttr)
    indices = prop_def(ExprsAttr)
    extents = prop_def(ExprsAttr)
    combiner = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(
        self,
        base: SSAValue,
        inputs: Sequence[SSAValue],
        indices: Sequence[Expr],
        body: Expr,
        extents: Sequence[Expr],
        combiner: str = "set",
    ) -> None:
        super().__init__(
            operands=[base, inputs],
            properties={
                "body": ExprAttr(body),
                "indices": ExprsAttr(tuple(indices)),
                "extents": ExprsAttr(tuple(extents)),
                "combiner": StringAttr(combiner),
            },
            result_types=[base.type],
        )


@irdl_op_definition
class ConstantOp(TGOp):
    """A constant tensor (weights); its data is never compared element by element."""

    name = "tg.constant"
    data = prop_def(DataAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$data attr-dict `:` type($result)"

    def __init__(self, data: DataAttr, type: TensorType) -> None:
        super().__init__(properties={"data": data}, result_types=[type])


@irdl_op_definition
class ScalarOp(TGOp):
    """A scalar computed from scalars and from elements of tensors (`a0.f32[()]` reads a 0-dim)."""

    name = "tg.scalar"
    inputs = var_operand_def()
    body = prop_def(ExprAttr)
    result = result_def(ScalarType)
    traits = traits_def(Pure())
    assembly_format = "$inputs $body attr-dict `:` functional-type($inputs, $result)"

    def __init__(self, inputs: Sequence[SSAValue], body: Expr) -> None:
        super().__init__(
            operands=[inputs],
            properties={"body": ExprAttr(body)},
            result_types=[ScalarType(body.dtype)],
        )

    @property
    def expr(self) -> Expr:
        return self.body.data

    def verify_(self) -> None:
        _check_body(self, self.expr, self.inputs, set())


@irdl_op_definition
class IfOp(TGOp):
    name = "tg.if"
    condition = operand_def(ScalarType)
    outputs = var_result_def()
    true_region = region_def("single_block")
    false_region = region_def("single_block")

    def __init__(
        self, condition: SSAValue, types: Sequence[Attribute], true: Block, false: Block
    ) -> None:
        super().__init__(
            operands=[condition], result_types=[types], regions=[Region(true), Region(false)]
        )


@irdl_op_definition
class LoopOp(TGOp):
    """Runs while the condition holds and the counter (from 0) is below `max_trip`."""

    name = "tg.loop"
    max_trip = operand_def(ScalarType)
    condition = operand_def(ScalarType)
    carried = var_operand_def()
    outputs = var_result_def()
    body = region_def("single_block")

    def __init__(
        self, max_trip: SSAValue, condition: SSAValue, carried: Sequence[SSAValue], body: Block
    ) -> None:
        super().__init__(
            operands=[max_trip, condition, carried],
            result_types=[[a.type for a in body.args[1:]]],
            regions=[Region(body)],
        )


@irdl_op_definition
class AssertOp(TGOp):
    """Stops the program with an error unless the condition holds; ordered with other effects."""

    name = "tg.assert"
    condition = operand_def(ScalarType)
    message = prop_def(StringAttr)
    assembly_format = "$condition $message attr-dict `:` type($condition)"

    def __init__(self, condition: SSAValue, message: str) -> None:
        super().__init__(operands=[condition], properties={"message": StringAttr(message)})


@irdl_op_definition
class KernelOp(TGOp):
    """What one kernel computes; `category` names the schedule family it was formed for. Its stages
    share their first `shared` dimensions: they read each other there only at (i0, i1, ...)."""

    name = "tg.kernel"
    inputs = var_operand_def()
    sym_name = prop_def(StringAttr)
    category = prop_def(StringAttr)
    shared = prop_def(IntAttr)
    outputs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def __init__(
        self,
        name: str,
        category: str,
        shared: int,
        inputs: Sequence[SSAValue],
        types: Sequence[Attribute],
        body: Block,
    ) -> None:
        super().__init__(
            operands=[inputs],
            result_types=[types],
            properties={
                "sym_name": StringAttr(name),
                "category": StringAttr(category),
                "shared": IntAttr(shared),
            },
            regions=[Region(body)],
        )

    @property
    def block(self) -> Block:
        return self.body.block


TG = Dialect(
    "tg",
    [
        FuncOp, ReturnOp, YieldOp, PointwiseOp, ViewOp, GatherOp, ReduceOp, ContractOp, ScanOp,
        SortOp, ScatterOp, ConstantOp, ScalarOp, IfOp, LoopOp, AssertOp, KernelOp, *LIST_OPS,
    ],
    [TensorType, ScalarType, ListType],
)  # fmt: skip


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The tg.func ops of a module, in order."""
    return (op for op in module.body.block.ops if isinstance(op, FuncOp))
