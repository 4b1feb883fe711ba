"""The specialisations of one function: by kinds of arguments, then by the state of its object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorscript.base.dtypes import bfloat16
from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    DictSpec,
    ListSpec,
    NumberSpec,
    ObjectSpec,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)

from .native import Loaded, NativeCode
from .observe import Report
from .sharing import Sharing

if TYPE_CHECKING:  # importing it takes long
    from .flat_calls import FlatCall
    from .gpu import GPUCode, GPULoaded

MOST_STATES = 8
"""So many forms the state may take for one kind of arguments before the interpreter runs more."""

MOST_NUMBERS = 32
"""So many kinds of arguments may differ by known numbers alone."""


@dataclass
class Specialisation:
    """One compiled form of the program, for arguments of `specs` and the state that `plan` and
    `sharing` tell. `report` is None if it came from the disk cache; `flat` tells how the builtin
    takes the program's own arguments, if it can, and `fast_class` is the class whose `__call__` it
    is; that of `tensor_class` calls it with the arrays of eager tensors."""

    specs: tuple[ArgumentSpec, ...]
    plan: CallPlan
    code: NativeCode | GPUCode
    loaded: Loaded | GPULoaded
    report: Report | None
    flat: FlatCall | None = None
    fast_class: type[Any] | None = None
    tensor_class: type[Any] | None = None
    sharing: Sharing = ()

    def admits(self, specs: Sequence[ArgumentSpec]) -> bool:
        """Whether it is for arguments of these specs."""
        return self.specs == tuple(specs) or _admits(self.specs, specs, self.plan.above_one)


@dataclass(frozen=True)
class Refused:
    """Why arguments have no native form. The error that told it is not kept: its traceback holds
    all that was being compiled."""

    message: str
    span: Span | None
    notes: tuple[tuple[str, Span | None], ...]

    def error(self) -> NotCompilable:
        """The refusal as an error."""
        return NotCompilable(self.message, self.span, self.notes)


CHANGING_STATE = Refused("the state of self keeps changing its shape", None, ())
CHANGING_NUMBERS = Refused("the numbers that code is compiled for keep changing", None, ())


class Specialisations:
    """What is compiled, and what is known to have no native form.

    Attributes:
        changing: paths of the attributes that some specialisation changes, as keys in the order in
            which that was learned: constants of none.
        gradients: what `is_grad_enabled()` says to the program, if it asks: part of what tells
            specialisations apart.
    """

    def __init__(self) -> None:
        self.gradients = True
        self.changing: dict[str, None] = {}
        self._known: dict[tuple[object, ...], list[Specialisation] | Refused] = {}
        self._symbolic: list[tuple[bool, tuple[ArgumentSpec, ...], list[Specialisation]]] = []
        self._numbers = 0

    def __contains__(self, key: tuple[object, ...]) -> bool:
        return (self.gradients, *key) in self._known

    def _key(self, specs: Sequence[ArgumentSpec]) -> tuple[object, ...]:
        return (self.gradients, *specs)

    def learn(self, paths: Sequence[str]) -> None:
        """Attributes that a specialisation changes: forget those that hold one as a constant."""
        if new := dict.fromkeys(path for path in paths if path not in self.changing):
            self.changing |= new
            self._known.clear()
            self._symbolic.clear()

    def of(self, specs: Sequence[ArgumentSpec]) -> list[Specialisation] | Refused:
        """The forms for arguments of these specs, or why there are none."""
        key = self._key(specs)
        if key not in self._known:
            found = (
                forms
                for gradients, symbolic, forms in self._symbolic
                if gradients == self.gradients and _admits(symbolic, specs, forms[0].plan.above_one)
            )
            if (forms := next(found, None)) is None:
                return []
            self._known[key] = forms
        return self._known[key]

    def add(self, specs: Sequence[ArgumentSpec], made: Specialisation) -> None:
        """A new form for arguments of these specs."""
        key = self._key(specs)
        forms = self._known.get(key)
        if not isinstance(forms, list):
            forms = self._known[key] = []
            self._numbers += _has(NumberSpec, specs)
            if made.plan.sizes:
                self._symbolic.append((self.gradients, tuple(specs), forms))
        forms.append(made)

    def refuse(self, specs: Sequence[ArgumentSpec], error: NotCompilable) -> Refused:
        """Leave arguments of these specs to the interpreter."""
        why = Refused(error.message, error.span, error.notes)
        self._known[self._key(specs)] = why
        return why

    @property
    def has_numbers(self) -> bool:
        """Whether some specialisation has known numbers."""
        return self._numbers > 0

    def too_many(self, specs: Sequence[ArgumentSpec]) -> bool:
        """Whether arguments of these specs differ by known numbers from many before."""
        return self._numbers >= MOST_NUMBERS and _has(NumberSpec, specs)


def _has(kind: type, specs: Sequence[ArgumentSpec]) -> bool:
    return any(isinstance(s, kind) or _has(kind, _parts(s)) for s in specs)


def _parts(spec: ArgumentSpec) -> Sequence[ArgumentSpec]:
    match spec:
        case SequenceSpec(elements):
            return elements
        case DictSpec(items) | ObjectSpec(_, items):
            return [part for _, part in items]
    return ()


def has_bits(specs: Sequence[ArgumentSpec]) -> bool:
    """Whether a tensor of bfloat16 is among the arguments: to a builtin its array is one of uint16,
    as NumPy has no other."""
    return any(isinstance(spec, TensorSpec) and spec.dtype is bfloat16 for spec in specs)


def has_lists(specs: Sequence[ArgumentSpec]) -> bool:
    """Whether a list of any length is among the arguments."""
    return any(isinstance(spec, ListSpec) for spec in specs)


def has_unknown_numbers(specs: Sequence[ArgumentSpec]) -> bool:
    """Whether there is a number that is no part of the specialisation."""
    return _has(ScalarSpec, specs)


def spec_text(specs: Sequence[ArgumentSpec]) -> str:
    """Specs as `stats` shows them."""

    def one(spec: ArgumentSpec) -> str:
        if isinstance(spec, TensorSpec):
            return "x".join(map(str, spec.shape)) + f":{spec.dtype.short}"
        if isinstance(spec, NumberSpec):
            return repr(spec.value)
        return type(spec).__name__.removesuffix("Spec").lower()

    return "(" + ", ".join(map(one, specs)) + ")"


def _admits(
    symbolic: Sequence[ArgumentSpec], specs: Sequence[ArgumentSpec], above_one: Sequence[str]
) -> bool:
    """Concrete specs fit symbolic ones: equal but for named sizes, which are consistent, not 0 (for
    which operators have rules of their own) and not 1 where the program minds."""
    sizes: dict[str, int] = {}
    for wanted, given in zip(symbolic, specs, strict=True):
        if not isinstance(wanted, TensorSpec) or not isinstance(given, TensorSpec):
            if wanted != given:
                return False
            continue
        same = (
            wanted.dtype is given.dtype
            and wanted.strides == given.strides
            and len(wanted.shape) == len(given.shape)
        )
        if not same:
            return False
        for name, size in zip(wanted.shape, given.shape, strict=True):
            if isinstance(name, int):
                if name != size:
                    return False
            elif not isinstance(size, int) or sizes.setdefault(name, size) != size:
                return False
    return all(size > (name in above_one) for name, size in sizes.items())
