"""Do convolutions by Winograd's algorithm give PyTorch's numbers?"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.compiler.options import CompileOptions

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

BOUNDS = {2: 2e-6, 4: 3e-5}
"""Of the greatest number, by the side of the tiles: two or three times what is measured."""


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, 1, 1), nn.SiLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, 1, "same"), nn.ReLU(), nn.Conv2d(128, 64, 3, 1, 0),
    ).eval()  # fmt: skip


@pytest.mark.parametrize("tile", BOUNDS)
@pytest.mark.parametrize("size", [(1, 3, 61, 58), (3, 3, 64, 64)])
def test_a_network(tile: int, size: tuple[int, ...]) -> None:
    module, x = network(), torch.rand(size, generator=torch.Generator().manual_seed(1))
    options = CompileOptions(winograd=tile, cache=False, fallback="error")
    function = ts.compile(torch.jit.script(module), (x,), options=options)
    assert len(re.findall(r"\* a1\.f32\[i[01], r0, i4\]", function.ir("kernels"))) == 4
    wanted = module.double()(x.double()).detach()
    found = function(x).detach()
    assert (found - wanted).abs().max() <= BOUNDS[tile] * wanted.abs().max()


@pytest.mark.parametrize("tile", BOUNDS)
def test_weights_that_are_arguments(tile: int) -> None:
    def convolved(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
        return ts.relu(ts.conv2d(x, w, b, 1, 1)) + 1

    shapes = ((2, 48, 19, 24), (40, 48, 3, 3), (40,))
    given = [np.random.default_rng(0).standard_normal(s).astype("f4") for s in shapes]
    x, w, b = (torch.from_numpy(a).double() for a in given)
    wanted = (torch.relu(torch.conv2d(x, w, b, 1, 1)) + 1).numpy()
    options = CompileOptions(winograd=tile, cache=False)
    found = ts.compile(convolved, given, options=options)(*given)
    assert np.abs(found - wanted).max() <= BOUNDS[tile] * np.abs(wanted).max()
