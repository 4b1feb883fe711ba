"""What results remember of operands: which memory they view, how often it was written to, and
whether they depend on something that requires a gradient.

Views share a counter with their base, which every in-place operator raises: programs compare
`x._version` before and after. No gradient is recorded; `requires_grad` is only carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from tensorscript.base.array_memory import owner
from tensorscript.base.errors import OperatorError
from tensorscript.base.schema import Schema

from .modes import MODES
from .storage import TensorBase

Kernel = Callable[..., Any]

_CUT = frozenset((
    "detach", "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
    "randint_like", "new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided",
    "multinomial", "set_data", "data", "linspace", "logspace",
))  # fmt: skip
"""Operators with floating-point results that do not depend on their operands' values."""
_CUT_FORMS = frozenset(("aten::view.dtype",))
"""The same of single overloads: other numbers in the same memory."""
_SEVERAL = {
    "aten::chunk": "Split", "aten::split.Tensor": "Split", "aten::unbind.int": "Unbind",
    "aten::split.sizes": "SplitWithSizes", "aten::split_with_sizes": "SplitWithSizes",
}  # fmt: skip
"""Operators that give several views at once, which are not written to, and the name they go by."""
_AS_ANOTHER = frozenset((
    "view_as", "expand_as", "reshape_as", "type_as", "to", "resize_as",
))  # fmt: skip
"""Operators that depend on their first operand only: others say a shape, a dtype or a device."""
_HIDDEN = frozenset((
    "_no_grad_fill_", "_no_grad_normal_", "_no_grad_uniform_",
    "_no_grad_zero_",
))  # fmt: skip
"""Operators whose writes no gradient is to see: PyTorch calls them with gradients off."""
_COMPOSED = frozenset((
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "meshgrid", "ravel",
))  # fmt: skip
"""Operators made of others, which give views where they can: their schemas do not say so."""
_UNCOUNTED = frozenset(("requires_grad_", "detach_", "set_data", "resize_", "resize_as_"))
"""Operators that write to no element of the tensor they are called to change."""


def shares(view: TensorBase, base: TensorBase) -> None:
    """`view` has been made to show memory of `base`."""
    if base._writes is None:
        base._writes = [0]
    view._writes = base._writes
    view._base = base if base._base is None else base._base
    if MODES.grad_enabled:
        view._view_mode = base._view_mode
    else:
        view._view_mode = "inference" if MODES.inference else "no_grad"


def written(target: TensorBase) -> None:
    """Memory of `target` has been written to."""
    if target._writes is None:
        target._writes = [1]
    else:
        target._writes[0] += 1


def depends(made: Any, operands: Sequence[Any]) -> None:
    """`made` is computed from `operands`: it requires a gradient if one of them does."""
    if MODES.grad_enabled and _any_requires(operands):
        for result in tensors_in(made):
            if result.dtype.is_floating_point or result.dtype.is_complex:
                result._requires_grad = result._computed = True


def _base_depends(target: TensorBase) -> None:
    """What was written to a view is in its base, too."""
    base = target._base
    if not MODES.grad_enabled:
        return
    if base is not None and target._requires_grad and not base._requires_grad:
        base._requires_grad = base._computed = True


def _any_requires(operands: Sequence[Any]) -> bool:
    for x in operands:
        if isinstance(x, TensorBase):
            if x.requires_grad:
                return True
        elif isinstance(x, (list, tuple)) and _any_requires(x):
            return True
    return False


def tensors_in(values: Any) -> Iterator[TensorBase]:
    """The tensors among values, in lists and tuples too."""
    if isinstance(values, TensorBase):
        yield values
    elif isinstance(values, (list, tuple)):
        for x in values:
            yield from tensors_in(x)


def check_leaf(target: TensorBase) -> None:
    """Raise if `target`, or what it views, is a leaf whose gradient the program asked for.

    Nor is a view written to where gradients are on that was made where they were off, or as one
    of several.
    """
    if not (MODES.grad_enabled and target.requires_grad):
        return
    base = target._base
    if base is not None:
        if target._view_mode is not None:
            raise OperatorError(_AMBIGUOUS.get(target._view_mode) or _one_of(target._view_mode))
        if not (base._requires_grad and base._computed):
            raise OperatorError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
    if not target._computed:
        raise OperatorError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )


def _ambiguous(made: str, written: str, block: str) -> str:
    return (
        f"A view was created in {made} mode and is being modified inplace {written}. Given that "
        "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
        f"moving both the view and the inplace either both inside the {block} block (if you don't "
        "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
    )


def _one_of(output: str) -> str:
    return (
        f"Output {output} is a view and is being modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be "
        "modified inplace. You should replace the inplace operation by an out-of-place one."
    )


_AMBIGUOUS = {
    "no_grad": _ambiguous("no_grad", "with grad mode enabled", "no_grad"),
    "inference": _ambiguous("inference", "in normal mode", "inference_mode"),
}


def _check_out(declared: Schema, bound: Sequence[Any]) -> None:
    """Raise if a gradient would have to go through an `out=`."""
    if MODES.grad_enabled and _any_requires(bound):
        raise OperatorError(
            f"{declared.base_name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )


def tracked(declared: Schema, run: Kernel) -> Kernel:
    """The kernel of an overload, with what its results remember."""
    if any(a.writes_tensors for a in declared.arguments):
        return _tracked_writes(declared, run)
    if declared.is_mutable:  # a list or a dict: what stands in it stays as it is
        return run
    if declared.base_name in _COMPOSED:
        return _viewing_any(run)
    viewed = _viewed(declared)
    carries = declared.full_name not in _CUT_FORMS and declared.base_name not in _CUT
    carries = carries and _gives_tensors(declared)
    several = _SEVERAL.get(declared.full_name)
    count = 1 if declared.base_name in _AS_ANOTHER else len(declared.arguments)
    if viewed is None:
        return _carrying(run, count) if carries else run

    def with_views(*bound: Any) -> Any:
        made = run(*bound)
        base = bound[viewed]
        for at, view in enumerate(tensors_in(made)):
            if view is not base and same_memory(view, base):
                shares(view, base)
                if several is not None and view._view_mode is None:
                    view._view_mode = f"{at} of {several}"
                if not carries:
                    view._base = view._view_mode = None
        if carries and made is not base:
            depends(made, bound[:count])
        return made

    return with_views


def _viewing_any(run: Kernel) -> Kernel:
    """A kernel whose results may be views of any of its tensors."""

    def viewing(*bound: Any) -> Any:
        made = run(*bound)
        operands = list(tensors_in(bound))
        for view in tensors_in(made):
            if any(view is x for x in operands):
                continue
            if (base := next((x for x in operands if same_memory(view, x)), None)) is not None:
                shares(view, base)
            depends(view, bound)
        return made

    return viewing


def _carrying(run: Kernel, count: int) -> Kernel:
    """A kernel whose results carry the flag of the first `count` arguments."""

    def carrying(*bound: Any) -> Any:
        made = run(*bound)
        operands = bound[:count]
        if MODES.grad_enabled and _any_requires(operands) and not any(made is x for x in operands):
            depends(made, operands)
        return made

    return carrying


def _tracked_writes(declared: Schema, run: Kernel) -> Kernel:
    places = [k for k, a in enumerate(declared.arguments) if a.writes_tensors]
    counts = declared.base_name not in _UNCOUNTED
    checks = counts and declared.base_name not in _HIDDEN

    def with_writes(*bound: Any) -> Any:
        targets = [t for k in places for t in tensors_in(bound[k])]
        if declared.is_out:
            _check_out(declared, bound)
        if checks:
            for target in targets:
                check_leaf(target)
        made = run(*bound)
        if counts:
            for target in targets:
                written(target)
                if checks:
                    depends(target, bound)
                    _base_depends(target)
        return made

    return with_writes


def same_memory(view: TensorBase, base: Any) -> bool:
    """Whether `view` shows memory of `base`."""
    if not isinstance(base, TensorBase):
        return False
    if view._array is base._array:
        return True
    if view._array.base is None and base._array.base is None:
        return False
    if view._array.size == 0:
        return owner(view._array) is owner(base._array)
    return np.may_share_memory(view._array, base._array)


@cache
def _viewed(declared: Schema) -> int | None:
    """Which argument results may be views of."""
    if not any(r.alias for r in declared.returns):
        return None
    return next(
        (k for k, a in enumerate(declared.arguments) if a.alias and a.type.kind == "Tensor"), None
    )


def gives_views(declared: Schema) -> bool:
    """Whether results may be views of arguments."""
    return declared.base_name in _COMPOSED or _viewed(declared) is not None


def _gives_tensors(declared: Schema) -> bool:
    return any("Tensor" in str(r.type) for r in declared.returns)
