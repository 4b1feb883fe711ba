"""The programs of the sweep: one expression each, and what its names are.

An argument is `name=kind:sizes`. Kinds: `normal`, `unit` (between 0.05 and 0.95), `wide` (those in
float64), `below9` (integers from 1 to 8; any number), `bool`, `rising` (sorted).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """`body` is an expression over the arguments' names and `T`, the library."""

    name: str
    body: str
    arguments: tuple[str, ...]


UNARY = """
abs acos acosh asin atan ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac
i0 isfinite isinf isnan lgamma log log10 log1p log2 logical_not nan_to_num neg reciprocal relu
round rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
"""
WIDE = "exp sin tanh sigmoid log sqrt floor erf"
ACTIVATIONS = """
celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu
silu softplus softshrink softsign tanhshrink
"""
BINARY = """
add atan2 copysign div eq floor_divide fmax fmod heaviside hypot logaddexp logical_and lt
maximum minimum mul nextafter pow remainder sub xlogy
"""
OF_INTEGERS = "add bitwise_and bitwise_xor eq floor_divide gcd maximum mul remainder"
CASTS = """
normal>float64 normal>int64 normal>bool normal>uint8 normal>bfloat16 normal>float16
below100>float32 below100>int32 bool>float32 wide>float32
"""
SHAPES = """
512x512 64x64x64 4096x7 7x4096 32x16x40 64x8x128 16x128x17 7x33x65 128x128x4 4x8x16x32
2x3x224x224 16x64x7x7 256x300 8x1024 4x4096x3 2x64x56x56
"""
ALONG = """
sum: x.sum({d})
mean: x.mean({d})
amax: x.amax({d})
prod: x.prod({d})
var: x.var({d})
std: x.std({d})
logsumexp: x.logsumexp({d})
softmax: x.softmax({d})
log_softmax: x.log_softmax({d})
argmax: x.argmax({d})
cumsum: x.cumsum({d})
cummax: x.cummax({d})[0]
normalize: T.nn.functional.normalize(x, dim={d})
min: x.min({d})[0]
any: (x > 1.0).any({d})
centered: x - x.mean({d}, keepdim=True)
sort: x.sort({d})[0]
median: x.median({d})[0]
flip: x.flip([{d}])
cat: T.cat([x, x], {d})
"""
"""A name, and an expression of a dimension `d`."""
TURNED = (
    "x.transpose(0, 1).contiguous()",
    "x.transpose(-1, -2).contiguous()",
    "x.transpose(0, -1).contiguous()",
    "x.transpose(-1, -2).softmax(-1)",
)
PRODUCTS = """
17x33@33x65 64x64@64x64 100x100@100x100 250x250@250x250 1000x3@3x1000 3x1000@1000x3
1000x1000@1000x1 512x512@512x7 7x512@512x512 2048x16@16x2048 16x4096@4096x16 4096x128@128x512
32x64x64@32x64x64 1000x4x4@1000x4x4
"""
OTHERS = """
T.topk(x, 5, 1)[0]; x=normal:512x512
T.topk(x, 50, 1)[0]; x=normal:64x4096
T.kthvalue(x, 5, 1)[0]; x=normal:512x512
T.sort(x)[0]; x=normal:100000
T.unique(x); x=below1000:100000
T.bincount(x); x=below1000:100000
T.histc(x, 100, 0.0, 1.0); x=unit:100000
T.quantile(x, 0.3); x=normal:100000
T.searchsorted(y, x); x=normal:10000, y=rising:1000
x.permute(0, 2, 3, 1).contiguous(); x=normal:8x32x28x28
x.repeat(4, 4); x=normal:128x128
T.repeat_interleave(x, 4, 1); x=normal:512x128
T.roll(x, 3, 1); x=normal:512x512
T.tril(x); x=normal:512x512
x[:, ::2].contiguous(); x=normal:512x512
x[:, None, :] - y[None]; x=normal:128x64, y=normal:128x64
T.where(x > 0, x, y); x=normal:512x512, y=normal:512x512
x.masked_fill(m, 0.0); x=normal:512x512, m=bool:512x512
x[m]; x=normal:512x512, m=bool:512x512
T.nonzero(x > 0.5); x=normal:512x512
x[i]; x=normal:1000x256, i=below1000:2000
T.gather(x, 1, i); x=normal:512x512, i=below512:512x512
T.gather(x, 0, i); x=normal:512x512, i=below512:512x512
x.scatter(1, i, y); x=normal:512x512, i=below512:512x512, y=normal:512x512
x.scatter_add(0, i, y); x=normal:512x512, i=below512:512x512, y=normal:512x512
x.index_add(0, i, y); x=normal:512x64, i=below512:2000, y=normal:2000x64
F.embedding(i, x); x=normal:30000x128, i=below30000:4x128
F.one_hot(i, 100); i=below100:10000
T.isin(x, y); x=below1000:10000, y=below1000:50
F.pad(x, [1, 1, 1, 1]); x=normal:8x32x28x28
F.pad(x, [1, 1, 1, 1], 'reflect'); x=normal:8x32x28x28
x @ y.t(); x=normal:256x256, y=normal:256x256
x.t() @ y; x=normal:256x256, y=normal:256x256
x @ y; x=wide:100x100, y=wide:100x100
x @ y; x=below9:100x100, y=below9:100x100
T.cdist(x, y); x=normal:256x64, y=normal:256x64
T.cross(x, y, 1); x=normal:10000x3, y=normal:10000x3
F.linear(x, y, z); x=normal:32x256, y=normal:512x256, z=normal:512
F.conv2d(x, y, None, 1, 1); x=normal:1x3x64x64, y=normal:16x3x3x3
F.conv2d(x, y, None, 1, 1); x=normal:4x32x28x28, y=normal:64x32x3x3
F.conv2d(x, y, None, 2, 1); x=normal:4x32x28x28, y=normal:64x32x3x3
F.conv2d(x, y); x=normal:4x64x28x28, y=normal:64x64x1x1
F.conv2d(x, y, None, 1, 1, 1, 4); x=normal:2x32x28x28, y=normal:32x8x3x3
F.conv2d(x, y, None, 2, 3); x=normal:1x3x112x112, y=normal:32x3x7x7
F.conv1d(x, y, None, 1, 1); x=normal:8x32x256, y=normal:64x32x3
F.conv3d(x, y, None, 1, 1); x=normal:1x8x16x16x16, y=normal:16x8x3x3x3
F.conv_transpose2d(x, y, None, 2, 1); x=normal:2x32x14x14, y=normal:32x16x4x4
F.max_pool2d(x, 3, 2, 1); x=normal:4x32x28x28
F.avg_pool2d(x, 3, 1, 1); x=normal:4x32x28x28
F.adaptive_avg_pool2d(x, [7, 7]); x=normal:4x32x28x28
F.interpolate(x, scale_factor=2.0); x=normal:2x16x28x28
F.interpolate(x, scale_factor=2.0, mode='bilinear'); x=normal:2x16x28x28
F.interpolate(x, scale_factor=2.0, mode='bicubic'); x=normal:2x16x28x28
F.grid_sample(x, y, align_corners=False); x=normal:2x16x28x28, y=unit:2x28x28x2
F.unfold(x, [3, 3], 1, 1); x=normal:2x16x28x28
F.pixel_shuffle(x, 2); x=normal:2x16x28x28
F.layer_norm(x, [256]); x=normal:512x256
F.group_norm(x, 4); x=normal:4x32x28x28
F.instance_norm(x); x=normal:4x32x28x28
F.local_response_norm(x, 5); x=normal:2x16x28x28
F.cross_entropy(x, i); x=normal:512x100, i=below100:512
F.mse_loss(x, y); x=normal:512x512, y=normal:512x512
F.binary_cross_entropy_with_logits(x, y); x=normal:512x512, y=unit:512x512
F.scaled_dot_product_attention(x, x, x); x=normal:2x8x64x32
F.cosine_similarity(x, y); x=normal:512x128, y=normal:512x128
T.linalg.inv(x + 99.0 * T.eye(32)); x=normal:32x32
T.linalg.det(x); x=normal:64x64
T.fft.fft(x).real; x=normal:64x256
T.fft.rfft(x).abs(); x=normal:100x400
T.fft.irfft(T.fft.rfft(x)); x=normal:16x1024
T.fft.fft2(x).abs(); x=normal:4x128x128
T.stft(x, 400, 160, return_complex=True).abs(); x=normal:2x16000
F.softmax(x @ y, 1); x=normal:4096x64, y=normal:64x256
F.layer_norm(x @ y, [128]); x=normal:4096x128, y=normal:128x128
(x @ y).argmin(1); x=normal:16384x32, y=normal:32x100
T.lerp(x, y, 0.3); x=normal:512x512, y=normal:512x512
T.isclose(x, y); x=normal:512x512, y=normal:512x512
T.cov(x); x=normal:32x512
"""
"""An expression, in which `F` is `T.nn.functional`, and its arguments."""


def _lines(text: str, separator: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield [part.strip() for part in line.split(separator)]


def programs() -> Iterator[Program]:
    """All of them."""
    yield from _of_elements()
    for sizes in SHAPES.split():
        argument = (f"x=normal:{sizes}",)
        for name, body in _lines(ALONG, ": "):
            for d in range(sizes.count("x") + 1):
                yield Program(f"{name} of {sizes} along {d}", body.format(d=d), argument)
        for body in TURNED:
            yield Program(f"{body} of {sizes}", body, argument)
    for pair in PRODUCTS.split():
        x, y = pair.split("@")
        yield Program(pair, "x @ y", (f"x=normal:{x}", f"y=normal:{y}"))
    for body, arguments in _lines(OTHERS, "; "):
        full = body.replace("F.", "T.nn.functional.")
        yield Program(f"{body} of {arguments}", full, tuple(arguments.split(", ")))


def _of_elements() -> Iterator[Program]:
    """Those that compute each element by itself."""
    square = ("x=unit:512x512", "y=unit:512x512")
    integers = ("x=below100:512x512", "y=below30:512x512")
    for name in UNARY.split():
        yield Program(name, f"T.{name}(x)", square[:1])
    for name in WIDE.split():
        yield Program(f"{name} of float64", f"T.{name}(x)", ("x=wide:256x512",))
    for name in ACTIVATIONS.split():
        yield Program(name, f"T.nn.functional.{name}(x)", ("x=normal:512x512",))
    for name in BINARY.split():
        yield Program(name, f"T.{name}(x, y)", square)
    for name in OF_INTEGERS.split():
        yield Program(f"{name} of int64", f"T.{name}(x, y)", integers)
    for cast in CASTS.split():
        kind, dtype = cast.split(">")
        yield Program(f"{kind} to {dtype}", f"x.to(T.{dtype})", (f"x={kind}:512x512",))
