"""Operators on tensors and numbers: which row a call takes, and what stands around the row.

A table has rows without side effects; `op_`, `out=` and `op_copy` are made of these here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from tensorscript.base.composites import COMPOSITES
from tensorscript.base.dtypes import DType, bool_, float32
from tensorscript.base.errors import NotCompilable, OperatorError, TensorScriptError
from tensorscript.base.given import missing_tensor
from tensorscript.base.operand_dtypes import demand_of, dim_place, is_last_dim, number_place
from tensorscript.base.out_dtypes import COMPUTES_IN, check_out
from tensorscript.base.overlap import may_repeat
from tensorscript.base.records import dataclass
from tensorscript.base.schema import Schema, has_operator, overloads, schema
from tensorscript.base.twins import MADE_OF, counterparts, is_result, maker_of
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.ts.constants import Device

from .builder import Builder, Row, repeated_dimensions
from .complex_creation import MAKERS, asked_place
from .complex_tensors import converted, copied, write
from .dims import dtype_of
from .facts import Refuse, facts_of
from .nested import call_nested, has_nested
from .out_resized import OutResized
from .own_memory import owned
from .quantization import call_quantized, has_quantized
from .refusals import reason_of
from .scalar_values import is_unknown
from .sizes import same_size
from .values import ComplexTensor, Tensor, Value
from .written_memory import check_written

_RUNTIME_FLAGS = frozenset({"aten::scaled_dot_product_attention"})
"""Operators whose rows take flags as expressions."""
FOLDS_COMPLEX = {f"aten::{name}" for name in ("add", "sub", "mul", "neg", "eq", "ne")}
"""Operators that compute with constant complex numbers."""
_ONE_NUMBER = frozenset(
    f"aten::{name}_" for name in ("fill", "zero", "_no_grad_fill", "_no_grad_zero")
)
"""Operators that write the same number everywhere."""
_DUNDERS = frozenset({"and", "or", "xor", "lshift", "rshift"})


def functional_name(base: str) -> str:
    """`aten::add_` to `aten::add`, `aten::__iand__` to `aten::__and__`; others as they are."""
    name = base.rpartition("::")[2]
    if name.startswith("__i") and name.endswith("__") and name[3:-2] in _DUNDERS:
        return f"aten::__{name[3:]}"
    return base[:-1] if name.endswith("_") and not name.endswith("__") else base


def has_tensor(values: Sequence[Value]) -> bool:
    """Whether there is a tensor among the values, or in lists of them."""
    return any(
        isinstance(v, Tensor | ComplexTensor) or (isinstance(v, list) and has_tensor(v))
        for v in values
    )


def _dtypes(values: Sequence[Value]) -> Iterator[DType]:
    """Of the tensors among the arguments, and in lists of them."""
    for v in values:
        if isinstance(v, Tensor | ComplexTensor):
            yield v.dtype
        elif isinstance(v, list):
            yield from _dtypes(v)


@cache
def _out_form(name: str) -> Schema | None:
    """The schema of an overload with `out=`; names of rows alone have none."""
    if "." not in name or not has_operator(name.partition(".")[0]):
        return None
    return next(
        (s for s in overloads(name.partition(".")[0]) if s.full_name == name and s.is_out), None
    )


@dataclass
class PlainRows:
    """The rows of operators on plain values: numbers, strings, tensors and lists of these.

    Attributes:
        b: what rows emit with.
        tensors: rows by name, with or without the overload.
        scalars: those that are taken when no argument is a tensor.
        refuse: refuses tensors by their dtypes and sizes.
        devices: where tensors may be.
        home: where the arguments are.
    """

    b: Builder
    tensors: Mapping[str, Row]
    scalars: Mapping[str, Row]
    refuse: Refuse | None = None
    devices: frozenset[str] = frozenset(("cpu",))
    home: str = "cpu"

    def call(self, name: str, arguments: list[Value]) -> Value:
        """The result of an operator of the schema table (a tuple for several results).

        Raises:
            NotCompilable: it has no native form, or none for such arguments.
            OperatorError: it refuses the arguments.
        """
        try:
            return self._call(name, arguments)
        except TensorScriptError:
            raise
        except (ArithmeticError, IndexError, ValueError) as error:
            # Ranks and numbers that a row never meets in a program that runs: eager mode, which
            # the interpreter asks, has the words for what is wrong with them.
            reason = f"{name}: no native form for such arguments ({error})"
            raise NotCompilable(reason, self.b.span) from error

    def _call(self, name: str, arguments: list[Value]) -> Value:
        b, base = self.b, name.partition(".")[0]
        if (message := missing_tensor(name, arguments)) is not None:
            b.error(message)
        if (form := _out_form(name)) is not None:
            return self._with_out(form, arguments)
        if has_quantized(arguments):
            return call_quantized(b, name, arguments, self.tensors)
        if has_nested(arguments):
            return call_nested(b, name, arguments, self.tensors)
        self._check_devices(name, arguments)
        tensors = has_tensor(arguments)
        if tensors:
            self._check_dtypes(name, arguments)
            self._check_flags(name, arguments)
        self._check_facts(name, arguments)
        if functional_name(base) != base and isinstance(arguments[0], Tensor | ComplexTensor):
            check_written(b, name, arguments[0], arguments[1:])
        if (at := asked_place(name, arguments)) is not None:
            maker = MAKERS.get(base)
            return maker(b, name, arguments, at) if maker else b.cannot("a complex dtype")
        if (row := self._of_calls(name)) is not None:
            return owned(b, name, row(b, *arguments), arguments)
        # A name without overload is the row of numbers where there are no tensors (`3 / 2.5`).
        row = self.tensors.get(name) if tensors or "." in name else None
        if row is None and (not tensors or base in ("aten::__is__", "aten::__isnot__")):
            row = self.scalars.get(name) or self.scalars.get(base)
            folds = base in FOLDS_COMPLEX and not is_unknown(*arguments)
            if row and not folds and any(isinstance(a, complex) for a in arguments):
                b.cannot("arithmetic of complex numbers outside of tensors")
        row = row or self.tensors.get(base)
        if row is not None:
            return owned(b, name, row(b, *arguments), arguments)
        if functional_name(base) != base and isinstance(arguments[0], Tensor | ComplexTensor):
            return self._in_place(name, base, arguments)
        if base.endswith("_copy"):
            return self._view_copy(name, base, arguments)
        return b.cannot(reason_of(name))

    def _of_calls(self, name: str) -> Callable[..., Value] | None:
        """The row of an operator that is a few calls of others, each checked like any other."""
        if (program := COMPOSITES.get(name)) is None:
            return None
        return lambda _, *arguments: program(self._step, *arguments)

    def _step(self, name: str, *given: Value) -> Value:
        """An operator that is part of another one, on its leading arguments."""
        rest = schema(name).arguments[len(given) :]
        return self._call(name, [*given, *(a.default for a in rest)])

    def _with_out(self, found: Schema, arguments: list[Value]) -> Value:
        """`op(..., out=x)`: the results of the overload that computes, written into tensors of
        their shapes."""
        targets = [v for at, v in enumerate(arguments) if is_result(found, at)]
        if found.base_name in COMPUTES_IN:
            asked = [a.name for a in found.arguments].index("dtype")
            arguments = list(arguments)
            if arguments[asked] is None:
                arguments[asked] = targets[0].dtype.code
        given = [v for at, v in enumerate(arguments) if not is_result(found, at)]
        new = self._of_the_same(found, given, targets)
        results = list(new) if isinstance(new, list | tuple) else [new]
        for target, result in zip(targets, results, strict=True):
            self._write_out(found.full_name, target, result, given)
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _of_the_same(self, found: Schema, given: list[Value], targets: list[Value]) -> Value:
        """What the overload without `out=` gives; one that makes tensors, in the target's dtype."""
        for pure in counterparts(found, found.name):
            return self._call(pure.full_name, given)
        if (maker := maker_of(found)) is None:
            return self.b.cannot(reason_of(found.full_name))
        asked = [targets[0].dtype.code if a.name == "dtype" else None
                 for a in maker.arguments if a.name in MADE_OF]  # fmt: skip
        return self._call(maker.full_name, [*given, *asked])

    def _write_out(self, name: str, target: Value, new: Value, given: list[Value]) -> None:
        b = self.b
        if isinstance(target, list):
            for one, result in zip(target, new, strict=True):
                self._write_out(name, one, result, given)
            return
        try:
            check_out(name, new.dtype, target.dtype, next(iter(_dtypes(given[:1])), None))
        except OperatorError as refusal:
            raise b.placed(refusal) from None
        self._check_cast(new.dtype, target.dtype)
        made = copied(b, converted(b, new, target.dtype))
        if target.rank != new.rank or not all(map(same_size, target.shape, new.shape)):
            raise OutResized(f"{b.operator}: `out=` of another shape", b.span, target, made)
        write(b, target, made)

    def _view_copy(self, name: str, base: str, arguments: list[Value]) -> Value:
        """`view_copy` and its kind: the elements of a view in memory of their own."""
        b, pure = self.b, base.removesuffix("_copy")
        row = self.tensors.get(pure + name[len(base) :]) or self.tensors.get(pure)
        if row is None:
            return b.cannot("has no native form")
        found = row(b, *arguments)
        return [copied(b, x) for x in found] if isinstance(found, list) else copied(b, found)

    def _check_flags(self, name: str, arguments: Sequence[Value]) -> None:
        """Refuse flags that only the running program knows: rows branch on them."""
        if name.partition(".")[0] in _RUNTIME_FLAGS or not any(
            isinstance(a, Expr) and a.dtype is bool_ for a in arguments
        ):
            return
        for formal, given in zip(schema(name).arguments, arguments, strict=False):
            if str(formal.type) == "bool" and isinstance(given, Expr):
                self.b.cannot(f"the flag '{formal.name}' is known only at run time")

    def _check_devices(self, name: str, arguments: Sequence[Value]) -> None:
        """Leave tensors on devices that this code does not run on to those who refuse them."""
        if self.home != "cpu" and self._makes_on_cpu(name, arguments):
            self.b.cannot("tensors on the CPU")
        asked = (a for a in arguments if isinstance(a, Device))
        for given in (d for d in asked if not self._is_here(d.text)):
            if any("Tensor" in str(r.type) for r in schema(name).returns):
                self.b.cannot(f"tensors on {given}")

    def _is_here(self, device: str) -> bool:
        """Whether tensors may be on a device: code for one GPU knows that one only."""
        return (device if self.home != "cpu" else device.partition(":")[0]) in self.devices

    def _makes_on_cpu(self, name: str, arguments: Sequence[Value]) -> bool:
        """Whether an operator makes a tensor where no device is asked for and no operand is."""
        if name.startswith("aten::") and not has_tensor(arguments):
            named = [a.name for a in schema(name).arguments]
            return dict(zip(named, arguments, strict=False)).get("device", 0) is None
        return name == "aten::cpu"

    def _check_dtypes(self, name: str, arguments: Sequence[Value]) -> None:
        """Refuse elements that the operator does not take."""
        if (demand := demand_of(name)) is None:
            return
        declared = schema(name)
        names = [a.name for a in declared.arguments]
        asked = dict(zip(names, arguments, strict=False)).get("dtype")
        place = number_place(declared)
        number = None if place is None else self.b.result_type(arguments[place])
        along = dim_place(declared)
        is_last = along is None or is_last_dim(arguments[along], arguments[0].rank)
        wanted = None if asked is None else dtype_of(asked, float32)
        try:
            demand.check(_dtypes(arguments), wanted, number, is_last)
        except OperatorError as refusal:
            raise self.b.placed(refusal) from None

    def _check_facts(self, name: str, arguments: Sequence[Value]) -> None:
        """Refuse arguments that the operator does not take."""
        if self.refuse is None:
            return
        try:
            self.refuse(name, facts_of(arguments))
        except OperatorError as refusal:
            raise self.b.placed(refusal) from None

    def _in_place(self, name: str, base: str, arguments: list[Value]) -> Tensor | ComplexTensor:
        """`x.op_(...)`: the out-of-place row, written back into x."""
        b = self.b
        overload = name[len(base) :]
        pure = functional_name(base)
        row = self._of_calls(pure + overload)
        row = row or self.tensors.get(pure + overload) or self.tensors.get(pure)
        if row is None:
            return b.cannot(reason_of(name))
        x: Tensor | ComplexTensor = arguments[0]
        if may_repeat(name) and isinstance(x, Tensor) and repeated_dimensions(x):
            once = self._once(x, base)
            self._in_place(name, base, [once, *arguments[1:]])
            return x
        new: Tensor | ComplexTensor = row(b, *arguments)
        self._check_cast(new.dtype, x.dtype)
        message = (
            f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(new.shape)}"
        )
        if new.rank != x.rank:
            b.error(message)
        for have, want in zip(x.shape, new.shape, strict=True):
            b.require_same(have, want, message)
        write(b, x, converted(b, new, x.dtype))
        return x

    def _once(self, x: Tensor, base: str) -> Tensor:
        """A view that repeats its memory, with each place once, to be written one number."""
        for d in repeated_dimensions(x):
            if base not in _ONE_NUMBER or x.shape[d].op != "const" or x.shape[d].is_int(0):
                self.b.cannot("writes to a tensor whose elements share memory")
            x = self.b.call("aten::narrow", x, d, 0, 1)
        return x

    def _check_cast(self, result: DType, target: DType) -> None:
        if result.category > target.category:
            self.b.error(
                f"result type {result.word} can't be cast to the desired output type {target.word}"
            )
