"""Random numbers: the Mersenne Twister stream that PyTorch's CPU generator draws from.

The integer stream, its seeding and the conversions to uniform, normal and integer samples follow
PyTorch's documented behaviour, so `rand`, `randn`, `randint` and `randperm` repeat its numbers.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorscript.base.dtypes import uint8
from tensorscript.base.errors import ValueRangeError

from .storage import TensorBase, make

DEFAULT_SEED = 67280421310721
_SMALL_NORMAL = 16
"""Below this many samples normals are drawn one by one, in double precision."""


_STATE = struct.Struct("<QiiQ624QdddI4xf?3x")
_MASK64 = (1 << 64) - 1


class Generator:
    """A stream of random numbers with its seed."""

    def __init__(self, device: object = "cpu") -> None:
        self.device = device
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream again from `seed` (any 64-bit integer; the low 32 bits count).

        Raises:
            ValueRangeError: it has more bits.
        """
        if not -(1 << 63) <= seed <= _MASK64:
            raise ValueRangeError("Overflow when unpacking long long")
        self._seed = seed & _MASK64
        self._bits: Any = None  # made at the first draw: importing numpy.random takes a while
        self._cached: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        """Start again from a number of the system's; gives it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def _stream(self) -> Any:
        """NumPy's Mersenne Twister, made at the first draw."""
        if self._bits is None:
            self._bits = np.random.RandomState(self._seed & 0xFFFFFFFF)._bit_generator
        return self._bits

    def get_state(self) -> Any:
        """The state as a tensor of bytes (`state_bytes`)."""
        return make(np.frombuffer(bytearray(self.state_bytes()), np.uint8), uint8)

    def set_state(self, new_state: TensorBase) -> Generator:
        """Go on from a state that `get_state` gave, here or in PyTorch.

        Raises:
            ValueRangeError: it has another size.
        """
        self.set_state_bytes(new_state._array.tobytes())
        return self

    def clone_state(self) -> Generator:
        """Another generator that goes on from here."""
        return Generator(self.device).set_state(self.get_state())

    def state_bytes(self) -> bytes:
        """The state as PyTorch's CPU generator lays it out (`CPUGeneratorImpl`, 5056 bytes): the
        seed, the words left before the next twist, the place of the next word, 624 words of 8
        bytes each, and a normal number that is kept for the next draw."""
        inner = self._stream().state["state"]
        place = int(inner["pos"])
        normal = 0.0 if self._cached is None else self._cached
        return _STATE.pack(
            self._seed, 625 - place, 1, place, *map(int, inner["key"]), 0.0, normal, 0.0,
            self._cached is not None, 0.0, False,
        )  # fmt: skip

    def set_state_bytes(self, state: bytes) -> None:
        """Go on from a state.

        Raises:
            ValueRangeError: it has another size.
        """
        if len(state) != _STATE.size:
            raise ValueRangeError(
                f"RNG state is wrong size: expected {_STATE.size} bytes, got {len(state)}"
            )
        seed, left, _, _, *words = _STATE.unpack(state)
        key, (_, normal, _, has_normal, _, _) = words[:624], words[624:]
        self.manual_seed(seed)
        bits = self._stream()
        found = bits.state
        found["state"] = {"key": np.asarray(key, np.uint32), "pos": 625 - left}
        bits.state = found
        self._cached = normal if has_normal else None

    def native_state(self) -> NDArray[np.float64]:
        """All that the next numbers depend on, as compiled code takes it: 624 words, how many of
        them are used, whether a normal number is left, and that number."""
        inner = self._stream().state["state"]
        spare = [float(self._cached is not None), self._cached or 0.0]
        return np.concatenate([inner["key"].astype(np.float64), [inner["pos"]], spare])

    def set_native_state(self, state: NDArray[np.float64]) -> None:
        """Go on from what `native_state` gave, here or in compiled code."""
        bits, whole = self._stream(), dict(self._stream().state)
        whole["state"] = {"key": state[:624].astype(np.uint32), "pos": int(state[624])}
        bits.state = whole
        self._cached = float(state[626]) if state[625] else None

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` 32-bit words."""
        if count == 0:
            return np.zeros(0, dtype=np.uint64)
        return np.asarray(self._stream().random_raw(count), dtype=np.uint64).reshape(count)

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


def fused(x: NDArray[Any], factor: Any, summand: Any) -> NDArray[Any]:
    """x * factor + summand rounded once, as PyTorch's compiler has it; of float64 by Dekker's
    product and Knuth's sum, whose errors are added."""
    if x.dtype == np.float32:
        return np.asarray(x.astype(np.float64) * factor + summand, np.float32)
    product = x * factor
    if x.dtype != np.float64:
        return np.asarray(product + summand)
    (xh, xl), (fh, fl) = _halves(x), _halves(factor)
    lost = ((xh * fh - product) + xh * fl + xl * fh) + xl * fl
    total = product + summand
    back = total - product
    return np.asarray(total + ((product - (total - back)) + (summand - back) + lost))


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of 26 bits that sum to a float64 (Veltkamp)."""
    wide = 134217729.0 * x
    high = wide - (wide - x)
    return high, x - high


def _box_muller(uniform: NDArray[Any]) -> NDArray[Any]:
    """Blocks of 16 uniforms to blocks of 16 normals: the first 8 give radii, the last 8 angles."""
    blocks = uniform.reshape(-1, 2, 8)
    one = blocks.dtype.type(1)
    radius = np.sqrt(blocks.dtype.type(-2) * np.log(one - blocks[:, 0]))
    theta = blocks.dtype.type(2 * np.pi) * blocks[:, 1]
    return np.stack([radius * np.cos(theta), radius * np.sin(theta)], axis=1).reshape(-1)


DEFAULT_GENERATOR = Generator()


def manual_seed(seed: Any) -> Generator:
    """Seed the generator that operators use when they are given none, with what `int` takes."""
    return DEFAULT_GENERATOR.manual_seed(int(seed))
