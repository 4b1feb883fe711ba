"""Functions compiled for the GPU: ptxas takes the text, the emulator runs it, the CPU agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gpu_agreement import ARCH, agree, flat, normal, tolerance

import tensorscript as torch
import tensorscript.nn.functional as F
from tensorscript import Tensor
from tensorscript.backends.ptx import driver
from tensorscript.backends.ptx.ptxas import find_ptxas
from tensorscript.base.errors import ScriptError, UserError
from tensorscript.compiler.gpu import GPULoaded, GPUModule


def test_ptxas_is_here() -> None:
    if find_ptxas() is None:
        pytest.skip("needs ptxas: kernels of this file are only emulated")


def chain(x: Tensor, y: Tensor) -> Tensor:
    return torch.sigmoid(x * y + 1) * x


@pytest.mark.parametrize("shape", [(64, 64), (3, 5, 7), (1,), (), (0, 4), (2, 2048)])
def test_pointwise(shape: tuple[int, ...]) -> None:
    agree(chain, normal(*shape), normal(*shape, seed=1))


def test_straight_walks_use_vector_loads() -> None:
    emulated = agree(chain, normal(64, 64), normal(64, 64))
    assert len(emulated.kernels) == 1
    assert "v4" in emulated.ir("ptx")


def test_strided_arguments_are_copied() -> None:
    x, y = normal(6, 8), normal(4, 12)
    agree(chain, x.T, y[:, ::-2].reshape(6, 4).T.repeat(2, 0)[::-1])
    agree(chain, x[::2, 1:], y[:3, 2:9][::-1])


def broadcast(x: Tensor, row: Tensor, column: Tensor, s: float, n: int) -> Tensor:
    return torch.where(x > row, x * s, column - n).clamp(-3.0, 4.0)


def test_broadcasting_and_scalars() -> None:
    agree(broadcast, normal(5, 70), normal(70), normal(5, 1), 1.5, 2)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, 1)


def log_softmax(x: Tensor) -> Tensor:
    return torch.log_softmax(x, -1)


def normalise(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.layer_norm(x, [x.size(1)], w, b)


@pytest.mark.parametrize("width", [1, 33, 256, 1000, 20000])
def test_softmax_rows(width: int) -> None:
    agree(softmax, normal(3, width), terms=512)
    agree(log_softmax, normal(2, width), terms=512)


@pytest.mark.parametrize("width", [48, 512, 12000])
def test_layer_norm_rows(width: int) -> None:
    agree(normalise, normal(3, width), normal(width), normal(width), terms=512)


def test_rows_stay_in_shared_memory() -> None:
    emulated = agree(softmax, normal(4, 1000), terms=512)
    assert [k.category for k in emulated.kernels] == ["rows"]
    assert ".shared" in emulated.ir("ptx") and ".local" not in emulated.ir("ptx")


def reductions(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return x.sum(1), x.sum(0), x.sum(), x.amax(1), x.mean(0, keepdim=True)


@pytest.mark.parametrize("shape", [(7, 300), (300, 7), (1, 1), (40, 64)])
def test_reductions(shape: tuple[int, int]) -> None:
    agree(reductions, normal(*shape), terms=4096)


def argmax(x: Tensor) -> Tensor:
    return x.argmax(1)


def test_argmax() -> None:
    agree(argmax, normal(9, 100))
    agree(argmax, np.zeros((3, 64), np.float32))


def transposed(x: Tensor, y: Tensor) -> Tensor:
    return x.t() + y.permute(1, 0).flip([0])


def test_transposed_reads() -> None:
    agree(transposed, normal(12, 40), normal(12, 40, seed=1))


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.relu(F.linear(x, w, b))


def matmul(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def test_contractions() -> None:
    agree(linear, normal(5, 40), normal(13, 40), normal(13), terms=256)
    agree(matmul, normal(3, 8, 20), normal(3, 20, 9), terms=256)
    agree(matmul, normal(17, 33), normal(33, 21), terms=256)


def convolve(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return torch.max_pool2d(torch.relu(torch.conv2d(x, w, b, padding=[1, 1])), [2, 2])


def test_convolution_and_pooling() -> None:
    agree(convolve, normal(2, 3, 8, 8), normal(4, 3, 3, 3), normal(4), terms=256)


def join(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    both = torch.cat([x, y], 1)
    return both, both[:, 2], torch.stack([x, x], 0)


def test_cat_and_select() -> None:
    agree(join, normal(4, 5), normal(4, 6))


def test_reads_that_lean_on_two_conditions() -> None:
    def slopes(x: Tensor) -> Tensor:
        return torch.cat([x[1:2] - x[:1], x[2:] - x[:-2], x[-1:] - x[-2:-1]])

    agree(slopes, normal(4, 3))


def running(x: Tensor) -> Tensor:
    return x.cumsum(1)


def test_scan() -> None:
    agree(running, normal(5, 70), terms=512)


def wide(x: Tensor) -> Tensor:
    return x * 2 + 1


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "i8", "u1", "?"])
def test_dtypes(dtype: str) -> None:
    agree(wide, (normal(40) * 9).astype(dtype))


def small_stages(x: Tensor) -> Tensor:
    total = x / x.sum()
    return total - total.mean()


def test_stages_without_a_common_loop_share_a_block() -> None:
    agree(small_stages, np.abs(normal(20, 30)) + 1, terms=1024)


def count_down(x: Tensor, n: int) -> Tensor:
    while n > 0:
        if n % 3 == 0:
            x = x * 2.0
        else:
            x = x + float(n)
        n -= 1
    return x


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_complex_numbers() -> None:
    def parts(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = torch.complex(x, y)
        return z * (2 + 1j), torch.fft.fft(z), z.imag

    agree(parts, normal(3, 48), normal(3, 48, seed=1))
    z = (normal(4, 5) + 1j * normal(4, 5, seed=1)).astype(np.complex64)

    def squared(z: Tensor) -> Tensor:
        return z * z

    agree(squared, z)


def test_control_flow_on_the_host() -> None:
    agree(count_down, normal(30), 7)
    agree(collatz, 27)


def until_small(x: Tensor) -> Tensor:
    while bool((x.abs().sum() > 1.0).item()):
        x = x / 2
    return x


def test_control_flow_that_depends_on_the_device() -> None:
    agree(until_small, normal(50), terms=8)


def checked(x: Tensor, n: int) -> Tensor:
    assert n > 0, "n must be positive"
    return x * n


def test_assertions() -> None:
    emulated = agree(checked, normal(4), 3)
    with pytest.raises(ScriptError, match="n must be positive"):
        emulated(normal(4), 0)


def test_named_sizes() -> None:
    specs = [torch.TensorSpec((3, "N"))]
    emulated = torch.compile(softmax, specs, target="ptx-emulate", fallback="error")
    for width in (5, 700):
        x = normal(3, width)
        e = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(emulated(x), e / e.sum(1, keepdims=True), atol=2e-6)
    assert len(emulated.stats.native) == 1


def add_in_place(x: Tensor, y: Tensor) -> Tensor:
    x += y
    return x


def test_mutated_arguments_come_back() -> None:
    emulated = torch.compile(add_in_place, target="ptx-emulate", fallback="error")
    x, y = normal(9), normal(9, seed=1)
    expected = x + y
    assert emulated(x, y) is x
    np.testing.assert_array_equal(x, expected)


def test_data_can_stay_on_the_device() -> None:
    x = normal(3, 50)
    compiled = torch.compile(running, [x], target="ptx-emulate", fallback="error")
    lowered = compiled.lower(compiled.latest_specs or ())
    module = GPUModule(lowered.module, compiled.options, frozenset())
    resident = GPULoaded(module, module.compile()).resident(x)
    for _ in range(2):
        resident.start()
        resident.synchronize()
    np.testing.assert_allclose(resident.results(), x.cumsum(1), atol=1e-5)
    resident.close()


def test_every_stage_has_a_text() -> None:
    emulated = torch.compile(softmax, [normal(4, 64)], target=f"cuda:{ARCH}", fallback="error")
    assert "ptx_kernel" in emulated.ir("ll")
    assert f".target {ARCH}" in emulated.ir("ptx")
    assert "te.across" in emulated.ir("scheduled")


@pytest.mark.skipif(driver.available(), reason="there is a GPU")
def test_without_a_gpu_cuda_says_so() -> None:
    compiled = torch.compile(softmax, target="cuda", fallback="error")
    with pytest.raises(UserError, match=r"needs an NVIDIA GPU.*ptx-emulate"):
        compiled(normal(2, 8))


@pytest.mark.gpu
@pytest.mark.skipif(not driver.available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("function", [softmax, log_softmax, reductions, running, argmax])
def test_on_the_gpu(function: Callable[..., Any]) -> None:
    x = normal(300, 1000)
    expected = torch.compile(function, fallback="error")(x)
    got = torch.compile(function, target="cuda", fallback="error")(x)
    for wanted, own in zip(flat(expected), flat(got), strict=True):
        np.testing.assert_allclose(own, wanted, atol=tolerance(wanted, 4096))
