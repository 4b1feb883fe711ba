"""Encoders over texts of several lengths: PyTorch's archives make nested tensors of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SHOWN = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]], bool)
X = np.random.default_rng(3).standard_normal((3, 4, 16), np.float32)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, mask_check=False)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, src_key_padding_mask=hidden)


def archive(make: Any) -> tuple[bytes, np.ndarray]:
    """What PyTorch saves of an encoder, and what it computes without gradients."""
    torch.manual_seed(0)
    inputs = torch.from_numpy(X), torch.from_numpy(~SHOWN)
    with torch.no_grad():
        made = make(Encoder().eval(), inputs)
        file = io.BytesIO()
        torch.jit.save(made, file)
        return file.getvalue(), made(*inputs).numpy()


def test_a_traced_encoder_is_native() -> None:
    data, wanted = archive(torch.jit.trace)
    module = ts.jit.load(data)
    found = module(ts.from_numpy(X), ts.from_numpy(~SHOWN)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert not wanted[~SHOWN].any() and not found[~SHOWN].any()
    compiled = ts.compile(module, cache=False, fallback="error")
    np.testing.assert_allclose(compiled(X, ~SHOWN), wanted, rtol=1e-4, atol=1e-5)


def test_a_scripted_encoder_pads_with_zeros_where_no_gradients_are_asked_for() -> None:
    data, wanted = archive(lambda module, inputs: torch.jit.script(module))
    module = ts.jit.load(data)
    with ts.no_grad():
        found = module(ts.from_numpy(X), ts.from_numpy(~SHOWN)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert not found[~SHOWN].any()


def test_masks_that_hide_rows_before_others_are_refused() -> None:
    gap = ts.tensor([[True, False, True, False]] * 3)
    assert not ts._nested_tensor_from_mask_left_aligned(ts.from_numpy(X), gap)
    with pytest.raises(RuntimeError, match="Mask must be left-aligned without gaps"):
        ts._nested_tensor_from_mask(ts.from_numpy(X), gap)
