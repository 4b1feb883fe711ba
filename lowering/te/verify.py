"""Verifiers of the sub-levels of te (`dialects/te/ops.py` says what holds at each).

Raise xDSL's VerifyException with the first violation. All levels: names are unique, every access
names a declared buffer with the right number of indices and dtype, every variable is defined.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from tensorscript.base.dtypes import DType, float32, float64
from tensorscript.dialects.te.buffers import Buffer, Scalar
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import (
    AcrossOp,
    AllocOp,
    AssignOp,
    CallOp,
    ForOp,
    FuncOp,
    LetOp,
    ScanOp,
    StoreOp,
    UpdateOp,
    VarOp,
)

from .dependence import loads_of
from .nest import expressions


class _Verifier:
    def __init__(self, func: FuncOp, constants: Mapping[str, Buffer]) -> None:
        self.level = func.level.data
        self.declared: set[str] = set()
        self.buffers = dict(constants)
        self.scalars: set[str] = set()
        for p in func.params:
            self._declare(p.name)
            if isinstance(p, Scalar):
                self.scalars.add(p.name)
            else:
                self.buffers[p.name] = p
        for buffer in func.buffers:
            for e in (*buffer.shape, *(buffer.strides or ())):
                self._expression(func, e)
        self._body(func)

    def _fail(self, op: Operation, why: str) -> None:
        raise VerifyException(f"{op.name}: {why} (level {self.level})")

    def _declare(self, name: str) -> None:
        if name in self.declared:
            raise VerifyException(f"the name {name} is declared twice")
        self.declared.add(name)

    def _body(self, op: Operation) -> None:
        for region in op.regions:
            buffers, scalars = dict(self.buffers), set(self.scalars)
            if isinstance(op, ForOp):
                self.scalars |= {op.var, op.chunk or op.var}
            for child in region.block.ops:
                self._statement(child)
            self.buffers, self.scalars = buffers, scalars

    def _statement(self, op: Operation) -> None:
        passed = set()
        if isinstance(op, CallOp):
            passed = {a for a in op.arguments if a.op == "var" and a.value in self.buffers}
        for e in expressions(op):
            if e not in passed:
                self._expression(op, e)
        match op:
            case AllocOp():
                self._declare(op.buffer.name)
                for e in op.buffer.shape:
                    self._expression(op, e)
                self.buffers[op.buffer.name] = op.buffer
            case ScanOp() if op.carried not in self.scalars:
                self._fail(op, f"{op.carried} is not defined")
            case LetOp() | VarOp() | ScanOp():
                self._declare(op.var)
                self.scalars.add(op.var)
            case AssignOp() if op.var not in self.scalars:
                self._fail(op, f"{op.var} is not defined")
            case AcrossOp():
                self._access(op, op.buffer, 0)
            case StoreOp() | UpdateOp():
                self._access(op, op.buffer, len(op.indices))
                if not _fits(op, self.buffers[op.buffer].dtype):
                    self._fail(op, f"{op.value.dtype} into {op.buffer}")
            case ForOp():
                self._declare(op.var)
                if op.chunk is not None:
                    self._declare(op.chunk)
                if self.level == "logical" and op.kind.data != "serial":
                    self._fail(op, f"loop {op.var} is {op.kind.data}")
        self._body(op)

    def _access(self, op: Operation, name: str, count: int) -> None:
        buffer = self.buffers.get(name)
        if buffer is None:
            self._fail(op, f"there is no buffer {name}")
            return
        wanted = 1 if self.level == "flat" else len(buffer.shape)
        if count != wanted:
            self._fail(op, f"{count} indices into {buffer}")

    def _expression(self, op: Operation, e: Expr) -> None:
        for name in e.free:
            if name not in self.scalars:
                self._fail(op, f"{name} is not defined")
        for n in loads_of(e):
            self._access(op, str(n.value), len(n.args))
            if n.dtype is not self.buffers[str(n.value)].dtype:
                self._fail(op, f"{n} has not the dtype of {self.buffers[str(n.value)]}")


def verify_function(func: FuncOp, constants: Mapping[str, Buffer] | None = None) -> None:
    """Check what the function's level promises; `constants` are the module's buffers.

    Raises:
        VerifyException: the first violation.
    """
    func.verify()
    _Verifier(func, constants or {})


def _fits(op: StoreOp | UpdateOp, dtype: DType) -> bool:
    """The value is of the target's dtype; a sum in float64 may be of float32."""
    if isinstance(op, UpdateOp) and op.combiner == "add" and dtype is float64:
        return op.value.dtype in (float32, float64)
    return op.value.dtype is dtype
