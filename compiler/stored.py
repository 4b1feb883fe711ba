"""What of a specialisation is needed to call it, as the disk cache keeps it.

A hit of the cache needs neither the pipeline nor LLVM: the object bytes come with a plan (how
arguments and results meet the native inputs and outputs) as JSON.
"""

from __future__ import annotations

from typing import Any

from tensorscript.backends.cpu.signature import ArraySpec, ScalarSpec, Signature, ValueSpec
from tensorscript.base.dtypes import BY_SHORT
from tensorscript.dialects.te.expr import Expr, parse, text
from tensorscript.dialects.ts.constants import text_of, value_of
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import OutputTree

from .native import Kernel, NativeCode


def _tree_out(tree: OutputTree) -> dict[str, Any]:
    return {
        "kind": tree.kind,
        "leaf": tree.leaf,
        "children": [_tree_out(c) for c in tree.children],
        "keys": [text_of(k) for k in tree.keys],
        "value": text_of(tree.value),
        "fields": list(tree.fields),
        "class_name": tree.class_name,
    }


def _tree_in(raw: dict[str, Any]) -> OutputTree:
    return OutputTree(
        raw["kind"],
        raw["leaf"],
        tuple(map(_tree_in, raw["children"])),
        tuple(map(value_of, raw["keys"])),
        value_of(raw["value"]),
        tuple(raw["fields"]),
        raw["class_name"],
    )


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


def to_metadata(code: NativeCode, plan: CallPlan) -> dict[str, Any]:
    """The JSON form of everything but the object bytes."""
    signature = code.signature
    return {
        "inputs": [_spec_out(s) for s in signature.inputs],
        "sizes": list(signature.sizes),
        "outputs": [_spec_out(s) for s in signature.outputs],
        "kernels": [[k.name, k.category] for k in code.kernels],
        "plan": {
            "inputs": list(plan.inputs),
            "output": _tree_out(plan.output),
            "mutated_inputs": [list(m) for m in plan.mutated_inputs],
            "aliases": [list(a) for a in plan.aliases],
            "sizes": list(plan.sizes),
        },
    }


def from_metadata(
    data: bytes, raw: Any, weights: tuple[str, ...] = ()
) -> tuple[NativeCode, CallPlan]:
    """Inverse of `to_metadata`.

    Args:
        weights: symbols of constants.

    Raises:
        KeyError, TypeError, ValueError: not such metadata.
    """
    signature = Signature(
        tuple(map(_spec_in, raw["inputs"])),
        tuple(raw["sizes"]),
        tuple(map(_spec_in, raw["outputs"])),
    )
    kernels = tuple(Kernel(name, category) for name, category in raw["kernels"])
    own = raw["plan"]
    plan = CallPlan(
        tuple(own["inputs"]),
        _tree_in(own["output"]),
        tuple((path, leaf) for path, leaf in own["mutated_inputs"]),
        aliases=tuple((leaf, path) for leaf, path in own["aliases"]),
        sizes=tuple(own["sizes"]),
    )
    return NativeCode(data, signature, kernels, weights), plan
