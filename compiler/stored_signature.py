"""The signature of native code as the disk cache keeps it: JSON."""

from __future__ import annotations

from typing import Any

from tensorscript.backends.cpu.signature import ArraySpec, Calling, ScalarSpec, Signature, ValueSpec
from tensorscript.base.dtypes import BY_SHORT
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.expr_parse import parse
from tensorscript.dialects.te.expr_text import text


def _exprs_out(exprs: tuple[Expr, ...] | None) -> list[str] | None:
    return None if exprs is None else [text(e) for e in exprs]


def _exprs_in(raw: list[str] | None) -> tuple[Expr, ...] | None:
    return None if raw is None else tuple(map(parse, raw))


def _spec_out(spec: ValueSpec) -> list[Any]:
    if isinstance(spec, ScalarSpec):
        return [spec.name, spec.dtype.short]
    shape, strides = _exprs_out(spec.shape), _exprs_out(spec.strides)
    flags = [spec.updated, spec.listed, spec.grown]
    return [spec.name, spec.dtype.short, shape, strides, *flags]


def _spec_in(raw: list[Any]) -> ValueSpec:
    name, dtype = raw[0], BY_SHORT[raw[1]]
    if len(raw) == 2:
        return ScalarSpec(name, dtype)
    return ArraySpec(name, dtype, _exprs_in(raw[2]) or (), _exprs_in(raw[3]), *raw[4:])


def signature_out(signature: Signature) -> dict[str, Any]:
    """The JSON form."""
    calling = signature.calling
    return {
        "inputs": [_spec_out(s) for s in signature.inputs],
        "sizes": list(signature.sizes),
        "outputs": [_spec_out(s) for s in signature.outputs],
        "calling": [
            list(calling.constants),
            calling.optional,
            calling.gradients,
            list(calling.above_one),
        ],
    }


def signature_in(raw: Any) -> Signature:
    """Inverse of `signature_out`.

    Raises:
        KeyError, TypeError, ValueError: not such JSON.
    """
    constants, optional, gradients, above_one = raw["calling"]
    return Signature(
        tuple(map(_spec_in, raw["inputs"])),
        tuple(raw["sizes"]),
        tuple(map(_spec_in, raw["outputs"])),
        Calling(tuple(constants), optional, gradients, tuple(above_one)),
    )
