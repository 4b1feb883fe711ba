"""Statements by which threads of a warp work together.

```
te.across own add= 32      own[], combined over 32 neighbouring threads, in each of them
```
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from .statements import COMBINERS
from .syntax import HeadOp, match_head

WARP = 32


@irdl_op_definition
class AcrossOp(HeadOp):
    """A scalar buffer that each thread has of its own becomes the combination of those of `lanes`
    threads, the same bits in each of them. Groups of `lanes` threads follow one another in the
    warp, all of whose threads have to come here together. Sums of floats are grouped in halves."""

    name = "te.across"
    buffer_name = prop_def(StringAttr)
    combiner_attr = prop_def(StringAttr)
    lanes_attr = prop_def(IntAttr)

    def __init__(self, buffer: str, combiner: str, lanes: int = WARP) -> None:
        super().__init__(
            properties={
                "buffer_name": StringAttr(buffer),
                "combiner_attr": StringAttr(combiner),
                "lanes_attr": IntAttr(lanes),
            }
        )

    @property
    def buffer(self) -> str:
        return self.buffer_name.data

    @property
    def combiner(self) -> str:
        return self.combiner_attr.data

    @property
    def lanes(self) -> int:
        return int(self.lanes_attr.data)

    def verify_(self) -> None:
        if self.combiner not in COMBINERS:
            raise VerifyException(f"unknown combiner {self.combiner}")
        if self.lanes not in (2, 4, 8, 16, WARP):
            raise VerifyException(f"groups are of 2, 4, 8, 16 or {WARP} threads, not {self.lanes}")

    def head(self) -> str:
        return f"{self.buffer} {self.combiner}= {self.lanes}"

    @classmethod
    def from_head(cls, head: str) -> AcrossOp:
        found = match_head(r"([\w.$]+) (\w+)= (\d+)", head)
        return cls(found[1], found[2], int(found[3]))
