"""Ops of `tg` that compute a tensor or a scalar from others; all are pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import DType, float32, float64
from tensorscript.dialects.te.buffers import ExprAttr, ExprsAttr
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.expr import Expr, as_expr
from tensorscript.dialects.te.rewriting import walk

from .bases import FormattedOp, TGOp
from .combiners import COMBINERS
from .types import ScalarType, TensorType, tensor


def check_body(op: Operation, body: Expr, inputs: Sequence[SSAValue], variables: set[str]) -> None:
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


class BodyOp(FormattedOp):
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
        check_body(self, self.expr, self.inputs, variables)


class ComputeOp(BodyOp):
    """Base of the ops whose result element is `body` at (i0, i1, ...)."""

    FORMAT: ClassVar[str] = "$inputs $body attr-dict `:` functional-type($inputs, $result)"

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


@irdl_op_definition
class ViewOp(ComputeOp):
    name = "tg.view"


@irdl_op_definition
class GatherOp(ComputeOp):
    name = "tg.gather"


class ReductionOp(BodyOp):
    """Base of the ops that combine `body` over r0 < extents[0], r1 < extents[1], ...

    A sum of float32 may be float64: partial sums are float32, and what they add up to is not."""

    FORMAT: ClassVar[str] = (
        "$inputs $combiner $body `over` $extents attr-dict `:` functional-type($inputs, $result)"
    )
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
        if self.combiner.data == "greater" and not self.type.dtype.is_floating_point:
            raise VerifyException(f"greater joins floats, not {self.type.dtype.short}")
        variables = {f"i{d}" for d in range(self.type.rank)}
        variables |= {f"r{d}" for d in range(len(self.extents.data))}
        sums = self.combiner.data == "add" and self.type.dtype is float64
        self.check_body(variables, float32 if sums else None)


@irdl_op_definition
class ReduceOp(ReductionOp):
    name = "tg.reduce"


@irdl_op_definition
class ContractOp(ReductionOp):
    """A sum of products of reads of its operands (matmul, convolution by index maps)."""

    name = "tg.contract"


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
class ConstantOp(FormattedOp):
    """A constant tensor (weights); its data is never compared element by element."""

    name = "tg.constant"
    data = prop_def(DataAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    FORMAT: ClassVar[str] = "$data attr-dict `:` type($result)"

    def __init__(self, data: DataAttr, type: TensorType) -> None:
        super().__init__(properties={"data": data}, result_types=[type])


@irdl_op_definition
class ScalarOp(FormattedOp):
    """A scalar computed from scalars and from elements of tensors (`a0.f32[()]` reads a 0-dim)."""

    name = "tg.scalar"
    inputs = var_operand_def()
    body = prop_def(ExprAttr)
    result = result_def(ScalarType)
    traits = traits_def(Pure())
    FORMAT: ClassVar[str] = "$inputs $body attr-dict `:` functional-type($inputs, $result)"

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
        check_body(self, self.expr, self.inputs, set())
