"""Calls that a builtin answers over arrays, and a few lines of Python around it.

Of arrays the results are put together here. Of eager tensors the builtin's guard looks at the
arrays; what an array does not tell of its tensor is looked at here: the dtype, and that the
elements are those of the array. Results become tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

from tensorscript.backends.cpu.signature import ArraySpec
from tensorscript.eager.modes import MODES
from tensorscript.eager.tensor import Tensor
from tensorscript.lowering.ts_to_tg.specs import TensorSpec

from .assembled import assembler
from .native import Loaded
from .specialisations import Specialisation

MISSED = object()
"""What the builtin gives for arguments that its guard refuses."""


def array_call(found: Specialisation) -> Callable[..., Any]:
    """A `__call__` for arrays, whose result is put together of what a builtin gives; other
    arguments go to `dispatch`."""
    assert isinstance(found.loaded, Loaded)
    builtin = found.loaded.answering(_missed)
    assemble = assembler(found.plan.output, [None] * len(found.code.signature.outputs))

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        leaves = builtin(*args, **kwargs)
        return self.dispatch(*args, **kwargs) if leaves is MISSED else assemble(leaves)

    return call


def tensor_call(found: Specialisation) -> Callable[..., Any]:
    """A `__call__` for eager tensors like those of a specialisation that a builtin answers; any
    other arguments go to `dispatch`."""
    assert isinstance(found.loaded, Loaded)
    builtin = found.loaded.answering(_missed)
    outputs = found.code.signature.outputs
    kinds = [spec.dtype if isinstance(spec, ArraySpec) else None for spec in outputs]
    wrap = assembler(found.plan.output, kinds)
    dtypes = [spec.dtype if isinstance(spec, TensorSpec) else None for spec in found.specs]

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or MODES.has_gpus or len(args) > len(dtypes):
            return self.dispatch(*args, **kwargs)
        given = []
        for value, dtype in zip(args, dtypes, strict=False):  # the last may have defaults
            if dtype is None:
                given.append(value)
            elif type(value) is Tensor and value.dtype is dtype and _is_plain(value):
                given.append(value._array)
            else:
                return self.dispatch(*args)
        result = builtin(*given)
        return self.dispatch(*args) if result is MISSED else wrap(result)

    names: dict[str, Any] = {f"d{k}": dtype for k, dtype in enumerate(dtypes)}
    names |= {"MODES": MODES, "MISSED": MISSED, "Tensor": Tensor}
    names |= {"builtin": builtin, "wrap": wrap, "general": call}
    exec(_written_out(tuple(dtype is not None for dtype in dtypes)), names)
    written: Callable[..., Any] = names["written"]
    return written


@cache
def _written_out(are_tensors: tuple[bool, ...]) -> CodeType:
    """The code of a `__call__` that looks at each of so many arguments by name, and leaves what
    does not pass to a `general` one: without its loop a call takes half of the time."""
    tensors = [k for k, is_tensor in enumerate(are_tensors) if is_tensor]
    taken = "".join(f"a{k}, " for k in range(len(are_tensors)))
    given = ", ".join(f"a{k}._array" if is_ else f"a{k}" for k, is_ in enumerate(are_tensors))
    fits = " and ".join(f"type(a{k}) is Tensor and a{k}.dtype is d{k}" for k in tensors) or "True"
    return compile(
        f"""
def written(self, *args, **kwargs):
    if not (kwargs or len(args) != {len(are_tensors)} or MODES.has_gpus or MODES.has_readings):
        ({taken}) = args
        if {fits}:
            result = builtin({given})
            if result is not MISSED:
                return wrap(result)
    return general(self, *args, **kwargs)
""",
        __name__,
        "exec",
    )


def _missed(*arguments: object, **named: object) -> object:
    return MISSED


def _is_plain(t: Tensor) -> bool:
    """Whether the elements are those of the array."""
    return not MODES.has_readings or not t._reads_otherwise()
