"""Strides of results: channels-last and transposed inputs, `memory_format=`, views and copies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

IMAGE = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5) / 7
VOLUME = np.arange(2 * 3 * 2 * 4 * 5, dtype=np.float32).reshape(2, 3, 2, 4, 5) / 7
FILTER = np.arange(4 * 3 * 3 * 3, dtype=np.float32).reshape(4, 3, 3, 3) / 9


def test_channels_last_is_kept_by_what_works_on_images() -> None:
    x = ts.from_numpy(IMAGE).contiguous(memory_format=ts.channels_last)
    assert x.stride() == (60, 1, 15, 3) and not x.is_contiguous()
    assert x.is_contiguous(memory_format=ts.channels_last)
    y = ts.nn.functional.conv2d(x, ts.from_numpy(FILTER), padding=1)
    assert y.stride() == (80, 1, 20, 4)
    assert ts.relu(y + 1).stride() == y.stride() == ts.zeros_like(y).stride()
    assert ts.softmax(y, 1).is_contiguous() and y.contiguous().is_contiguous()
    assert ts.empty(2, 3, 4, 5, memory_format=ts.channels_last).stride() == x.stride()


def test_refusals() -> None:
    with pytest.raises(OperatorError, match="required rank 4 tensor to use channels_last format"):
        ts.ones(2, 3).contiguous(memory_format=ts.channels_last)
    with pytest.raises(OperatorError, match="preserve memory format is unsupported"):
        ts.ones(2, 3).contiguous(memory_format=ts.preserve_format)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, x: x + 1,
    "add transposed": lambda t, x: x + x.transpose(-1, -1).contiguous(),
    "broadcast": lambda t, x: x * x[:1],
    "compare": lambda t, x: x > 0,
    "where": lambda t, x: t.where(x > 3, x, 0.0),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "half": lambda t, x: x.half(),
    "bfloat16": lambda t, x: x.bfloat16() + 1,
    "clone": lambda t, x: x.clone(),
    "clone row-major": lambda t, x: x.clone(memory_format=t.contiguous_format),
    "to row-major": lambda t, x: x.to(memory_format=t.contiguous_format),
    "double row-major": lambda t, x: x.double(memory_format=t.contiguous_format),
    "like": lambda t, x: t.full_like(x, 2.0),
    "new": lambda t, x: x.new_empty(2, 3, 4, 5),
    "softmax": lambda t, x: t.softmax(x, -1),
    "cumsum": lambda t, x: t.cumsum(x, 1),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (5,)),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 3),
    "max_pool": lambda t, x: t.max_pool2d(x, 2),
    "avg_pool": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "adaptive": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3),
    "upsample": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "cat": lambda t, x: t.cat([x, x], 1),
    "flip": lambda t, x: x.flip(1),
    "sort": lambda t, x: x.sort(1).values,
    "gather": lambda t, x: x.gather(1, t.zeros(2, 1, 4, 5, dtype=t.int64)),
    "picked": lambda t, x: x.contiguous()[:, [0, 2]],
    "sum": lambda t, x: x.sum(1, keepdim=True),
    "glu": lambda t, x: t.nn.functional.glu(x, 2),
    "masked_fill": lambda t, x: x.masked_fill(x > 2, 0.0),
    "permuted": lambda t, x: x.permute(3, 0, 2, 1).exp(),
    "gaps": lambda t, x: x[:, :, ::2].exp(),
    "expanded": lambda t, x: x[:1].expand(2, 3, 4, 5).exp(),
    "permute_copy": lambda t, x: t.permute_copy(x, (0, 2, 3, 1)),
    "fft along channels": lambda t, x: t.fft.fft(x, dim=1),
    "padded fft": lambda t, x: t.fft.rfftn(x, s=(5, 6), dim=(-1, 0)),
    "fft to real": lambda t, x: t.fft.irfft2(x, dim=(0, -1)),
    "inverse": lambda t, x: t.linalg.inv(x[..., :4] + 40 * t.eye(4)),
    "orthogonal": lambda t, x: t.linalg.qr(x).Q,
    "solution": lambda t, x: t.linalg.solve(x[..., :4] + 40 * t.eye(4), x[..., :3]),
    "lu": lambda t, x: t.linalg.lu(x).L,
    "quarter turn": lambda t, x: t.rot90(x, 1, (1, 2)),
    "signals": lambda t, x: t.nn.functional.avg_pool1d(x[0], 2),
    "difference": lambda t, x: t.rsub(x[0], x),
    "batch_norm of one column": lambda t, x: t.nn.functional.batch_norm(
        x[:1, :, :2, :1].contiguous().permute(0, 2, 1, 3), t.zeros(2), t.ones(2)),
    "larger": lambda t, x: t.max(x, x[:1]),
    "taken": lambda t, x: t.take(x, t.zeros(2, 3, dtype=t.int64).t()),
    "isin": lambda t, x: t.isin(x, t.ones(2)),
    "tiled once": lambda t, x: t.tile(x, (1, 1)),
    "singular values": lambda t, x: t.linalg.matrix_norm(x, 2),
    "norm of other dimensions": lambda t, x: t.linalg.matrix_norm(x, 1, (0, 2), keepdim=True),
    "runs": lambda t, x: t.unique_consecutive(x, dim=2),
    "pixels": lambda t, x: t.nn.functional.pixel_unshuffle(x[..., :4], 2),
    "pixels shuffled": lambda t, x: t.nn.functional.pixel_shuffle(t.cat([x, x[:, :1]], 1), 2),
    "resize_": lambda t, x: x.clone().resize_(1, 2, 3, 4, memory_format=t.channels_last),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("layout", ["row-major", "channels_last", "transposed"])
def test_strides_are_those_of_torch(name: str, layout: str) -> None:
    torch = pytest.importorskip("torch")

    def strides(package: Any) -> Any:
        x = package.from_numpy(IMAGE.copy())
        if layout == "channels_last":
            x = x.contiguous(memory_format=package.channels_last)
        elif layout == "transposed":
            x = x.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
        made = CALLS[name](package, x)
        return made.stride(), made.is_contiguous()

    assert strides(ts) == strides(torch)


@pytest.mark.torch
def test_modules_and_volumes_are_as_torch() -> None:
    torch = pytest.importorskip("torch")

    def strides(package: Any) -> list[Any]:
        layers = package.nn.Sequential(
            package.nn.Conv3d(3, 4, 2), package.nn.BatchNorm3d(4), package.nn.ReLU()
        ).to(memory_format=package.channels_last_3d)
        x = package.from_numpy(VOLUME).to(memory_format=package.channels_last_3d)
        return [*(p.stride() for p in layers.parameters()), layers(x).stride()]

    assert strides(ts) == strides(torch)


def test_strides_over_memory_in_another_order_are_a_view() -> None:
    x = ts.from_numpy(IMAGE).contiguous(memory_format=ts.channels_last)
    wanted = x.permute(0, 2, 3, 1).clone().reshape(-1).as_strided([2, 3], [1, 2], 4)
    seen = x.as_strided([2, 3], [1, 2], 4)
    assert seen.tolist() == wanted.tolist()
    x.mul_(2)
    assert seen.tolist() == (wanted * 2).tolist()


def ask_formats(x: ts.Tensor) -> list[bool | list[int]]:
    a = x.contiguous(memory_format=ts.channels_last)
    made = [
        x, a, a.contiguous(), x.to(memory_format=ts.channels_last), a.permute(0, 2, 3, 1),
        x.clone(memory_format=ts.channels_last), a.to(ts.float64, memory_format=ts.channels_last),
        ts.zeros_like(x, memory_format=ts.channels_last),
        ts.full_like(x, 2.0, memory_format=ts.channels_last),
    ]  # fmt: skip
    found: list[bool | list[int]] = []
    for t in made:
        found.append(t.stride())
        found.append(t.is_contiguous())
        found.append(t.is_contiguous(memory_format=ts.channels_last))
        found.append(t.is_contiguous(memory_format=ts.channels_last_3d))
    return found


def ask_computed(x: ts.Tensor) -> tuple[list[int], bool]:
    y = x.contiguous(memory_format=ts.channels_last).relu()
    return y.stride(), y.is_contiguous(memory_format=ts.channels_last)


def computes_only(x: ts.Tensor) -> ts.Tensor:
    y = x.contiguous(memory_format=ts.channels_last)
    return ts.relu(y + 1) if y.is_contiguous(memory_format=ts.channels_last) else y


@pytest.mark.parametrize("layout", ["row-major", "channels_last", "one channel"])
def test_native_code_sees_the_strides_of_formats(layout: str) -> None:
    image = IMAGE[:, :1].copy() if layout == "one channel" else IMAGE
    x = ts.from_numpy(image)
    if layout == "channels_last":
        x = x.contiguous(memory_format=ts.channels_last)
    for program in (ask_formats, ask_computed, computes_only):
        scripted = ts.jit.script(program)
        native = ts.compile(scripted)
        found, wanted = native(x), scripted(x)
        assert str(found) == str(wanted)
        assert native.stats.is_native or program is ask_computed


def test_native_code_refuses_formats_of_other_ranks() -> None:
    @ts.jit.script
    def image(x: ts.Tensor) -> ts.Tensor:
        return x.contiguous(memory_format=ts.channels_last)

    with pytest.raises(OperatorError, match="required rank 4 tensor to use channels_last format"):
        ts.compile(image)(np.ones((2, 3), np.float32))


SIZES_OF_ONE = [(1, 3, 1, 4), (2, 1, 4, 1)]
COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "like": lambda m, x: m.empty_like(x),
    "clone": lambda m, x: x.clone(),
    "conversion": lambda m, x: x.double(),
    "unary": lambda m, x: m.exp(x),
    "binary": lambda m, x: x + x,
    "broadcast": lambda m, x: x + m.ones(x.size(-1)),
    "sum with a number": lambda m, x: x + 1,
    "comparison with a number": lambda m, x: x > 1,
    "difference from a number": lambda m, x: 1 - x,
    "power": lambda m, x: x**2,
    "power of a number": lambda m, x: 2**x,
    "numbers where": lambda m, x: m.where(x > 1, 1.0, 2.0),
    "bounded": lambda m, x: x.clamp(0),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", COPIES)
def test_strides_of_sizes_of_one_are_torchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    for shape in SIZES_OF_ONE:
        for order in permutations(range(4)):
            made = [COPIES[name](m, m.ones(shape).permute(order)).stride() for m in (ts, torch)]
            assert made[0] == made[1], (shape, order)


@pytest.mark.torch
def test_an_out_that_grows_has_the_strides_of_the_result() -> None:
    torch = pytest.importorskip("torch")
    for order in permutations(range(3)):
        for step in (1, 2):
            found = [
                m.add(x := m.ones(2, 3, 8)[:, :, ::step].permute(order), x, out=m.empty(0)).stride()
                for m in (ts, torch)
            ]
            assert found[0] == found[1], (order, step)
    kept = ts.empty(3, 2).t()
    assert ts.exp(ts.ones(2, 3), out=kept).stride() == (1, 2)
