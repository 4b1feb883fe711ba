"""`torch.jit.annotations`: names that scripts write types with."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035  # names that users import

from tensorscript.eager.nn.functions.types import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
)
from tensorscript.runtime.values import Future

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "Union",
]
