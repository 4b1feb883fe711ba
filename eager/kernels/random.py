"""Random tensors; each draws from the given generator or the default one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorscript.base.cpp_names import cpp_name
from tensorscript.base.drawn import drawn_below
from tensorscript.base.dtypes import DType, bool_, float64, int64, real_dtype
from tensorscript.base.errors import OperatorError

from ..modes import MODES
from ..random import DEFAULT_GENERATOR, Generator, fused, manual_seed
from ..storage import Array, array, compute, to_storage, wrap
from .creation import shape_of
from .shapes import check_sizes
from .strided import resize_

Kernel = Callable[..., Any]


def _draw(kind: str, shape: Sequence[int], dtype: DType, generator: Generator | None) -> Array:
    """`kind` is "uniform" or "normal"; complex numbers have a draw for each part, normal ones half
    of the variance each."""
    if dtype.is_complex:
        parts = _draw(kind, (*shape, 2), real_dtype(dtype), generator)
        scale = np.sqrt(0.5) if kind == "normal" else 1.0
        return np.asarray((parts[..., 0] + 1j * parts[..., 1]) * scale)
    source = generator or DEFAULT_GENERATOR
    count = math.prod(shape_of(shape, dtype))
    found: Array = getattr(source, kind)(count, dtype is float64)
    return found.reshape(tuple(shape))


def sampler(kind: str) -> Kernel:
    def run(size: Sequence[int], dtype: DType | None = None, *_: Any) -> Any:
        out = dtype or MODES.default_dtype
        return wrap(_draw(kind, size, out, None), out)

    return run


def sampler_with(kind: str) -> Kernel:
    """The overload that takes a generator."""

    def run(size: Sequence[int], generator: Any, dtype: DType | None = None, *_: Any) -> Any:
        out = dtype or MODES.default_dtype
        return wrap(_draw(kind, size, out, generator), out)

    return run


def sampler_like(kind: str) -> Kernel:
    def run(self: Any, dtype: DType | None = None, *_: Any) -> Any:
        return wrap(_draw(kind, array(self).shape, dtype or self.dtype, None), dtype or self.dtype)

    return run


def sampler_like_with(kind: str) -> Kernel:
    def run(self: Any, generator: Any, dtype: DType | None = None, *_: Any) -> Any:
        out = dtype or self.dtype
        return wrap(_draw(kind, array(self).shape, out, generator), out)

    return run


def check_drawn(low: int, high: int, dtype: DType) -> None:
    """Refuse integers in [low, high) that an integer dtype has not.

    Raises:
        OperatorError: in the words of PyTorch.
    """
    if low >= high:
        raise OperatorError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if not dtype.is_integral and dtype is not bool_:
        return
    limits = None if dtype is bool_ else np.iinfo(dtype.numpy)
    least, most = (0, 1) if limits is None else (int(limits.min), int(limits.max))
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= most:
            raise OperatorError(f"{name} is out of bounds for {cpp_name(dtype)}")


def randint(low: int, high: int, size: Sequence[int], dtype: DType | None = None, *_: Any) -> Any:
    return randint_with(low, high, size, None, dtype)


def randint_with(
    low: int, high: int, size: Sequence[int], generator: Any, dtype: DType | None = None, *_: Any
) -> Any:
    out = dtype or int64
    check_drawn(low, high, out)
    check_sizes(size)
    count = int(np.prod(size, dtype=np.int64))
    source = generator or DEFAULT_GENERATOR
    return wrap(source.integers(low, high, count).reshape(tuple(size)), out)


def randperm(n: int, dtype: DType | None = None, *_: Any) -> Any:
    return randperm_with(n, None, dtype)


def randperm_with(n: int, generator: Any, dtype: DType | None = None, *_: Any) -> Any:
    if n < 0:
        check_sizes([n])
    return wrap((generator or DEFAULT_GENERATOR).permutation(n), dtype or int64)


def _store(self: Any, values: Array) -> Any:
    array(self)[...] = to_storage(values, self.dtype)
    return self


def uniform_(self: Any, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Any:
    if low > high:
        raise OperatorError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    u = _draw("uniform", array(self).shape, self.dtype, generator)
    return _store(self, fused(u, u.dtype.type(high - low), u.dtype.type(low)))


def _check_deviation(std: float) -> None:
    if std < 0:
        raise OperatorError(f"normal expects std >= 0.0, but found std {std:g}")


def normal_(self: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    _check_deviation(std)
    z = _draw("normal", array(self).shape, self.dtype, generator)
    return _store(self, z * z.dtype.type(std) + z.dtype.type(mean))


def exponential_(self: Any, lambd: float = 1.0, generator: Any = None) -> Any:
    if lambd <= 0:
        raise OperatorError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    u = _draw("uniform", array(self).shape, float64, generator)
    return _store(self, -np.log1p(-u) / lambd)


def _fill_from(fn: Callable[..., Array]) -> Kernel:
    """An in-place sampler: `fn(uniforms, *parameters)` of numbers drawn in [0, 1)."""

    def run(self: Any, *given: Any) -> Any:
        *parameters, generator = given
        u = _draw("uniform", array(self).shape, float64, generator)
        return _store(self, fn(u, *parameters))

    return run


def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, generator: Any = None) -> Any:
    if std <= 0:
        raise OperatorError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    z = _draw("normal", array(self).shape, float64, generator)
    return _store(self, np.exp(z * std + mean))


def _geometric(u: Array, p: float) -> Array:
    if not 0 < p < 1:
        raise OperatorError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return np.asarray(np.ceil(np.log(u) / np.log1p(-p)).clip(1))


def _cauchy(u: Array, median: float, sigma: float) -> Array:
    if sigma <= 0:
        raise OperatorError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return np.asarray(median + sigma * np.tan(np.pi * (u - 0.5)))


def poisson(self: Any, generator: Any = None) -> Any:
    """Counts with the elements as rates, by inversion of the distribution function."""
    rate = compute(self).astype(np.float64)
    if (rate < 0).any():
        raise OperatorError("invalid Poisson rate, expected rate to be non-negative")
    u = _draw("uniform", rate.shape, float64, generator)
    out, term = np.zeros_like(rate), np.exp(-rate)
    total = term.copy()
    while bool((pending := (u >= total) & (out < 10 * rate + 100)).any()):
        out = out + pending
        term = np.where(pending, term * rate / np.maximum(out, 1), term)
        total = np.where(pending, total + term, total)
    return wrap(out, self.dtype)


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """How many of `count` draws fall below `prob`."""
    n, p = np.broadcast_arrays(compute(count), compute(prob))
    most = int(n.max(initial=0))
    u = _draw("uniform", (most, *n.shape), float64, generator)
    tries = np.arange(most).reshape(-1, *[1] * n.ndim) < n
    return wrap(((u < p) & tries).sum(0), count.dtype)


def standard_gamma(self: Any, generator: Any = None) -> Any:
    """Gamma draws of rate 1, the elements their shapes, by the rejection of Marsaglia and Tsang
    (ACM TOMS 26, 2000); a shape below 1 is raised by 1 and its draw scaled back."""
    shape = compute(self).astype(np.float64)
    d = np.where(shape < 1, shape + 1, shape) - 1 / 3
    out, pending = np.zeros_like(d), np.ones(d.shape, bool)
    while pending.any():
        x = _draw("normal", d.shape, float64, generator)
        u = _draw("uniform", d.shape, float64, generator)
        cube = (1 + x / np.sqrt(9 * d)) ** 3
        v = np.where(cube > 0, cube, 1)
        chosen = np.log(np.maximum(u, 1e-300)) < 0.5 * x * x + d - d * v + d * np.log(v)
        chosen &= pending & (cube > 0)
        out, pending = np.where(chosen, d * v, out), pending & ~chosen
    u = _draw("uniform", d.shape, float64, generator)
    return wrap(out * np.where(shape < 1, u ** (1 / shape), 1), self.dtype)


def sample_dirichlet(self: Any, generator: Any = None) -> Any:
    """Points of a simplex: gamma draws over their sums."""
    drawn = compute(standard_gamma(self, generator))
    return wrap(drawn / drawn.sum(-1, keepdims=True), self.dtype)


def randint_like(self: Any, low: Any, high: Any, dtype: DType | None = None, *_: Any) -> Any:
    low, high = (int(compute(v)) if hasattr(v, "dtype") else v for v in (low, high))
    return randint(low, high, array(self).shape, dtype or self.dtype)


def normal_numbers(
    mean: float, std: float, size: Sequence[int], generator: Any = None,
    dtype: DType | None = None, *_: Any,
) -> Any:  # fmt: skip
    _check_deviation(std)
    out = dtype or MODES.default_dtype
    return wrap(_draw("normal", size, out, generator) * std + mean, out)


def _chance(p: float) -> float:
    if not 0 <= p <= 1:
        raise OperatorError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return p


def bernoulli_p(self: Any, p: float, generator: Any = None) -> Any:
    chance = _chance(p)
    return wrap(_draw("uniform", array(self).shape, float64, generator) < chance, self.dtype)


def bernoulli(self: Any, generator: Any = None) -> Any:
    chances = _chances(self)
    return wrap(_draw("uniform", chances.shape, self.dtype, generator) < chances, self.dtype)


def _chances(p: Any) -> Array:
    chances = compute(p)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise OperatorError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message "
            "be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    return chances


def bernoulli_in_place(self: Any, p: Any = 0.5, generator: Any = None) -> Any:
    is_tensor = hasattr(p, "dtype")
    chance = _chances(p) if is_tensor else _chance(p)
    drawn = _draw("uniform", array(self).shape, p.dtype if is_tensor else float64, generator)
    return _store(self, drawn < chance)


def bernoulli_out(self: Any, generator: Any, out: Any) -> Any:
    """Zeros and ones in the dtype of `out`, whatever that is."""
    return bernoulli_in_place(resize_(out, array(self).shape), self, generator)


def random_(self: Any, low: int, high: int | None, generator: Any = None) -> Any:
    top = drawn_below(self.dtype) if high is None else high
    source = generator or DEFAULT_GENERATOR
    return _store(self, source.integers(low, top, array(self).size).reshape(array(self).shape))


def _improper(weights: Array, one_by_one: bool) -> str | None:
    """Why rows of weights are no distributions, if they are none; drawn `one_by_one` or at once."""
    infinite, negative = not np.isfinite(weights).all(), bool((weights < 0).any())
    if (infinite or negative) and not one_by_one:
        return "probability tensor contains either `inf`, `nan` or element < 0"
    entry = "encountering probability entry = infinity or NaN" if infinite else (
        "encountering probability entry < 0" if negative else None
    )  # fmt: skip
    if entry is None and not bool((weights.sum(-1) > 0).all()):
        entry = "sum of probabilities <= 0"
    return None if entry is None else f"invalid multinomial distribution ({entry})"


def multinomial(
    self: Any, num_samples: int, replacement: bool = False, generator: Any = None
) -> Any:
    """Indices drawn with the rows of `self` as weights; without replacement by Gumbel's trick."""
    if not 1 <= array(self).ndim <= 2:
        raise OperatorError("prob_dist must be 1 or 2 dim")
    if not self.dtype.is_floating_point:
        raise OperatorError(
            "multinomial only supports floating-point dtypes for input, got: " + self.dtype.word
        )
    if num_samples <= 0:
        raise OperatorError("cannot sample n_sample <= 0 samples")
    p = compute(self).astype(np.float64)
    if problem := _improper(p, replacement and num_samples > 1):
        raise OperatorError(problem)
    if not replacement and num_samples > p.shape[-1]:
        raise OperatorError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if replacement:
        u = _draw("uniform", (*p.shape[:-1], num_samples), float64, generator)
        edges = np.cumsum(p, -1) / p.sum(-1, keepdims=True)
        at = (u[..., :, None] >= edges[..., None, :]).sum(-1)
        return wrap(np.minimum(at, p.shape[-1] - 1), int64)
    u = _draw("uniform", p.shape, float64, generator)
    keys = np.log(p) - np.log(-np.log1p(-u))
    return wrap(np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples], int64)


def seed(number: int) -> None:
    manual_seed(number)


def generator(device: Any = None, number: int | None = None) -> Generator:
    made = Generator("cpu" if device is None else device)
    return made if number is None else made.manual_seed(number)


def _seed_of(read: Callable[[Generator], int]) -> Kernel:
    """A seed as the language has it: a signed number of 64 bits."""
    return lambda generator: (read(generator) + 2**63) % 2**64 - 2**63


def normal_tensors(mean: Any, std: Any = 1.0, generator: Any = None) -> Any:
    shaped = mean if hasattr(mean, "dtype") else std
    m = compute(mean) if hasattr(mean, "dtype") else mean
    s = compute(std) if hasattr(std, "dtype") else std
    if not hasattr(std, "dtype"):
        _check_deviation(std)
    elif s.dtype.kind == "f" and s.size and not s.min() >= 0:
        raise OperatorError("normal expects all elements of std >= 0.0")
    shape = np.broadcast_shapes(np.shape(m), np.shape(s))
    return wrap(_draw("normal", shape, shaped.dtype, generator) * s + m, shaped.dtype)


KERNELS: dict[str, Kernel] = {
    "aten::rand": sampler("uniform"),
    "aten::randn": sampler("normal"),
    "aten::rand.generator": sampler_with("uniform"),
    "aten::randn.generator": sampler_with("normal"),
    "aten::rand_like": sampler_like("uniform"),
    "aten::randn_like": sampler_like("normal"),
    "aten::rand_like.generator": sampler_like_with("uniform"),
    "aten::randn_like.generator": sampler_like_with("normal"),
    "aten::randint": lambda high, size, dtype=None, *_: randint(0, high, size, dtype),
    "aten::randint.low": randint,
    "aten::randint.generator": lambda high, *rest: randint_with(0, high, *rest),
    "aten::randint.low_generator": randint_with,
    "aten::randperm": randperm,
    "aten::randperm.generator": randperm_with,
    "aten::uniform_": uniform_,
    "aten::normal_": normal_,
    "aten::_no_grad_uniform_": uniform_,
    "aten::_no_grad_normal_": normal_,
    "aten::normal.Tensor_float": normal_tensors,
    "aten::normal.float_Tensor": normal_tensors,
    "aten::normal.Tensor_Tensor": normal_tensors,
    "aten::normal.float_float": normal_numbers,
    "aten::exponential_": exponential_,
    "aten::log_normal_": log_normal_,
    "aten::geometric_": _fill_from(_geometric),
    "aten::cauchy_": _fill_from(_cauchy),
    "aten::poisson": poisson,
    "aten::binomial": binomial,
    "aten::_standard_gamma": standard_gamma,
    "aten::_sample_dirichlet": sample_dirichlet,
    "aten::randint_like": lambda self, high, *rest: randint_like(self, 0, high, *rest),
    "aten::randint_like.Tensor": lambda self, high, *rest: randint_like(self, 0, high, *rest),
    "aten::randint_like.low_dtype": randint_like,
    "aten::bernoulli": bernoulli,
    "aten::bernoulli.out": bernoulli_out,
    "aten::bernoulli.p": bernoulli_p,
    "aten::bernoulli_.float": bernoulli_in_place,
    "aten::bernoulli_.Tensor": bernoulli_in_place,
    "aten::random_": lambda self, generator=None: random_(self, 0, None, generator),
    "aten::random_.to": lambda self, to, generator=None: random_(self, 0, to, generator),
    "aten::random_.from": random_,
    "aten::multinomial": multinomial,
    "aten::manual_seed": seed,
    "aten::manual_seed.generator": Generator.manual_seed,
    "aten::initial_seed": _seed_of(Generator.initial_seed),
    "aten::seed": _seed_of(Generator.seed),
    "aten::Generator": generator,
}
