"""`tensorscript.compile`: anything that holds a tensor program, as a native callable.

What the disk cache holds of a plain function is started from there, without scripting it
(`started.py`); everything else is imported when it is needed (`late_api.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from . import late_api, started
from .options import BUDGET, CompileOptions, Fallback, options_from_environment

if TYPE_CHECKING:  # what a hit of the disk cache does not need
    from .function import CompiledFunction


@overload
def compile(
    program: Callable[..., Any] | str | Path,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: str = ...,
    cpu: str = ...,
    fallback: Fallback = ...,
    strict: bool = ...,
    winograd: int = ...,
    cache: bool = ...,
    schedule: object = ...,
    autotune: bool | float = ...,
    options: CompileOptions | None = ...,
) -> CompiledFunction: ...


@overload
def compile(
    program: None = None,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: str = ...,
    cpu: str = ...,
    fallback: Fallback = ...,
    strict: bool = ...,
    winograd: int = ...,
    cache: bool = ...,
    schedule: object = ...,
    autotune: bool | float = ...,
    options: CompileOptions | None = ...,
) -> Callable[[Callable[..., Any]], CompiledFunction]: ...


def compile(  # the name users know from torch.compile
    program: Callable[..., Any] | str | Path | None = None,
    example_inputs: Sequence[Any] | None = None,
    *,
    target: str = "cpu",
    cpu: str = "",
    fallback: Fallback = "interpret",
    strict: bool = False,
    winograd: int = 0,
    cache: bool = True,
    schedule: object = None,
    autotune: bool | float = False,
    options: CompileOptions | None = None,
) -> CompiledFunction | Callable[[Callable[..., Any]], CompiledFunction]:
    """Compile a function, a scripted function or module, or a `.pt` archive.

    Attributes of a module are constants of the compilation, as after freezing; tensors that the
    program itself writes are state and stay shared with the module, as does what a scripted module
    assigns to its attributes (of a Python module that is a copy, as in scripting). Batch norms are
    folded into the convolutions and linear layers before them, unless `strict`.

    Args:
        program: what to compile; what PyTorch scripted or traced is copied with its weights.
            Without it the result decorates: `@ts.compile(fallback="error")`.
        example_inputs: arrays, numbers or specs to compile for at once; without them the first
            call of each kind compiles.
        cpu: the CPU to make code for (LLVM's name, e.g. `x86-64-v3`); this machine's by default.
        target: `cpu`, `cuda[:sm_90]` or `ptx-emulate`. Tensors of a GPU stay there with any.
        fallback: "interpret" runs what has no native form in the graph interpreter and counts it
            in `stats`; "error" refuses it.
        strict: no contraction or reassociation of floating-point arithmetic, nothing folded.
        winograd: compute convolutions of 3x3 by Winograd's algorithm where that is faster, with
            tiles of this side at most: 2, or 4 for larger gains and errors; 0 for none.
        cache: keep object code on disk.
        schedule: steps for kernels instead of those that the compiler would choose: what
            `ts.schedule` gives, its file, or steps by kernel.
        autotune: try other schedules for the example inputs, for ten seconds or as many as given,
            and keep what is faster, on disk too; `stats.tuned` says what was found.
        options: all options at once, instead of the ones above.

    Returns:
        A callable: NumPy arrays in, NumPy arrays out; our or PyTorch's tensors likewise.
        Threads may call it at once; one of them compiles.

    Raises:
        FrontendError, CompileError: the program is outside TorchScript's language.
        NotCompilable: no native form, with `fallback="error"`.
        UserError: the program cannot be tuned, or no such option; the message says why.
        ScheduleError: an illegal step of `schedule`; the message names it, the loop and the reason.
    """
    if program is None:
        return partial(
            compile,
            example_inputs=example_inputs,
            target=target,
            cpu=cpu,
            fallback=fallback,
            strict=strict,
            winograd=winograd,
            cache=cache,
            schedule=schedule,
            autotune=autotune,
            options=options,
        )
    chosen = options or CompileOptions(
        target=target, cpu=cpu, strict=strict, fallback=fallback, cache=cache, winograd=winograd
    )
    if schedule is not None:
        chosen = replace(chosen, schedules=late_api.chosen_schedules(schedule))
    options_here = options_from_environment(chosen)
    if autotune:
        budget = BUDGET if autotune is True else float(autotune)
        return late_api.compiled(program, example_inputs, options_here, budget)
    if example_inputs is None and (known := started.start(program, options_here)) is not None:
        return known
    return late_api.compiled(program, example_inputs, options_here)
