"""Embedding bags: the ways to reduce one, and what PyTorch tells of the bags beside the results."""

from .dtypes import DType, float64

SUM, MEAN, MAX = 0, 1, 2


def knows_owners(mode: int, dtype: DType, padding: int | None) -> bool:
    """Whether the bag of each index is among the results: sums of short floats without padding are
    made from the offsets alone."""
    return mode != SUM or dtype is float64 or padding is not None
