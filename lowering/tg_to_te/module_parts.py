"""What the functions of one te module share: kernels (those with equal form once) and constants."""

from __future__ import annotations

import keyword
import re
from collections.abc import Hashable, Sequence
from operator import itemgetter

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.dialects.te.buffers import Buffer, Parameter, Scalar
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import ConstantOp, ForOp, FuncOp, StoreOp
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import TensorType

from ..te.names import unused
from .kernel import lower_kernel


def identifier(name: str, taken: set[str]) -> str:
    """A fresh identifier like `name`, of the letters that LLVM and C take in names, that cannot be
    mistaken for another kind of name."""
    plain = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
    base = re.sub(r"\W", "_", plain) or "x"
    if base[0].isdigit() or keyword.iskeyword(base) or base in ("inf", "nan"):
        base = "_" + base
    return unused(base, taken)


def tensor_type(value: SSAValue) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


class ModuleParts:
    """Collects them; `names` are taken."""

    def __init__(self) -> None:
        self.kernels: list[FuncOp] = []
        self.constants: list[ConstantOp] = []
        self.known: dict[Hashable, tuple[str, tuple[str, ...]]] = {}
        self.names: set[str] = set()

    def add_constant(self, op: tg.ConstantOp) -> Buffer:
        type_ = tensor_type(op.result)
        buffer = Buffer(identifier("w0", self.names), type_.dtype, type_.shape)
        self.constants.append(ConstantOp(buffer, op.data))
        return buffer

    def add_kernel(
        self,
        op: tg.KernelOp,
        strides: Sequence[tuple[Expr, ...] | None],
        updated: int | None = None,
    ) -> tuple[str, tuple[str, ...]]:
        """The name of the kernel's te.func (shared by kernels of the same form), its symbols."""
        lowered = lower_kernel(op, strides, updated)
        return self.register(lowered.func, lowered.symbols)

    def register(self, func: FuncOp, symbols: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The name that a function of the same form has already, or that this one gets."""
        name = func.sym_name.data
        func.properties["sym_name"] = StringAttr("")
        key = _form(func)
        if key in self.known:
            return self.known[key]
        name = identifier(name, self.names)
        func.properties["sym_name"] = StringAttr(name)
        self.kernels.append(func)
        self.known[key] = (name, symbols)
        return name, symbols

    def copy_call(self, source: Buffer, target: Buffer) -> tuple[str, list[str | Expr]]:
        """Callee and arguments that copy one buffer to another of the same type."""
        here = [var(f"i{d}") for d in range(len(target.shape))]
        read = load("p0", here, source.dtype)
        statements: list[Operation] = [StoreOp("o0", here, read)]
        for dim in reversed(range(len(here))):
            statements = [ForOp(f"i{dim}", target.shape[dim], statements)]
        symbols = tuple(sorted({n for size in target.shape for n in size.free}))
        parameters: list[Parameter] = [
            Buffer("p0", source.dtype, source.shape, source.strides),
            Buffer("o0", target.dtype, target.shape, None, "out"),
            *(Scalar(s, int64) for s in symbols),
        ]
        func = FuncOp("copy", parameters, statements, category="pointwise")
        name, _ = self.register(func, symbols)
        return name, [source.name, target.name, *(var(s) for s in symbols)]


def _form(op: Operation) -> Hashable:
    """What a statement says, with its body. Expressions are compared as the shared nodes that they
    are: as text, a chain of steps that use a value several times doubles with each."""
    inside = tuple(tuple(map(_form, block.ops)) for region in op.regions for block in region.blocks)
    return op.name, tuple(sorted(op.properties.items(), key=itemgetter(0))), inside
