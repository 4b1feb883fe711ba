"""Which memory an exported program keeps its changing attributes in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorscript.backends.cpu.kept_state import Keeping, Slot
from tensorscript.backends.cpu.signature import ArraySpec, Signature
from tensorscript.base.errors import NotCompilable
from tensorscript.lowering.ts_to_tg.paths import below, is_state, of_receiver
from tensorscript.lowering.ts_to_tg.plan import CallPlan
from tensorscript.lowering.ts_to_tg.specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    NumberSpec,
    ObjectSpec,
    OutputTree,
    ScalarSpec,
    SequenceSpec,
    TensorSpec,
)
from tensorscript.runtime.values import ScriptObject

from .state import bind_state


def kept_state(plan: CallPlan, signature: Signature, receiver: ScriptObject, name: str) -> Keeping:
    """The state of a program that changes attributes of `receiver`, or reads such.

    Args:
        signature: of its entry.
        name: of its C function.

    Raises:
        NotCompilable: an attribute gets a value of another kind or size: a second call would need
            other code.
    """
    paths = [of_receiver(path) for path in plan.inputs if is_state(path)]
    new_values: dict[str, int | bytes] = dict(plan.state_updates)
    specs = dict(zip(plan.state_inputs, plan.state_specs, strict=True))
    for path, tree in plan.state_assigned:
        if path not in specs:
            raise _refusal(name, path, "stops sharing memory with another one")
        new_values |= _matched(path, specs[path], tree, name)
    leaves = bind_state(receiver, plan).leaves
    slots = []
    given = signature.inputs[len(signature.inputs) - len(paths) :]
    for path, spec, leaf in zip(paths, given, leaves, strict=True):
        result = new_values.get(path)
        if isinstance(spec, ArraySpec):
            if spec.listed or spec.strides is not None:
                raise _refusal(name, path, "is a list of numbers, or no contiguous tensor")
            new = signature.outputs[result] if isinstance(result, int) else None
            if isinstance(new, ArraySpec) and (new.dtype, new.shape) != (spec.dtype, spec.shape):
                raise _refusal(name, path, "gets another dtype or size")
        slots.append(Slot(path, spec, np.ascontiguousarray(leaf).tobytes(), result))
    return Keeping(tuple(slots), frozenset(_leaves(plan.output)))


def _refusal(name: str, path: str, what: str) -> NotCompilable:
    return NotCompilable(f"cannot export {name}: the attribute {path!r} {what}")


def _matched(path: str, spec: ArgumentSpec, tree: OutputTree, name: str) -> dict[str, int | bytes]:
    """By path, which leaf is the new value of each part of an attribute; a known number itself."""
    match spec, tree.kind:
        case TensorSpec(), "tensor":
            return {path: tree.leaf}
        case ScalarSpec(), "scalar":
            return {path: tree.leaf}
        case ScalarSpec(dtype), "constant" if isinstance(tree.value, bool | int | float):
            return {path: np.array(tree.value, dtype.numpy).tobytes()}
        case ConstantSpec(value) | NumberSpec(value), "constant" if _same(value, tree.value):
            return {}
        case SequenceSpec(elements), "tuple" | "list" if len(elements) == len(tree.children):
            children = [(str(k), e) for k, e in enumerate(elements)]
        case DictSpec(items) | ObjectSpec(_, items), "dict" | "object" if (
            tuple(k for k, _ in items) == tree.keys
        ):
            children = [(str(k), e) for k, e in items]
        case _:
            raise _refusal(name, path, "gets a value of another kind or size")
    out: dict[str, int | bytes] = {}
    for (part, inner), child in zip(children, tree.children, strict=True):
        out |= _matched(below(path, part), inner, child, name)
    return out


def _same(value: object, new: object) -> bool:
    return type(value) is type(new) and value == new


def _leaves(tree: OutputTree) -> Iterator[int]:
    if tree.leaf >= 0:
        yield tree.leaf
    for child in tree.children:
        yield from _leaves(child)
