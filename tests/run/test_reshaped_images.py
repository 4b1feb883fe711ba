"""Convolutions of images whose dimensions are one in memory, and those that are products of copied
windows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts


class OfRows(ts.nn.Module):
    """Each row is an image."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.conv = ts.nn.Conv2d(channels, out, 3, padding=1)
        self.channels = channels

    def forward(self, x):
        return self.conv(x.view(x.shape[0], self.channels, 14, 14))


class Decoder(ts.nn.Module):
    """An image is made of a vector, and enlarged."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = ts.nn.Linear(24, 32 * 16)
        self.conv = ts.nn.ConvTranspose2d(32, 20, 4, 2, 1)

    def forward(self, x):
        return self.conv(ts.relu(self.linear(x)).view(-1, 32, 4, 4))


class Plain(ts.nn.Module):
    def __init__(self, channels: int, out: int, kernel: int) -> None:
        super().__init__()
        self.conv = ts.nn.Conv2d(channels, out, kernel, padding=kernel // 2)

    def forward(self, x):
        return self.conv(x)


def kernels(f: ts.compile) -> list[str]:
    return re.findall(r'\["tensorize", "\w+", "([\w ]+)"', f.ir("schedule"))


def reference(image: np.ndarray, conv: ts.nn.Module) -> np.ndarray:
    weight, bias = (np.asarray(p.detach()).astype("f8") for p in conv.parameters())
    border = weight.shape[-1] // 2
    wide = np.pad(image, ((0, 0), (0, 0), (border, border), (border, border)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, weight.shape[2:], (2, 3))
    return np.einsum("ncyxkl,ockl->noyx", windows, weight, optimize=True) + bias[:, None, None]


@pytest.mark.parametrize(("channels", "out"), [(1, 32), (16, 8), (16, 32)])
def test_rows_that_are_images(channels: int, out: int) -> None:
    ts.manual_seed(0)
    model = OfRows(channels, out).eval()
    x = np.random.default_rng(0).standard_normal((3, channels * 196)).astype("f4")
    f = ts.compile(model, (x,), fallback="error")
    assert kernels(f)
    wanted = reference(x.reshape(3, channels, 14, 14).astype("f8"), model.conv)
    np.testing.assert_allclose(np.asarray(f(x)), wanted, rtol=1e-4, atol=1e-5)


def test_a_vector_that_becomes_an_image() -> None:
    """Without dimensions of its own the image would be no image, and the product no tiles."""
    ts.manual_seed(0)
    model = Decoder().eval()
    x = np.random.default_rng(0).standard_normal((5, 24)).astype("f4")
    f = ts.compile(model, (x,), fallback="error")
    assert [name.removeprefix("packed ") for name in kernels(f)] in (
        ["product", "convolution"],
        ["product", "turned convolution"],
    )
    image = model.linear(ts.tensor(x)).relu().view(5, 32, 4, 4).detach()
    np.testing.assert_allclose(
        np.asarray(f(x)), np.asarray(model.conv(image).detach()), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("channels", "size", "out", "kernel", "is_product"),
    [
        (1, 28, 32, 3, True),
        (4, 20, 24, 3, True),
        (5, 20, 32, 3, False),  # deeper: looking for windows takes less time
        (1, 28, 16, 3, False),  # few channels read each copy
        (3, 128, 32, 3, False),  # copies leave the second cache
    ],
)
def test_which_windows_are_copied(
    channels: int, size: int, out: int, kernel: int, is_product: bool
) -> None:
    ts.manual_seed(0)
    model = Plain(channels, out, kernel).eval()
    x = np.random.default_rng(0).standard_normal((2, channels, size, size)).astype("f4")
    f = ts.compile(model, (x,), fallback="error")
    assert (kernels(f) == ["product"]) == is_product
    wanted = reference(x.astype("f8"), model.conv)
    np.testing.assert_allclose(np.asarray(f(x)), wanted, rtol=1e-4, atol=1e-5)
