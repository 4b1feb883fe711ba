"""Ahead-of-time export: an object or library that needs neither Python nor any tensor library."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xdsl.dialects.builtin import StringAttr

from tensorscript.backends import target as targets
from tensorscript.backends.cpu.c_entry import c_entries
from tensorscript.backends.cpu.c_names import check_function_name, with_c_names
from tensorscript.backends.cpu.header import header_text
from tensorscript.backends.cpu.host_signature import signature_of
from tensorscript.backends.cpu.kept_state import KeptState
from tensorscript.backends.cpu.object import build_object, link_library, write_archive
from tensorscript.backends.cpu.runtime import runtime_text
from tensorscript.backends.cpu.signature import Signature, with_scalar_outputs
from tensorscript.backends.cpu.weights import Beside, Placed, fill, inside_text
from tensorscript.backends.llvm.emit import emit_module
from tensorscript.backends.llvm.emit_context import EmitOptions
from tensorscript.backends.llvm.weights import Block
from tensorscript.base.errors import NotCompilable, UserError
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


def c_name(name: str) -> str:
    """`name` as a C identifier."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    return cleaned if re.match(r"[A-Za-z_]", cleaned) else f"f_{cleaned}"


def _refuse_effects(lowered: Lowered, name: str) -> None:
    own = lowered.plan
    if own.mutated_inputs:
        path = own.mutated_inputs[0][0]
        raise NotCompilable(f"cannot export {name}: it changes its argument {path!r} in place")
    if own.random is not None:
        raise NotCompilable(
            f"cannot export {name}: it draws random numbers from this process's generator"
        )


_DECLARATIONS = (
    "declare ptr @ts_error_message()",
    "declare void @ts_set_num_threads(i32)",
    "declare void @ts_set_error(i32, ptr)",
    "declare void @ts_clear_error()",
    "declare void @ts_free(ptr)",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)


def _tail(name: str, signature: Signature) -> str:
    """The error and thread functions of an exported program, and what frees grown results."""
    free = f"""
define void @{name}_free(ptr %data) {{
  call void @ts_free(ptr %data)
  ret void
}}
"""
    return (
        (free if signature.has_grown else "")
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


LEAST_BYTES = 4096
"""Smaller weights are written into the text, where LLVM may fold what it reads of them."""


@dataclass(frozen=True)
class Exported:
    """What an object is made of.

    Attributes:
        text: LLVM text of a self-contained object.
        signature: of its functions, without what `state` holds.
        weights: offsets and data of what the text leaves room for.
        beside: the file of the weights, if they are not to lie in the object.
        state: what the program keeps between its calls.
        result: how the outputs make up the program's result, in words.
    """

    text: str
    signature: Signature
    weights: Placed
    beside: Beside | None
    state: KeptState | None
    result: str


def exported(lowered: Lowered, function: Exportable, name: str, has_file: bool = False) -> Exported:
    """The object of a lowered program.

    Args:
        name: of the C function.
        has_file: weights lie in a file of their own.
    """
    options = function.options
    target = targets.parse(options.target, options.cpu)
    entry = host_function(lowered.module)
    plan = lowered.plan
    signature = with_c_names(with_scalar_outputs(signature_of(entry), plan.output.scalar_leaves))
    result = result_words(plan.output, signature)
    state: KeptState | None = None
    if plan.state_inputs and function.receiver is not None:
        state = kept_state(plan, signature, function.receiver, name)
    data = list(constants(lowered.module))
    block = Block.of(data, f"{name}.weights", 1 if has_file else LEAST_BYTES)
    weights = block.arrays(data)
    if has_file and not weights:
        raise UserError(f"{name} has no weights for a file of their own")
    beside = Beside.of(block, weights, target) if has_file else None
    emit = EmitOptions(strict=options.strict, block=block)
    inner = f"{name}_{ENTRY}"
    entry.properties["sym_name"] = StringAttr(f"{name}.program")
    if name in {f.sym_name.data for f in functions(lowered.module)}:
        raise UserError(f"the C name {name!r} is taken by a kernel; give another name")
    body = emit_module(lowered.module, target, {entry.sym_name.data: inner}, emit)
    body = body.replace(f"define i32 @{inner}(", f"define internal i32 @{inner}(")
    check_function_name(name, body, runtime_text(target))
    outside = c_entries(name, inner, signature, beside is not None, state)
    outside += _tail(name, signature)
    if weights:
        outside += inside_text(block) if beside is None else beside.text(name)
    missing = [d for d in _DECLARATIONS if d not in body and f"{_callee(d)}(" in outside]
    if state is not None:
        signature = signature.without(len(state.slots), state.hidden)
    text = "\n".join([body, *missing, outside])
    return Exported(text, signature, weights, beside, state, result)


def _callee(declaration: str) -> str:
    return declaration[declaration.index("@") : declaration.index("(")]


def _specs(function: Exportable) -> Sequence[ArgumentSpec]:
    if (specs := function.latest_specs) is None:
        raise UserError(
            f"{function.__name__} is not specialised yet: give example_inputs to compile(), or "
            "call it once"
        )
    return specs


def export_object(
    function: Exportable,
    path: str | Path,
    header: str | Path | None = None,
    name: str | None = None,
    weights: str | Path | None = None,
) -> Signature:
    """Write the latest specialisation as a relocatable object.

    Args:
        path: the `.o` file.
        header: a C header to write beside it.
        name: the C function's name; the Python function's by default.
        weights: a file for the weights, which the program then maps (`NAME_load_weights`);
            without it they are constants of the object.

    Returns:
        The signature of the exported function, without what the program keeps between its calls
        (the argument `self`: `NAME_state`, see the header).

    Raises:
        NotCompilable: the program has no native form, changes its arguments, draws random numbers,
            or gives an attribute a value of another kind or size.
        UserError: nothing was specialised yet, there are no weights for a file, or `name` is none
            of a C function.
    """
    symbol = c_name(function.__name__) if name is None else name
    if c_name(symbol) != symbol:
        raise UserError(f"{name!r} is no name of a C function: letters, digits and underscores")
    specs = _specs(function)
    lowered = function.lower(specs, alone=True)
    _refuse_effects(lowered, symbol)
    made = exported(lowered, function, symbol, weights is not None)
    target = targets.parse(function.options.target, function.options.cpu)
    if weights is not None and made.beside is not None:
        made.beside.write(Path(weights), made.weights)
    data = build_object(made.text, target)
    inside = bool(made.weights) and made.beside is None
    Path(path).write_bytes(fill(data, made.weights) if inside else data)
    if header is not None:
        has_file = made.beside is not None
        fixed = fixed_words(function.names, specs) if specs else []  # a dumped stage says none
        text = header_text(symbol, made.signature, has_file, made.state, fixed, made.result)
        Path(header).write_text(text)
    return made.signature


def export_library(
    function: Exportable,
    path: str | Path,
    header: str | Path | None = None,
    name: str | None = None,
    weights: str | Path | None = None,
) -> Signature:
    """Write a shared library (`.so`) or archive (`.a`); needs `cc` or `ar`. Arguments are those of
    `export_object`.

    Raises:
        UserError: no C compiler or archiver, or it fails.
    """
    path = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "module.o"
        signature = export_object(function, made, header, name, weights)
        if path.suffix == ".a":
            write_archive(made, path)
        else:
            link_library(made, path)
    return signature
