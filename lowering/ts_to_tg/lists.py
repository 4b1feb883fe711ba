"""Rows on run-time lists (`Grown`): what list operators emit. See `grown.py` for what they are."""

from __future__ import annotations

from .builder import Rows
from .list_changes import LIST_CHANGES
from .list_folding import LIST_FOLDING
from .list_making import LIST_MAKING
from .list_reading import LIST_READING
from .list_tensors import LIST_TENSORS

GROWN: Rows = {**LIST_READING, **LIST_CHANGES, **LIST_MAKING, **LIST_FOLDING, **LIST_TENSORS}
