"""The fused operators of attention blocks: natively as the eager kernels compute them."""

from __future__ import annotations

import numpy as np
import pytest

import tensorscript as ts

ATTENTION = """
def f(q: Tensor, k: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, mask: Optional[Tensor]):
  return torch._native_multi_head_attention(
      q, k, k, 8, 2, w, b, v, c, mask, NEEDED, AVERAGED, TYPE)
"""
LAYER = """
def f(x: Tensor, w: Tensor, b: Tensor, v: Tensor, c: Tensor, n: Tensor, u: Tensor, d: Tensor):
  return torch._transformer_encoder_layer_fwd(
      x, 8, 2, w, b, v, c, GELU, FIRST, 1e-5, n, n, n, c, u, n, d, c)
"""


def numbers(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape), dtype=np.float32) * 1.3).reshape(shape)


def both(source: str, *args: np.ndarray | None) -> None:
    unit = ts.jit.CompilationUnit(source)
    native = ts.compile(unit.f, fallback="error")(*args)
    wanted = unit.f(*(None if a is None else ts.from_numpy(a) for a in args))
    pairs = zip(native, wanted, strict=True) if isinstance(wanted, tuple) else [(native, wanted)]
    for found, want in pairs:
        if want is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, want.numpy(), rtol=1e-5, atol=1e-5)


MASKS = {
    "none": (None, "None"),
    "source": (numbers(3, 5) > 0.3, "0"),
    "padding": (numbers(2, 5) > 0.3, "1"),
    "full": (numbers(2, 2, 3, 5) > 0.3, "2"),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("needed", ["True, True", "True, False", "False, True"])
def test_multi_head_attention(mask: str, needed: str) -> None:
    hidden, kind = MASKS[mask]
    source = ATTENTION.replace("NEEDED, AVERAGED", needed).replace("TYPE", kind)
    if needed.startswith("False"):
        source = source.replace("  return torch", "  out, none = torch") + "  return out\n"
    projections = numbers(24, 8), numbers(24), numbers(8, 8), numbers(8)
    both(source, numbers(2, 3, 8), numbers(2, 5, 8), *projections, hidden)


@pytest.mark.parametrize("gelu", ["True", "False"])
@pytest.mark.parametrize("first", ["True", "False"])
def test_encoder_layer(gelu: str, first: str) -> None:
    source = LAYER.replace("GELU", gelu).replace("FIRST", first)
    weights = numbers(24, 8), numbers(24), numbers(8, 8), numbers(8)
    both(source, numbers(2, 3, 8), *weights, numbers(8), numbers(8, 8), numbers(8, 8))
