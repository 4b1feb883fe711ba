"""How attention is blocked: a register tile, and blocks of queries and of keys."""

from __future__ import annotations

from dataclasses import replace

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import const

from ..te.affine import known
from .attention_shape import Attention
from .contraction_tile import Tile, tile_for

QUERY_BLOCK = 512
"""Queries that share the packed keys and values of a block."""
SMALL_QUERY_BLOCK = 64
"""The same where there are few heads, so that every thread has some."""
SMALL_FIRST_CACHE = 1 << 15
"""Where it is no larger, tiles are low and as wide as values are: scores of many rows do not stay
in it, and rows of values are read whole. Such a tile loads no more for each multiply-add, but reads
keys and values from the second cache more often, which larger first caches save."""
LOW_ROWS = 4
LOW_VECTORS = 4
REGISTERS_OF_LOW = 64
"""Bytes of the vectors that there are registers enough of for such a tile."""
MOST_PADDING = 1 / 16
"""Of the keys, so much more may be padding of a wider tile."""
KEY_BYTES = 1 << 19
"""Of the packed keys and values of a block, which stay in the second cache: half of it. Powers and
sums of few keys at a time cost more than scores that the first cache does not hold."""
LEAST_KEYS = 128
UNKNOWN_KEYS = 256
"""Keys of a block where their number is found by the program."""


@dataclass(frozen=True)
class AttentionBlocking:
    """How an attention is blocked.

    Attributes:
        rows, columns: of the register tile, queries by keys or by columns of the values.
        lanes: of its vectors.
        queries: of a block, whole tiles.
        keys: of a block, whole tiles.
    """

    rows: int
    columns: int
    lanes: int
    queries: int
    keys: int

    @property
    def tile(self) -> Tile:
        return Tile(self.rows, self.columns, self.lanes)

    def of_tile(self, rows: int, columns: int) -> AttentionBlocking:
        """Another tile, and blocks about as large as these."""
        return replace(self, rows=rows, columns=columns).of_blocks(self.queries, self.keys)

    def of_blocks(self, queries: int, keys: int) -> AttentionBlocking:
        """Blocks of at least so many queries and keys, in whole tiles."""
        queries, keys = -(-queries // self.rows), -(-keys // self.columns)
        return replace(self, queries=queries * self.rows, keys=keys * self.columns)


def attention_blocking(a: Attention, vector_bytes: int, first_cache: int) -> AttentionBlocking:
    """The blocking of an attention for vectors of so many bytes (64 for AVX-512), on a machine with
    such a first cache."""
    dtype = a.result.value.dtype
    heads, queries = known(a.batch.size), known(a.row.size)
    most = SMALL_QUERY_BLOCK if heads is not None and heads < 4 else QUERY_BLOCK
    if queries is not None:
        most = -(-queries // -(-queries // most))
    tile = tile_for(dtype, vector_bytes, const(most))
    if first_cache <= SMALL_FIRST_CACHE and vector_bytes == REGISTERS_OF_LOW:
        tile = _lowered(a, tile)
    rows = -(-most // tile.rows) * tile.rows
    keys = _keys_of_a_block(a, dtype.itemsize, tile.columns)
    return AttentionBlocking(tile.rows, tile.columns, tile.lanes, rows, keys)


def _lowered(a: Attention, tile: Tile) -> Tile:
    """A low and wide tile, where rows, values and keys fill it."""
    columns, width, keys = LOW_VECTORS * tile.lanes, known(a.column.size), known(a.key.size)
    if tile.rows < LOW_ROWS or width is None or width % columns or keys is None:
        return tile
    padding = -keys % columns - -keys % tile.columns
    return replace(tile, rows=LOW_ROWS, columns=columns) if padding <= MOST_PADDING * keys else tile


def _keys_of_a_block(a: Attention, itemsize: int, panel: int) -> int:
    keys, widths = known(a.key.size), [known(axis.size) or 0 for axis in (a.depth, a.column)]
    if keys is None:
        return UNKNOWN_KEYS
    most = KEY_BYTES // (sum(widths) * itemsize)
    blocks = -(-keys // max(most, LEAST_KEYS))
    return -(-keys // (blocks * panel)) * panel
