"""Random numbers: the Mersenne Twister stream that PyTorch's CPU generator draws from.

The integer stream, its seeding and the conversions to uniform, normal and integer samples follow
PyTorch's documented behaviour, so `rand`, `randn`, `randint` and `randperm` repeat its numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFAULT_SEED = 67280421310721
_SMALL_NORMAL = 16
"""Below this many samples normals are drawn one by one, in double precision."""


class Generator:
    """A stream of random numbers with its seed."""

    def __init__(self, device: object = "cpu") -> None:
        self.device = device
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream again from `seed` (any 64-bit integer; the low 32 bits count)."""
        self._seed = seed
        self._bits: Any = None  # made at the first draw: importing numpy.random takes a while
        self._cached: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` 32-bit words."""
        if self._bits is None:
            self._bits = np.random.RandomState(self._seed & 0xFFFFFFFF)._bit_generator
        if count == 0:
            return np.zeros(0, dtype=np.uint64)
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64).reshape(count)

    def words64(self, count: int) -> NDArray[np.uint64]:
        pairs = self.words(2 * count).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def uniform(self, count: int, double: bool) -> NDArray[Any]:
        """`count` numbers in [0, 1): 24 random bits, or 53 for `double`."""
        if double:
            return (self.words64(count) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        low = self.words(count) & np.uint64((1 << 24) - 1)
        return low.astype(np.float32) * np.float32(2.0**-24)

    def normal(self, count: int, double: bool) -> NDArray[Any]:
        """`count` standard normal numbers by Box and Muller's transform."""
        if count < _SMALL_NORMAL:
            return np.array([self._one_normal() for _ in range(count)], dtype=np.float64)
        data = self.uniform(count, double)
        whole = count // 16 * 16
        out = data.copy()
        out[:whole] = _box_muller(data[:whole])
        if whole != count:
            out[count - 16 :] = _box_muller(self.uniform(16, double))
        return out

    def _one_normal(self) -> float:
        if self._cached is not None:
            found, self._cached = self._cached, None
            return found
        u1, u2 = self.uniform(2, True)
        radius = np.sqrt(-2.0 * np.log1p(-u2))
        theta = 2.0 * np.pi * u1
        self._cached = float(radius * np.sin(theta))
        return float(radius * np.cos(theta))

    def integers(self, low: int, high: int, count: int) -> NDArray[np.int64]:
        """`count` integers in [low, high)."""
        span = high - low
        words = self.words64(count) if span >= 1 << 32 else self.words(count)
        return (words % np.uint64(span)).astype(np.int64) + low

    def permutation(self, n: int) -> NDArray[np.int64]:
        """A random order of 0..n-1 (Fisher and Yates)."""
        out = np.arange(n, dtype=np.int64)
        for i, word in enumerate(self.words(max(n - 1, 0)).tolist()):
            j = i + word % (n - i)
            out[i], out[j] = out[j], out[i]
        return out


def _box_muller(uniform: NDArray[Any]) -> NDArray[Any]:
    """Blocks of 16 uniforms to blocks of 16 normals: the first 8 give radii, the last 8 angles."""
    blocks = uniform.reshape(-1, 2, 8)
    one = blocks.dtype.type(1)
    radius = np.sqrt(blocks.dtype.type(-2) * np.log(one - blocks[:, 0]))
    theta = blocks.dtype.type(2 * np.pi) * blocks[:, 1]
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], axis=1).reshape(-1)


DEFAULT_GENERATOR = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the generator that operators use when they are given none."""
    return DEFAULT_GENERATOR.manual_seed(seed)
