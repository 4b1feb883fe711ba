"""Does machine code of the main kernels keep everything in registers inside its innermost loops?

LLVM notes in its assembly what it stores to the stack and loads back because registers ran out. A
register tile that is a little too large shows here, long before a benchmark is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import tensorscript as ts
from tensorscript.backends.cpu.jit import compile_assembly

F = ts.nn.functional


def chain(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.sigmoid(x * y + 1) * x


def softmax(x: ts.Tensor) -> ts.Tensor:
    return ts.softmax(x, 1)


def dense(x: ts.Tensor, w: ts.Tensor, b: ts.Tensor) -> ts.Tensor:
    return ts.relu(x @ w + b)


def product(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return x @ w


def by_channel(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, padding=1, groups=96)


def turned_planes(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, padding=2, groups=96)


def spread(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv_transpose2d(x, w, stride=2, padding=1)


def norm(x: ts.Tensor) -> ts.Tensor:
    return F.layer_norm(x, (1024,))


def convolution(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, padding=1)


def strided(x: ts.Tensor, w: ts.Tensor) -> ts.Tensor:
    return F.conv2d(x, w, stride=2, padding=1)


def attention(q: ts.Tensor, k: ts.Tensor, v: ts.Tensor) -> ts.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


Shape = tuple[int, ...]
KERNELS: dict[str, tuple[Callable[..., ts.Tensor], tuple[Shape, ...]]] = {
    "chain": (chain, ((512, 512), (512, 512))),
    "softmax": (softmax, ((512, 1024),)),
    "product": (dense, ((512, 512), (512, 512), (512,))),
    "few rows": (product, ((16, 1024), (1024, 1024))),
    "few columns": (product, ((4096, 144), (144, 24))),
    "batch": (product, ((12, 128, 64), (12, 64, 128))),
    "convolution": (convolution, ((1, 64, 56, 56), (64, 64, 3, 3))),
    "few pixels": (convolution, ((1, 512, 7, 7), (512, 512, 3, 3))),
    "stride": (strided, ((1, 64, 56, 56), (128, 64, 3, 3))),
    "channels": (by_channel, ((1, 96, 56, 56), (96, 1, 3, 3))),
    "turned planes": (turned_planes, ((1, 96, 7, 7), (96, 1, 5, 5))),
    "phases": (spread, ((1, 256, 8, 8), (256, 128, 4, 4))),
    "layer norm": (norm, ((512, 1024),)),
    "attention": (attention, ((1, 12, 128, 64),) * 3),
}
FULL_TILES = ("product", "few columns", "batch", "convolution", "stride", "attention")
CPUS = {"x86-64-v4": ("zmm", 24), "x86-64-v3": ("ymm", 12)}
"""Its registers, and the multiply-adds that a tile of a product has at least."""


TOO_MANY = """
define void @f(ptr %%x, ptr %%y, i64 %%count) {
entry:
  br label %%loop
loop:
  %%i = phi i64 [ 0, %%entry ], [ %%next, %%loop ]
  %%sum = phi %(n)s [ zeroinitializer, %%entry ], [ %%more, %%loop ]
  %%p = getelementptr %(n)s, ptr %%x, i64 %%i
  %%v = load %(n)s, ptr %%p
  %%more = fadd %(n)s %%sum, %%v
  %%next = add i64 %%i, 1
  %%again = icmp slt i64 %%next, %%count
  br i1 %%again, label %%loop, label %%done
done:
  store %(n)s %%more, ptr %%y
  ret void
}
"""


def innermost_loops(assembly: str) -> list[str]:
    """The text of every loop that has none inside: its blocks, as LLVM's comments tell them."""
    found: list[str] = []
    for function in assembly.split("-- Begin function")[1:]:
        blocks = re.split(r"^(?=\.LBB\w+:|# %bb)", function, flags=re.M)
        for block in blocks:
            if (header := re.match(r"\.L(BB\w+):", block)) and "This Inner Loop Header" in block:
                inside = [b for b in blocks if f"in Loop: Header={header[1]} " in b]
                found.append(block + "".join(inside))
    return found


def is_spill(line: str, loop: str) -> bool:
    """A loop that only copies may load an index from the stack, beside its vectors."""
    return "-byte " in line and ("vfmadd" in loop or " 8-byte " not in line)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", KERNELS)
def test_innermost_loops_do_not_spill(name: str, cpu: str) -> None:
    program, shapes = KERNELS[name]
    specs = tuple(ts.TensorSpec(shape, ts.float32) for shape in shapes)
    target = "x86_64-unknown-linux-gnu"
    assembly = ts.compile(program, specs, target=target, cpu=cpu, fallback="error").asm()
    register, multiply_adds = CPUS[cpu]
    loops = [loop for loop in innermost_loops(assembly) if register in loop]
    assert loops
    if name in FULL_TILES:
        products = [loop.count("\tvfmadd") for loop in loops if "vbroadcastss" in loop]
        assert max(products, default=0) >= multiply_adds
    spilled = [line for loop in loops for line in loop.splitlines() if is_spill(line, loop)]
    assert not spilled, f"{len(spilled)} in {name} for {cpu}: {spilled[:4]}"


def test_a_spill_is_seen() -> None:
    """What the other test looks for is what LLVM writes: more sums than there are registers."""
    assembly = compile_assembly(TOO_MANY % {"n": "<640 x float>"})
    assert any("-byte Spill" in loop for loop in innermost_loops(assembly))
