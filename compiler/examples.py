"""Example inputs: what a function is compiled for before it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorscript.base.dtypes import bool_, float64, int64
from tensorscript.lowering.ts_to_tg.specs import ArgumentSpec, ScalarSpec
from tensorscript.lowering.ts_to_tg.specs import TensorSpec as LoweredTensorSpec

from . import specs
from .arguments import fill_defaults
from .function import CompiledFunction

_SCALARS = {"int": int64, "float": float64, "bool": bool_}


def _argument(function: CompiledFunction, at: int, spec: Any) -> ArgumentSpec:
    if isinstance(spec, specs.TensorSpec):
        return LoweredTensorSpec(spec.dtype, spec.shape, spec.strides)
    if isinstance(spec, specs.ScalarSpec):
        return ScalarSpec(_SCALARS[spec.kind])
    return function.spec_of(at, spec)


def argument_specs(function: CompiledFunction, examples: Sequence[Any]) -> list[ArgumentSpec]:
    """Specs of example inputs (arrays, numbers, TensorSpec, ScalarSpec), defaults filled in.

    Raises:
        GuardError: too many or missing inputs.
    """
    program = function.program
    values = fill_defaults(program.names, program.defaults, examples, {}, function.declaration)
    return [_argument(function, at, v) for at, v in enumerate(values)]


def prepare(function: CompiledFunction, examples: list[Any]) -> None:
    """Compile for example inputs; a number given as a spec stays unknown."""
    flexible = not any(isinstance(v, specs.ScalarSpec) for v in examples)
    wanted = argument_specs(function, examples)
    while function.specialise(wanted, flexible) is None:
        again = argument_specs(function, examples)
        if again == wanted:
            return
        wanted = again
