"""Whether layers of attention may leave their work to one operator.

Programs say so as of a backend (`backends.mha`); eager mode asks.
"""

from __future__ import annotations

from .records import dataclass


@dataclass
class FusedAttention:
    """What the program has said last."""

    allowed: bool = True


FUSED_ATTENTION = FusedAttention()
