"""The choice between PyTorch's kernels of scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum


class SDPBackend(IntEnum):
    """PyTorch's kernels. Results do not depend on them."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Allow some kernels in the `with` block. All stand for the one that is here.

    Raises:
        AssertionError: something else than backends.
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    assert all(isinstance(b, SDPBackend) for b in chosen), (
        "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
    )
    yield
