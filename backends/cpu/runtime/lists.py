"""Lists that grow, as LLVM text: everything but the accesses that are inlined where they stand.

`list_storage` says how a list is laid out and who holds it, `list_moves` moves elements, and
`list_order` compares them; `list_texts` is on lists that are strings.
"""

from __future__ import annotations

from .list_moves import MOVES
from .list_order import KINDS, ORDER
from .list_storage import STORAGE
from .list_texts import TEXTS

LISTS = STORAGE + MOVES + ORDER + TEXTS

LISTS_NEED = """
declare ptr @ts_malloc(i64)
declare void @ts_free(ptr)
declare ptr @ts_scratch(i64)
declare void @ts_scratch_free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1 immarg)
@ts_malloc_hook = external global ptr
"""
"""What the text calls of the other parts, where it stands alone."""

LIST_SYMBOLS = (
    "ts_list_new", "ts_list_reserve", "ts_list_free", "ts_list_sweep", "ts_list_open",
    "ts_list_remove", "ts_list_clear", "ts_list_slice", "ts_list_extend", "ts_list_reverse",
    "ts_list_sort", "ts_list_equal", "ts_list_join", "ts_list_lengths", "ts_list_split",
    "ts_list_give", "ts_list_search", "ts_list_less", "ts_list_digits", "ts_list_parses",
    "ts_list_parse", "ts_list_write",
    *(f"ts_list_{name}_{kind}" for name in ("find", "count") for kind in KINDS),
)  # fmt: skip
"""What host code calls; see `dialects/te/lists.py`."""
