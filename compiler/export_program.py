"""The LLVM text of an exported object: one function, or several methods of one module that share
weights and state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from xdsl.dialects.builtin import StringAttr

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.c_entry import c_entries
from tensorscript.backends.cpu.c_names import check_function_name, with_c_names
from tensorscript.backends.cpu.header import Declared
from tensorscript.backends.cpu.host_signature import signature_of
from tensorscript.backends.cpu.kept_state import Keeping, KeptState
from tensorscript.backends.cpu.runtime import runtime_text
from tensorscript.backends.cpu.signature import Signature, with_scalar_outputs
from tensorscript.backends.cpu.weights import Beside, Placed, inside_text
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.llvm.weights import Block
from tensorscript.base.errors import NotCompilable, UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.ops import constants, functions
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec
from tensorscript.runtime.values import ScriptObject

from .export_state import kept_state
from .export_words import fixed_words, result_words
from .lowered import Lowered
from .native import ENTRY
from .native_module import host_function
from .options import CompileOptions


class Exportable(Protocol):
    """What export needs of a compiled function."""

    __name__: str

    @property
    def options(self) -> CompileOptions: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def receiver(self) -> ScriptObject | None: ...

    @property
    def latest_specs(self) -> tuple[ArgumentSpec, ...] | None: ...

    def lower(
        self, specs: Sequence[ArgumentSpec], keep: bool = False, alone: bool = False
    ) -> Lowered: ...

    def handed(self, paths: Sequence[str]) -> Exportable: ...


_DECLARATIONS = (
    "declare ptr @ts_error_message()",
    "declare void @ts_set_num_threads(i32)",
    "declare void @ts_set_error(i32, ptr)",
    "declare void @ts_clear_error()",
    "declare void @ts_scratch_free(ptr)",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)

LEAST_BYTES = 4096
"""Smaller weights are written into the text, where LLVM may fold what it reads of them."""


@dataclass(frozen=True)
class Exported:
    """What an object is made of.

    Attributes:
        texts: LLVM modules that make a self-contained object together.
        functions: what the header declares, in the order in which they were given.
        weights: offsets and data of what the texts leave room for.
        beside: the file of the weights, if they are not to lie in the object.
        state: what the functions keep between their calls.
    """

    texts: tuple[str, ...]
    functions: tuple[Declared, ...]
    weights: Placed
    beside: Beside | None
    state: KeptState | None


@dataclass(frozen=True)
class _Part:
    """A function of the object, lowered.

    Attributes:
        name: its C name.
        signature: with what the state holds.
    """

    name: str
    function: Exportable
    lowered: Lowered
    signature: Signature

    @classmethod
    def of(cls, name: str, function: Exportable, lowered: Lowered) -> _Part:
        signature = signature_of(host_function(lowered.module))
        scalars = lowered.plan.output.scalar_leaves
        return cls(name, function, lowered, with_c_names(with_scalar_outputs(signature, scalars)))

    def keeping(self) -> Keeping:
        """What it keeps; nothing for a function or a module that changes nothing."""
        receiver = self.function.receiver
        if not self.lowered.plan.state_inputs or receiver is None:
            return Keeping((), frozenset())
        return kept_state(self.lowered.plan, self.signature, receiver, self.name)

    def declared(self, state: KeptState | None) -> Declared:
        """What the header says of it."""
        specs = specs_of(self.function)
        fixed = fixed_words(self.function.names, specs) if specs else []  # a stage says none
        result = result_words(self.lowered.plan.output, self.signature)
        if state is None:
            return Declared(self.name, self.signature, fixed, result)
        shown = self.signature.without(len(state.slots), state.hidden)
        return Declared(self.name, shown, fixed, result, keeps=True)


def specs_of(function: Exportable) -> Sequence[ArgumentSpec]:
    """The arguments that a function was made for last.

    Raises:
        UserError: none.
    """
    if (specs := function.latest_specs) is None:
        raise UserError(
            f"{function.__name__} is not specialised yet: give example_inputs to compile(), or "
            "call it once"
        )
    return specs


def exported(name: str, members: Mapping[str, Exportable], has_file: bool = False) -> Exported:
    """The object `name` of functions by their C names; several are methods of one module.

    Args:
        has_file: weights lie in a file of their own.

    Raises:
        NotCompilable, UserError: as `export_object`.
    """
    parts = _lowered(members)
    options = next(iter(members.values())).options
    target = targets.parse(options.target, options.cpu)
    data = [list(constants(part.lowered.module)) for part in parts]
    blocks = Block.of(data, f"{name}.weights", 1 if has_file else LEAST_BYTES)
    placed = [p for block, own in zip(blocks, data, strict=True) for p in block.arrays(own)]
    weights = sorted(dict(placed).items())
    if has_file and not weights:
        raise UserError(f"{name} has no weights for a file of their own")
    beside = Beside.of(blocks[0], weights, target) if has_file else None
    keepings = [part.keeping() for part in parts]
    whole, own_states = KeptState.of(name, keepings)
    states = [state if state.slots else None for state in own_states]
    texts: list[str] = []
    for part, block, state in zip(parts, blocks, states, strict=True):
        emit = EmitOptions(strict=options.strict, block=block)
        inner = f"{part.name}_{ENTRY}"
        module, entry = part.lowered.module, host_function(part.lowered.module)
        entry.properties["sym_name"] = StringAttr(f"{part.name}.program")
        if part.name in {f.sym_name.data for f in functions(module)}:
            raise UserError(f"the C name {part.name!r} is taken by a kernel; give another name")
        body = emit_module(module, target, {entry.sym_name.data: inner}, emit)
        body = body.replace(f"define i32 @{inner}(", f"define internal i32 @{inner}(")
        check_function_name(part.name, body, runtime_text(target))
        loads = name if beside is not None else ""
        outside = c_entries(part.name, inner, part.signature, loads, state)
        if texts:  # what the functions share is in the first module
            outside += block.declarations
            outside += beside.loaded_text(name) if beside is not None else ""
        else:
            outside += _common(name, parts) + (whole.text() if whole.slots else "")
            if weights:
                outside += inside_text(block) if beside is None else beside.text(name)
        missing = [d for d in _DECLARATIONS if d not in body and f"{_callee(d)}(" in outside]
        texts.append("\n".join([body, *missing, outside]))
    declared = [part.declared(state) for part, state in zip(parts, states, strict=True)]
    _check_names(name, declared, beside is not None, bool(whole.slots))
    kept = whole if whole.slots else None
    return Exported(tuple(texts), tuple(declared), weights, beside, kept)


def _lowered(members: Mapping[str, Exportable]) -> list[_Part]:
    """All functions, handed what any of them changes of their module."""
    changed: tuple[str, ...] = ()
    while True:
        parts = []
        for name, member in members.items():
            function = member.handed(changed) if changed else member
            lowered = function.lower(specs_of(function), alone=True)
            _refuse_effects(lowered, name)
            parts.append(_Part.of(name, function, lowered))
        found = (path for part in parts for path in part.lowered.plan.state_inputs)
        now = tuple(dict.fromkeys((*changed, *found)))
        if now == changed or len(parts) == 1:
            return parts
        changed = now


def _refuse_effects(lowered: Lowered, name: str) -> None:
    own = lowered.plan
    if own.mutated_inputs:
        path = own.mutated_inputs[0][0]
        raise NotCompilable(f"cannot export {name}: it changes its argument {path!r} in place")
    if own.random is not None:
        raise NotCompilable(
            f"cannot export {name}: it draws random numbers from this process's generator"
        )


def _common(name: str, parts: Sequence[_Part]) -> str:
    """The error and thread functions of an object, and what frees grown results."""
    free = f"""
define void @{name}_free(ptr %data) {{
  call void @ts_scratch_free(ptr %data)
  ret void
}}
"""
    return (
        (free if any(part.signature.has_grown for part in parts) else "")
        + f"""
define ptr @{name}_error() {{
  %message = call ptr @ts_error_message()
  ret ptr %message
}}
define void @{name}_set_num_threads(i64 %count) {{
  %narrow = trunc i64 %count to i32
  call void @ts_set_num_threads(i32 %narrow)
  ret void
}}
"""
    )


def _callee(declaration: str) -> str:
    return declaration[declaration.index("@") : declaration.index("(")]


def _check_names(name: str, functions: Sequence[Declared], has_file: bool, has_state: bool) -> None:
    """Refuse a method whose C name the object needs for something else."""
    own = [f"{name}_{word}" for word in ("error", "set_num_threads")]
    if any(f.signature.has_grown for f in functions):
        own.append(f"{name}_free")
    if has_file:
        own.append(f"{name}_load_weights")
    if has_state:
        own += [f"{name}_state", f"{name}_init_state"]
    for function in functions:
        mine = [function.name, *([f"{function.name}_raw"] if function.signature.is_static else [])]
        if taken := next((word for word in mine if word in own), None):
            raise UserError(
                f"cannot export {function.name}: the object has another function {taken}; "
                "export it by itself, with another name"
            )
        own += mine
