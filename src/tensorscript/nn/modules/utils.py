"""`torch.nn.modules.utils`: sizes given as one number."""

from tensorscript.eager.nn.tuples import (
    _pair,
    _quadruple,
    _single,
    _triple,
)
from tensorscript.eager.nn.tuples import (
    ntuple as _ntuple,
)

__all__ = [
    "_ntuple",
    "_pair",
    "_quadruple",
    "_single",
    "_triple",
]
