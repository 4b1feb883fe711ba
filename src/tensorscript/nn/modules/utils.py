"""`torch.nn.modules.utils`: sizes given as one number, and names in state dicts."""

from tensorscript.eager.nn.prefixes import consume_prefix_in_state_dict_if_present
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
    "consume_prefix_in_state_dict_if_present",
]
