"""Operators over named sizes: compiled once, called with several shapes, against eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript import Tensor

F = ts.nn.functional


def spectra(x: Tensor):
    real = ts.fft.rfft(x)
    return (
        real,
        ts.fft.fft(x, norm="ortho"),
        ts.fft.irfft(real, n=x.size(1)),
    )


def correlated(x: Tensor, y: Tensor):
    """By the spectra of both, as signals of unlike lengths are convolved."""
    n = x.size(1) + y.size(1) - 1
    return ts.fft.irfft(ts.fft.rfft(x, n=n) * ts.fft.rfft(y, n=n), n=n)


def there_and_back(x: Tensor, window: Tensor):
    frames = ts.stft(x, window.size(0), window=window + 0.1, return_complex=True)
    return frames, ts.istft(frames, window.size(0), window=window + 0.1)


def filtered(x: Tensor, w: Tensor):
    """A filter a channel, as many as there are."""
    return F.conv1d(x, w, groups=x.size(1), padding=w.size(2) - 1)


def enlarged(x: Tensor, w: Tensor):
    return F.conv_transpose2d(x, w, stride=2, padding=1), F.conv2d(x, w, padding="same")


def pooled_beyond_the_edge(x: Tensor):
    return F.max_pool1d(x, 3, 2, 1, ceil_mode=True), F.avg_pool1d(x, 4, 3, 2, ceil_mode=True)


def halves(x: Tensor):
    a, b = x.chunk(2, 1)
    return a * b.sigmoid(), F.glu(x)


def pieces(x: Tensor):
    """As many as the sizes give."""
    h = ts.zeros(x.size(0))
    states: list[Tensor] = []
    for column in x.unbind(1):
        h = ts.tanh(column + h)
        states.append(h)
    sums = [part.sum() for part in x.split(3, 1)]
    return x.chunk(3, 1), ts.stack(states, 1), sums, ts.tensor_split(x, 3, 1)


def rescaled(x: Tensor):
    return (
        F.interpolate(x, scale_factor=1.7),
        F.interpolate(x, scale_factor=0.6, mode="bilinear"),
        F.interpolate(x, scale_factor=1.3, mode="area"),
        F.interpolate(x, size=[7, 3], mode="bilinear", antialias=True),
        F.interpolate(x, size=[4, 9], mode="lanczos", antialias=True),
        F.adaptive_max_pool2d(x, [x.size(1), 2]),
    )


def shuffled(x: Tensor):
    return F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)


def factored(x: Tensor):
    """Matrices that may be wide or tall."""
    q, r = ts.linalg.qr(x)
    return q @ r, ts.linalg.svdvals(x), ts.linalg.pinv(x)


def of_pairs(x: Tensor):
    return F.pdist(x), ts.combinations(x[:, 0], 2), ts.gradient(x, dim=0)[0]


def windows(x: Tensor):
    columns = F.unfold(x, 3, padding=1)
    return F.fold(columns * 2, [x.size(2), x.size(3)], 3, padding=1), x[0, 0].logcumsumexp(1)


def bits(x: Tensor):
    whole = x.view(dtype=ts.int32)
    return (whole >> 23) & 255, (whole ^ 1).view(dtype=ts.float32), x.view(dtype=ts.uint8)


def of_kept(x: Tensor, y: Tensor):
    """What two masks keep: sizes that are found, and the same."""
    m, n = x[:, 0] > -9.0, y[:, 0] > -9.0
    p, q = x[m], y[n]
    return (
        F.mse_loss(p, q),
        F.binary_cross_entropy(p.sigmoid(), q.sigmoid()),
        ts.bmm(p.unsqueeze(1), q.unsqueeze(2)),
        ts.cdist(p.unsqueeze(0), q.unsqueeze(0)),
        p[ts.arange(p.size(0)), (q[:, 0] > 0).long()],
        ts.equal(p, q),
        ts.equal(p, x.clone()),
        x.slice_scatter(q, 0),
    )


def picked(x: Tensor):
    """Places in a tensor that is a constant; negative ones count from the end of a named size."""
    return x[ts.tensor([0, -1, 1]), ts.tensor([-2, 1, 0])]


def every(x: Tensor):
    """A range whose step is a size."""
    return ts.arange(0, x.numel(), x.size(1)), ts.arange(x.numel(), 0, -x.size(0))


def least_squares(x: Tensor, y: Tensor):
    """Residuals there are of more equations than unknowns."""
    return ts.linalg.lstsq(x, y, driver="gels")


def fractions(x: Tensor, draws: Tensor):
    return F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=draws)


Shapes = tuple[tuple[int, ...], ...]
Specs = tuple[tuple[int | str, ...], ...]
ROWS: tuple[tuple[Callable[..., Any], Specs, tuple[Shapes, ...]], ...] = (
    (spectra, ((2, "N"),), (((2, 2),), ((2, 7),), ((2, 16),), ((2, 65),))),
    (correlated, ((2, "N"), (2, "K")), (((2, 30), (2, 5)), ((2, 60), (2, 5)), ((2, 9), (2, 14)))),
    (there_and_back, (("B", "L"), ("K",)), (((2, 64), (16,)), ((3, 90), (15,)))),
    (filtered, ((1, "C", "L"), ("C", 1, "K")), (((1, 3, 20), (3, 1, 5)), ((1, 5, 8), (5, 1, 4)))),
    (enlarged, ((2, "C", "H", "W"), ("C", "C", "K", "J")),
     (((2, 3, 6, 5), (3, 3, 3, 4)), ((2, 2, 4, 9), (2, 2, 5, 2)))),
    (halves, (("N", "C"),), (((3, 4),), ((2, 6),))),
    (pieces, (("N", "C"),), (((2, 4),), ((3, 7),), ((2, 3),))),
    (rescaled, ((1, "C", "H", "W"),), (((1, 2, 5, 6),), ((1, 3, 18, 9),))),
    (shuffled, ((1, "C", "H", "W"),), (((1, 2, 4, 6),), ((1, 4, 2, 8),))),
    (of_kept, (("N", "C"), ("N", "C")), (((5, 3), (5, 3)), ((9, 2), (9, 2)))),
    (factored, (("M", "N"),), (((3, 5),), ((6, 4),), ((4, 4),))),
    (of_pairs, (("M", "N"),), (((3, 5),), ((6, 4),))),
    (windows, ((2, 3, "H", "W"),), (((2, 3, 6, 5),), ((2, 3, 4, 19),))),
    (picked, (("M", "N"),), (((3, 5),), ((6, 2),))),
    (every, (("M", "N"),), (((3, 5),), ((6, 2),))),
    (least_squares, (("M", "N"), ("M", 2)), (((5, 3), (5, 2)), ((3, 3), (3, 2)))),
    (fractions, ((1, 2, "H", "W"), (1, 2, 2)),
     (((1, 2, 5, 6), (1, 2, 2)), ((1, 2, 9, 4), (1, 2, 2)))),
    (bits, (("M", "N"),), (((3, 5),), ((6, 40),))),
    (pooled_beyond_the_edge, ((1, "C", "L"),), (((1, 2, 6),), ((1, 2, 7),), ((1, 3, 8),))),
)  # fmt: skip


@pytest.mark.parametrize(
    ("program", "specs", "calls"), ROWS, ids=lambda v: getattr(v, "__name__", "")
)
def test_compiled_once(
    program: Callable[..., Any], specs: Specs, calls: tuple[Shapes, ...]
) -> None:
    taken = tuple(ts.TensorSpec(shape, ts.float32) for shape in specs)
    compiled = ts.compile(program, taken, cache=False, fallback="error")
    kernels = len(compiled.stats.native)
    for shapes in calls:
        rng = np.random.default_rng(len(calls))
        given = [rng.standard_normal(s, np.float32) for s in shapes]
        wanted = _arrays(program(*map(ts.from_numpy, given)))
        found = _arrays(compiled(*given))
        for w, f in zip(wanted, found, strict=True):
            assert f.shape == w.shape
            np.testing.assert_allclose(f, w, rtol=2e-5, atol=2e-5 * max(1.0, abs(w).max(initial=0)))
    assert compiled.stats.is_native and len(compiled.stats.native) == kernels


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [a for v in value for a in _arrays(v)]
    return [np.asarray(value)]


def test_lengths_are_checked() -> None:
    taken = (ts.TensorSpec((2, "L"), ts.float32), ts.TensorSpec(("K",), ts.float32))
    compiled = ts.compile(framed, taken, cache=False, fallback="error")
    x = np.ones((2, 40), np.float32)
    compiled(x, np.ones(8, np.float32))
    with pytest.raises(RuntimeError, match="expected a 1D window tensor of size equal to"):
        compiled(x, np.ones(7, np.float32))


def framed(x: Tensor, window: Tensor):
    return ts.stft(x, 8, window=window, return_complex=True)


def too_small(x: Tensor):
    return F.max_pool2d(x, 3, 2)


def chosen(p: Tensor):
    return ts.multinomial(p, 3)


def normalised(x: Tensor, w: Tensor):
    return ts.native_group_norm(x, w, None, 1, 6, x.size(2), 3, 1e-5)


@pytest.mark.parametrize(
    ("program", "specs", "good", "bad", "words"),
    [
        (too_small, ((1, 2, "H", "W"),), ((1, 2, 5, 3),), ((1, 2, 5, 2),), "size is too small"),
        (chosen, (("N",),), ((3,),), ((2,),), "cannot sample n_sample > "),
        (normalised, ((1, "C", "N"), ("C",)), ((1, 6, 5), (6,)), ((1, 8, 5), (8,)), "a vector of"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    program: Callable[..., Any], specs: Specs, good: Shapes, bad: Shapes, words: str
) -> None:
    taken = tuple(ts.TensorSpec(shape, ts.float32) for shape in specs)
    compiled = ts.compile(program, taken, cache=False, fallback="error")
    compiled(*(np.ones(shape, np.float32) for shape in good))
    with pytest.raises(RuntimeError, match=words):
        compiled(*(np.ones(shape, np.float32) for shape in bad))
    assert len(compiled.stats.native) == 1
