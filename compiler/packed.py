"""Packing of weights at compile time: the nests that `lowering/schedules/prepack.py` takes out of
kernels run here, as machine code of this machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tensorscript.backends.cpu.calls import Functions
from tensorscript.backends.cpu.runtime import runtime_symbols
from tensorscript.lowering.schedules.prepack import hoist_packing, pack_constants

from .cache import DiskCache
from .memory import aligned_empty
from .native import object_of, runtime_object


def prepack(module: ModuleOp, cache: DiskCache | None = None) -> None:
    """Replace what kernels pack from constants by constants, in place.

    Args:
        cache: keeps the objects of the packing functions.

    Raises:
        InternalError: a packing fails.
    """
    if not (packings := hoist_packing(module)):
        return
    support = runtime_symbols(lambda part: runtime_object(part, cache))
    functions = Functions(
        [p.function for p in packings],
        support,
        lambda text, target: object_of(text, target, cache),
    )
    targets = {p.function.sym_name.data: p.target for p in packings}

    def pack(name: str, sources: Sequence[np.ndarray]) -> np.ndarray:
        shape = tuple(int(str(n)) for n in targets[name].shape)
        out = aligned_empty(shape, targets[name].dtype.numpy)
        functions.call(name, [*(np.ascontiguousarray(a) for a in sources), out])
        return out

    pack_constants(module, packings, pack)
