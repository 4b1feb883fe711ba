"""What of a specialisation is needed to call it, as the disk cache keeps it.

A hit of the cache needs neither the pipeline nor LLVM: the object bytes come with a plan (how
arguments and results meet the native inputs and outputs) as JSON.
"""

from __future__ import annotations

from typing import Any

from tensorscript.dialects.ts.constants import text_of, value_of
from tensorscript.lowering.ts_to_tg.plan import CallPlan, Said, Saying
from tensorscript.lowering.ts_to_tg.specs import OutputTree

from .native import Kernel, NativeCode
from .stored_signature import signature_in, signature_out


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


def _said_out(said: Said | None) -> dict[str, Any] | None:
    if said is None:
        return None
    sayings = [
        {
            "parts": [_tree_out(part) for part in one.parts],
            "rows": None if one.rows is None else _tree_out(one.rows),
            "warning": one.warning,
            "place": one.place,
        }
        for one in said.sayings
    ]
    return {"order": said.order, "sayings": sayings}


def _said_in(raw: dict[str, Any] | None) -> Said | None:
    if raw is None:
        return None
    sayings = [
        Saying(
            tuple(map(_tree_in, one["parts"])),
            None if one["rows"] is None else _tree_in(one["rows"]),
            one["warning"],
            None if one["place"] is None else (one["place"][0], one["place"][1]),
        )
        for one in raw["sayings"]
    ]
    return Said(raw["order"], tuple(sayings))


def to_metadata(code: NativeCode, plan: CallPlan) -> dict[str, Any]:
    """The JSON form of everything but the object bytes."""
    return {
        **signature_out(code.signature),
        "kernels": [[k.name, k.category, list(k.results)] for k in code.kernels],
        "plan": {
            "inputs": list(plan.inputs),
            "output": _tree_out(plan.output),
            "mutated_inputs": [list(m) for m in plan.mutated_inputs],
            "aliases": [list(a) for a in plan.aliases],
            "sizes": list(plan.sizes),
            "above_one": list(plan.above_one),
            "said": _said_out(plan.said),
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
    kernels = tuple(Kernel(name, family, tuple(made)) for name, family, made in raw["kernels"])
    own = raw["plan"]
    plan = CallPlan(
        tuple(own["inputs"]),
        _tree_in(own["output"]),
        tuple((path, leaf) for path, leaf in own["mutated_inputs"]),
        aliases=tuple((leaf, path) for leaf, path in own["aliases"]),
        sizes=tuple(own["sizes"]),
        above_one=tuple(own["above_one"]),
        said=_said_in(own["said"]),
    )
    return NativeCode(data, signature_in(raw), kernels, weights), plan
