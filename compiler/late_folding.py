"""The folding of batch norms into weights, imported when a module's code is first made.

`late_folding.folded_program(...)` stands for `from .folding import folded_program` and a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorscript.base.deferred import deferred

if TYPE_CHECKING:
    from .folding import folded_program

__all__ = ["folded_program"]

__getattr__ = deferred(__name__, {"folded_program": "tensorscript.compiler.folding"})
