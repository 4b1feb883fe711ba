"""Do convolutions by Winograd's algorithm give the convolution, and only where it is asked for?"""

from __future__ import annotations

import copy
import re
import shutil
from pathlib import Path
from typing import Any

import exported_program
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorscript as ts
from tensorscript import nn
from tensorscript.base.errors import UserError
from tensorscript.compiler.cli import main as command_line
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.options import CompileOptions
from tensorscript.nn import functional as F

AMPLIFIED = {0: 8, 2: 16, 4: 256}
"""Rounding errors of the greatest number that a result may be off, by the side of the tiles."""
SIDES = [2, 4]


def close(found: Any, wanted: np.ndarray, tile: int) -> None:
    bound = AMPLIFIED[tile] * np.finfo(np.float32).eps * np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def wide(program: Any, *arrays: np.ndarray) -> np.ndarray:
    """What a program gives in float64."""
    program = copy.deepcopy(program).double() if isinstance(program, nn.Module) else program
    found: np.ndarray = program(*(ts.from_numpy(a.astype("f8")) for a in arrays)).numpy()
    return found


def compiled(program: Any, tile: int, *arrays: np.ndarray) -> CompiledFunction:
    """The program by tiles of that side, checked between passes."""
    options = CompileOptions(winograd=tile, verify=True, cache=False, fallback="error")
    return ts.compile(program, arrays, options=options)


def tiled(text: str) -> int:
    """How many products by position a program has."""
    return len(re.findall(r"\* a1\.f32\[i[01], r0, i4\]", text))


def is_tiled(function: CompiledFunction) -> bool:
    """A convolution was rewritten."""
    return tiled(function.ir("kernels")) > 0


class Block(nn.Module):
    """A residual block with folded batch norms."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1)

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return ts.relu(x + self.second(ts.relu(self.norm(self.first(x)))))


@pytest.mark.parametrize(
    ("padding", "tile"), [(0, 2), (1, 4), (2, 2), ((2, 0), 4), ((0, 3), 2), ("same", 4)]
)
def test_paddings(padding: Any, tile: int) -> None:
    module, x = nn.Conv2d(32, 48, 3, 1, padding).eval(), normal(1, 32, 23, 29)
    function = compiled(module, tile, x)
    close(function(x), wide(module, x), tile)
    assert is_tiled(function)


def convolved(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return F.conv2d(ts.exp(x), w, b, 1, 1) * 0.5


@pytest.mark.parametrize("tile", SIDES)
def test_weights_that_are_arguments(tile: int) -> None:
    given = normal(2, 48, 15, 20), normal(40, 48, 3, 3, seed=1), normal(40, seed=2)
    function = compiled(convolved, tile, *given)
    close(function(*given), wide(convolved, *given), tile)
    assert is_tiled(function)


@pytest.mark.parametrize("tile", SIDES)
@pytest.mark.parametrize("sizes", [(1, 18, 18), (3, 17, 22), (1, 21, 15), (2, 19, 64)])
def test_a_block(tile: int, sizes: tuple[int, int, int]) -> None:
    batch, height, width = sizes
    module = Block(32).eval()
    module.norm.running_mean.copy_(ts.from_numpy(normal(32)))
    x = normal(batch, 32, height, width, seed=1)
    function = compiled(module, tile, x)
    close(function(x), wide(module, x), tile)
    assert is_tiled(function)


def test_images_one_by_one() -> None:
    """Many tiles of many images: what they hand on leaves the second cache."""
    module, x = Block(32).eval(), normal(8, 32, 64, 64)
    function = compiled(module, 4, x)
    assert "tg.loop" in function.ir("kernels")
    close(function(x), wide(module, x), 4)


def test_transformed_weights_are_constants() -> None:
    x = normal(1, 64, 28, 28)
    text = compiled(nn.Conv2d(64, 64, 3, 1, 1).eval(), 4, x).ir("scheduled")
    assert "_yp" in text
    assert "f32[64, 64, 3, 3]" not in text


def test_without_the_option_nothing_changes() -> None:
    module, x = Block(32).eval(), normal(1, 32, 28, 28)
    plain, none = ts.compile(module, (x,)), ts.compile(module, (x,), winograd=0)
    assert plain.ir("kernels") == none.ir("kernels")
    assert not is_tiled(plain)
    assert is_tiled(ts.compile(module, (x,), winograd=4))


LEFT = {
    "few channels": nn.Conv2d(3, 64, 3, 1, 1),
    "stride": nn.Conv2d(64, 64, 3, 2, 1),
    "dilation": nn.Conv2d(64, 64, 3, 1, 2, 2),
    "groups": nn.Conv2d(64, 64, 3, 1, 1, groups=2),
    "kernel": nn.Conv2d(64, 64, (3, 1)),
    "larger kernel": nn.Conv2d(64, 64, 5, 1, 2),
    "float64": nn.Conv2d(64, 64, 3, 1, 1).double(),
}


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    x = normal(1, 3 if name == "few channels" else 64, 28, 28)
    x = x.astype("f8") if name == "float64" else x
    assert not is_tiled(compiled(LEFT[name].eval(), 4, x))


def test_named_sizes_are_left_alone() -> None:
    module = nn.Conv2d(64, 64, 3, 1, 1).eval()
    function = ts.compile(module, [ts.TensorSpec((1, 64, "H", 28))], winograd=4)
    x = normal(1, 64, 28, 28)
    close(function(x), wide(module, x), 0)
    assert not is_tiled(function)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(SIDES), st.integers(1, 3), st.integers(16, 40), st.integers(16, 40),
    st.integers(14, 34), st.integers(14, 34), st.integers(0, 2),
)  # fmt: skip
def test_any_shape(
    tile: int, batch: int, channels: int, out: int, height: int, width: int, padding: int
) -> None:
    module = nn.Sequential(nn.ReLU(), nn.Conv2d(channels, out, 3, 1, padding)).eval()
    x = normal(batch, channels, height, width)
    function = ts.compile(module, (x,), winograd=tile, cache=False)
    close(function(x), wide(module, x), tile)


def test_infinite_and_missing_numbers() -> None:
    """They reach at least the places that they would reach otherwise, of the tiles they lie in."""
    module, x = nn.Conv2d(32, 32, 3, 1, 1).eval(), normal(1, 32, 24, 24)
    x[0, 3, 10, 11] = np.nan
    found = compiled(module, 2, x)(x)
    assert np.isnan(found[0, :, 9:12, 10:13]).all()
    assert np.isfinite(found[0, :, :8]).all() and np.isfinite(found[0, :, 12:]).all()


@pytest.mark.parametrize("winograd", [1, 3, 6, -2, 2.0, True, "4", None])
def test_sides_that_there_are_not(winograd: Any) -> None:
    with pytest.raises(UserError, match="winograd is one of 0, 2, 4, got"):
        ts.compile(ts.relu, winograd=winograd)


def test_strict_code_is_not_tiled() -> None:
    with pytest.raises(UserError, match="strict excludes it"):
        ts.compile(ts.relu, winograd=2, strict=True)


def test_options_are_told_apart() -> None:
    assert len({CompileOptions(winograd=tile).key for tile in (0, *SIDES)}) == 3


NET = (
    "import tensorscript as ts\n"
    "net = ts.nn.Sequential(ts.nn.Conv2d(32, 32, 3, padding=1), ts.nn.ReLU()).eval()\n"
)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "winograd_module.py"
    path.write_text(NET)
    command = ["dump", f"{path}:net", "--input", "1x32x28x28:f32", "--stage", "kernels"]
    for flags, products in (([], 0), (["--winograd", "2"], 1), (["--winograd", "4"], 1)):
        assert command_line([*command, *flags]) == 0
        assert tiled(capsys.readouterr().out) == products
    assert command_line([*command, "--winograd", "4", "--strict"]) == 1
    assert "strict excludes it" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command_line([*command, "--winograd", "3"])
    assert "invalid choice: 3" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_exported(tmp_path: Path) -> None:
    module, x = Block(32).eval(), normal(1, 32, 17, 20)
    made = ts.compile(module, (x,), winograd=4, cache=False)
    calls = [([x], [made(x)])]
    signature = made.export_object(tmp_path / "model.o", tmp_path / "model.h", "model")
    text = exported_program.program_text(signature, calls)
    exported_program.build(tmp_path, text, "model.o")
    exported_program.write_inputs(tmp_path, calls)
    done = exported_program.run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    exported_program.check_results(tmp_path, calls)


def test_strips_of_large_images() -> None:
    """An image whose tiles leave the second cache goes by strips, the last one beyond its end."""
    module, x = nn.Sequential(nn.Conv2d(32, 32, 3, 1, 1), nn.SiLU()).eval(), normal(1, 32, 117, 190)
    function = compiled(module, 4, x)
    text = function.ir("kernels")
    assert "f32[1, 36, 3, 48, 32]" in text and "tg.loop" in text
    close(function(x), wide(module, x), 4)
