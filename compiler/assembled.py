"""Results put together from the leaves that a builtin gives, by code written for their shape.

```
(sorted values, places) of a named tuple  -->  lambda leaves: sort(leaves[0], leaves[1])
```
A call of the general `rebuild` takes longer than a small kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorscript.base.dtypes import DType
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts_to_tg.specs import OutputTree
from tensorscript.runtime.values import named_tuple


def is_plain(value: object) -> bool:
    """Whether a value is a number, a string or None, which calls take and give as they are."""
    return value is None or type(value) in (bool, int, float, str)


def is_assembled(output: OutputTree) -> bool:
    """Whether a result is tensors, numbers and strings in tuples, lists, dicts of known keys."""
    if output.kind in ("tensor", "scalar"):
        return True
    if output.kind == "constant":
        return is_plain(output.value)
    own = output.kind in ("tuple", "list") or (output.kind == "dict" and bool(output.keys))
    return own and all(map(is_assembled, output.children))


def assembler(output: OutputTree, dtypes: Sequence[DType | None]) -> Callable[[Any], Any]:
    """What makes a call's result of a builtin's.

    Args:
        dtypes: of each leaf that becomes an eager tensor; None for an array or number as it is.
    """
    names: dict[str, Any] = {"Tensor": Tensor}

    def named(value: object) -> str:
        names[name := f"v{len(names)}"] = value
        return name

    def written(tree: OutputTree) -> str:
        if tree.kind in ("tensor", "scalar"):
            leaf = "leaves" if len(dtypes) == 1 else f"leaves[{tree.leaf}]"
            dtype = dtypes[tree.leaf]
            return leaf if dtype is None else f"Tensor({leaf}, {named(dtype)})"
        if tree.kind == "constant":
            return named(tree.value)
        parts = [f"{written(child)}, " for child in tree.children]
        if tree.kind == "list":
            return f"[{''.join(parts)}]"
        if tree.kind == "dict":
            pairs = zip(map(named, tree.keys), parts, strict=True)
            return f"{{{''.join(f'{key}: {part}' for key, part in pairs)}}}"
        is_named = tree.fields and tree.class_name
        maker = named(named_tuple(tree.class_name, tree.fields)) if is_named else ""
        return f"{maker}({''.join(parts)})"

    made: Callable[[Any], Any] = eval(f"lambda leaves: {written(output)}", names)
    return made
