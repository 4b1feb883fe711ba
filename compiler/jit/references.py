"""Containers that Python and scripts share: what `boundary` needs to know of them."""

from __future__ import annotations

from typing import Any

from tensorscript.dialects.ts.types import DictType, ListType


class Reference:
    """A list or dict of script values that is handed to scripts as it is, and not copied.

    Attributes:
        held: the script values.
        type: of the container.
    """

    def __init__(self, held: Any, type_: ListType | DictType) -> None:
        self.held = held
        self.type = type_
