"""Calls of products, windows, norms, losses and recurrent networks (`native_recipes.py`)."""

from __future__ import annotations

from native_values import FLOAT, INT64, Row, T, index, mask, t

from tensorscript.lowering.ts_to_tg.polynomial import FAMILIES

_CELL = [t(8, 2), t(8, 2), t(8), t(8)]


def _recurrent(gates: int, layers: int, bidirectional: bool) -> list[T]:
    """The weights of a network with 3 inputs and 2 hidden units."""
    out = []
    for layer in range(layers):
        for _ in range(1 + bidirectional):
            width = 3 if layer == 0 else 2 * (1 + bidirectional)
            out += [t(gates * 2, width), t(gates * 2, 2), t(gates * 2), t(gates * 2)]
    return out


_PLACES = T((5,), "f8", is_chance=True)
_BAGS = T((1,), "i8", 0, 1)
_CELL_SHAPES = ((2, 4), (2, 3), (3, 4), (3, 3), (3,), (3,))

NUMERIC: dict[str, list[Row]] = {
    "can_cast": [(FLOAT, INT64), (INT64, FLOAT)],
    "promote_types": [(FLOAT, INT64), (INT64, INT64)],
    # slopes
    "gradient.array": [(t(4, 5), [1]), (t(4, 3), [0, 1], 2), (t(4, 2), [0, 1], 2)],
    "gradient.scalararray": [(t(4, 5), 0.5, [1, 0])],
    "gradient.scalarrayarray": [(t(4, 5), [0.5, 2], [1, 0], 2), (t(4, 5), [0.5], [1, 0])],
    "gradient.scalarrayint": [(t(5), [0.5], 0)],
    "gradient.tensorarray": [
        *((T((5, 5), "f8"), [_PLACES, _PLACES], [1, 0], order) for order in (1, 2)),
        (t(5, 5), [_PLACES, _PLACES], [1, 1]),
    ],
    "gradient.tensorarrayint": [(T((5, 3), "f8"), [_PLACES], 0), (t(4, 3), [_PLACES], 0)],
    # products
    "mm": [(t(3, 4), t(4, 5)), (t(0, 4), t(4, 2)), (t(3, 0), t(0, 2)), (t(3, 4), t(3, 4))],
    "mm.dtype": [(t(3, 4), t(4, 5), FLOAT)],
    "bmm": [(t(2, 3, 4), t(2, 4, 5)), (t(0, 3, 4), t(0, 4, 5)), (t(2, 3, 4), t(1, 4, 5))],
    "bmm.dtype": [(t(2, 3, 4), t(2, 4, 5), FLOAT)],
    "mv": [(t(3, 4), t(4)), (t(3, 0), t(0)), (t(3, 4), t(3))],
    "dot vdot": [(t(5), t(5)), (t(0), t(0)), (t(5), t(4)), (t(2, 3), t(2, 3))],
    "inner": [(t(5), t(5)), (t(2, 4), t(3, 4)), (t(), t(3))],
    "outer ger": [(t(3), t(4)), (t(0), t(4)), (t(2, 2), t(3))],
    "addmm": [
        (t(5), t(3, 4), t(4, 5)),
        (t(3, 5), t(3, 4), t(4, 5), 2, 3),
        (t(5), t(3, 4), t(3, 5)),
    ],
    "addmm.dtype": [(t(5), t(3, 4), t(4, 5), FLOAT)],
    "addmm_": [(t(3, 5), t(3, 4), t(4, 5))],
    "addmv": [(t(3), t(3, 4), t(4)), (t(), t(3, 4), t(4), 2, 3)],
    "addmv_": [(t(3), t(3, 4), t(4))],
    "addr": [(t(3, 4), t(3), t(4)), (t(4), t(3), t(4), 2, 3)],
    "addr_": [(t(3, 4), t(3), t(4))],
    "addbmm": [(t(3, 5), t(2, 3, 4), t(2, 4, 5)), (t(5), t(2, 3, 4), t(2, 4, 5), 2, 3)],
    "addbmm_": [(t(3, 5), t(2, 3, 4), t(2, 4, 5))],
    "baddbmm": [(t(5), t(2, 3, 4), t(2, 4, 5)), (t(2, 3, 5), t(2, 3, 4), t(2, 4, 5))],
    "baddbmm.dtype": [(t(5), t(2, 3, 4), t(2, 4, 5), FLOAT)],
    "baddbmm_": [(t(2, 3, 5), t(2, 3, 4), t(2, 4, 5))],
    "matmul linalg_matmul": [
        (t(4), t(4)),
        (t(3, 4), t(4)),
        (t(4), t(4, 2)),
        (t(2, 3, 4), t(4)),
        (t(5, 1, 3, 4), t(2, 4, 2)),
        (t(3, 4), t(3, 4)),
    ],
    "linear": [
        (t(2, 4), t(3, 4), t(3)),
        (t(4), t(3, 4)),
        (t(2, 2, 4), t(3, 4)),
        (t(2, 4), t(3, 5)),
    ],
    "bilinear": [(t(2, 3), t(2, 4), t(5, 3, 4), t(5)), (t(2, 3), t(2, 4), t(5, 3, 4), None)],
    "einsum": [
        ("bij,bjk->ik", [t(2, 3, 4), t(2, 4, 5)]),
        ("...i,...i", [t(2, 3), t(2, 3)]),
        ("ii->i", [t(3, 3)]),
        ("ij->i", [T((2, 3), "i4")]),
        ("ii->", [T((3, 3), "i4")]),
        ("ij,j->", [T((2, 3), "i4"), T((3,), "i4")]),
        ("ij,ij->", [T((2, 3), "i4"), T((2, 3), "i4")]),
    ],
    "einsum.sublist": [],
    "tensordot": [(t(2, 3, 4), t(4, 3, 5), [1, 2], [1, 0]), (t(2), t(3), [], [])],
    "kron": [(t(2, 3), t(3, 2)), (t(2), t(3, 1, 2)), (t(), t(3))],
    "chain_matmul": [([t(2, 3), t(3, 4), t(4, 2)],), ([t(2, 3)],)],
    "matrix_power linalg_matrix_power": [
        (t(3, 3), 3),
        (t(2, 3, 3), 0),
        (t(3, 3), 1),
        (t(2, 3), 2),
        (T((3, 3), "f8"), -2),
    ],
    "cross": [(t(4, 3), t(4, 3)), (t(3, 4), t(3, 4), 0), (t(2, 4), t(2, 4))],
    "linalg_cross": [(t(4, 3), t(4, 3)), (t(3, 4), t(3, 4), 0), (t(2, 4), t(2, 4))],
    "trace": [
        (t(3, 4),),
        (
            t(
                3,
            ),
        ),
    ],
    "linalg_multi_dot": [([t(2, 3), t(3, 4), t(4, 2)],)],
    "linalg_vander": [(t(4),), (t(2, 3), 2)],
    "linalg_vecdot": [(t(3, 4), t(3, 4)), (t(3, 4), t(4), 0)],
    "linalg_diagonal": [(t(2, 3, 4),), (t(3, 4), 1)],
    "cov": [(t(3, 5),), (t(4), 0)],
    "histc": [(t(9), 4, -2, 2), (T((9,), "f4"), 5)],
    "trapezoid.x trapz.x cumulative_trapezoid.x": [(t(3, 4), t(4)), (t(3, 4), t(3, 4), 0)],
    "trapezoid.dx trapz.dx cumulative_trapezoid.dx": [(t(3, 4),), (t(3, 4), 0.5, 0)],
    # grids of quantized dtypes
    "fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask": [
        (t(4, 3), 0.5, 1, -5, 5),
        (t(4), 0.5, 9, -5, 5),
    ],
    "fake_quantize_per_tensor_affine.tensor_qparams": [
        (t(4, 3), T((1,), "f4"), T((), "i4"), -9, 9),
        (t(4, 3), T((2,), "f4"), T((1,), "i4"), -9, 9),
    ],
    "_neg_view _neg_view_copy": [(T((3, 2), "f4"),), (T((3,), "i4"),), (T((2, 2), "c8"),)],
    "fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask": [
        (t(4, 3), T((3,), "f4"), T((3,), "i4"), 1, -9, 9),
        (t(4, 3), T((4,), "f4"), T((4,), "f4"), 0, 0, 3),
        *((t(4, 3), T((n,), "f4"), T((m,), "i4"), a, -9, 9) for n, m, a in ((4, 3, 0), (4, 4, 1))),
        *(
            (t(4, 3), T((3,), s), T((3,), z), -1, -9, 9)
            for s, z in (("f8", "i4"), ("f4", "i8"), ("f4", "i4"))
        ),
    ],
    "_make_per_tensor_quantized_tensor _make_per_channel_quantized_tensor": [],
    # order statistics
    "quantile.scalar nanquantile.scalar": [
        *((T((4, 5), "f4"), 0.3, 1, k, m) for k, m in ((False, "linear"), (True, "nearest"))),
        *((T((6,), "f8"), q, None, False, m) for q, m in ((0.5, "midpoint"), (0.4, "lower"))),
        (T((6,), "f8"), 0.35, None, True, "higher"),
        (T((6,), "f8"), 1.5),
    ],
    "quantile nanquantile": [(T((4, 5), "f4"), T((), "f4")), (T((4,), "f8"), T((3,), "f8"), 0)],
    "mode": [(t(4, 6),), (T((3, 9), "i8", 0, 3), 0, True), (T((3, 9), "i8", 0, 3),)],
    # polynomials
    **{
        f"special_{name}.n_scalar": [(t(4, 3), 5), (T((4,), "f8"), 0), (T((4,), "f4"), -1)]
        for name in FAMILIES
    },
    # spectra
    "fft_fft fft_ifft": [(t(3, 12),), (t(3, 4), 6, 0), (t(2, 90), None, 1, "ortho"), (t(5), 3)],
    "fft_rfft fft_ihfft": [(t(3, 12),), (t(3, 5), 6, 0), (t(2, 9), None, 1, "forward")],
    "fft_irfft fft_hfft": [(t(3, 7),), (t(3, 5), 9, 0), (t(2, 66), None, 1, "ortho")],
    "fft_fft2 fft_ifft2 fft_rfft2 fft_irfft2 fft_hfft2 fft_ihfft2": [(t(2, 6, 5),)],
    "fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn": [
        (t(2, 6, 5),),
        (t(4, 6, 3), [3, 8], [0, 1], "ortho"),
    ],
    "fft_fftfreq fft_rfftfreq": [(7, 0.5), (8,)],
    "stft": [
        (T((2, 40), "f4"), 16, 4, None, T((16,), "f4"), False, True, True),
        (T((40,), "f8"), 16, 5, 12, T((12,), "f8"), True, True, False),
        (T((40,), "c8"), 8),
        (T((40,), "f8"), 16, 5, 12, T((12,), "c16"), False, None, True),
        (T((40,), "f4"), 16, 5, None, T((16,), "c8"), False, True, True),
    ],
    "stft.center": [
        (T((2, 40), "f4"), 16, 4, None, T((16,), "f4"), True, "reflect", False, True, True),
        (T((40,), "f4"), 600, 20, 30, None, True, "constant", True, True, True),
    ],
    "istft": [
        (T((2, 9, 6), "c8"), 16, 4, None, T((16,), "f4")),
        (T((9, 6), "c16"), 16, 4, 12, T((12,), "f8"), True, True, None, 19),
        (T((16, 6), "c8"), 16, 4, None, None, False, False, False, None, True),
        (T((16, 6), "c16"), 16, 4, None, T((16,), "c16"), True, False, None, 40, True),
        (T((16, 6), "c16"), 16, 4, None, T((16,), "c16")),
        (T((9, 6), "c8"), 16, 4, None, T((16,), "f4"), True, False, None, None, True),
    ],
    # convolution
    "conv1d": [
        (t(2, 4, 9), t(6, 2, 3), t(6), [2], [1], [2], 2),
        (t(4, 9), t(6, 4, 3)),
        (t(2, 3, 9), t(6, 4, 3)),
    ],
    "conv1d.padding": [
        (t(2, 4, 9), t(6, 4, 3), t(6), [1], "same"),
        (t(2, 4, 9), t(6, 4, 3), None, [2], "valid"),
    ],
    "conv2d": [
        (t(2, 3, 6, 7), t(4, 3, 3, 2), None, [1, 2], [1, 0]),
        (t(1, 4, 5, 5), t(4, 1, 3, 3), t(4), [1, 1], [1, 1], [1, 1], 4),
    ],
    "conv2d.padding": [(t(1, 2, 5, 5), t(3, 2, 4, 3), t(3), [1, 1], "same")],
    "conv3d": [(t(1, 2, 4, 4, 4), t(2, 2, 2, 2, 2), t(2))],
    "conv3d.padding": [(t(1, 2, 3, 4, 4), t(2, 2, 2, 3, 2), None, [1, 1, 1], "same")],
    "conv_transpose1d": [(t(2, 4, 5), t(4, 3, 3), t(6), [2], [1], [1], 2)],
    "conv_transpose2d": [(t(2, 4, 3, 3), t(4, 3, 3, 3), t(6), [2, 2], [1, 1], [1, 1], 2)],
    "conv_transpose3d": [(t(1, 2, 3, 3, 2), t(2, 2, 2, 2, 2))],
    "conv_tbc": [(t(5, 2, 3), t(3, 3, 4), t(4), 1)],
    "convolution": [
        (t(2, 4, 9), t(6, 2, 3), t(6), [2], [1], [2], False, [0], 2),
        (t(2, 4, 3, 3), t(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
    ],
    "_convolution": [
        (t(2, 4, 9), t(6, 2, 3), t(6), [2], [1], [2], False, [0], 2, False, False, True, True)
    ],
    "_convolution.deprecated": [
        (t(2, 4, 9), t(6, 2, 3), t(6), [2], [1], [2], False, [0], 2, False, False, True)
    ],
    "_convolution_mode": [(t(2, 4, 9), t(6, 4, 3), t(6), [1], "same", [1], 1)],
    # pooling
    "max_pool1d": [(t(2, 3, 7), [3], [2], [1]), (t(3, 7), [2], [2], [0], [2], True)],
    "max_pool1d_with_indices": [(t(2, 3, 7), [3], [2], [1])],
    "max_pool2d max_pool2d_with_indices": [
        (t(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], [1, 1], True),
        (t(3, 7, 6), [3, 3]),
    ],
    "max_pool3d max_pool3d_with_indices": [(t(1, 2, 4, 5, 4), [2, 2, 2], [1, 2, 1])],
    "avg_pool1d": [(t(2, 3, 7), [2]), (t(3, 7), [3], [2], [1], True, False)],
    "avg_pool2d": [
        (t(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], True, True),
        (t(2, 3, 7, 6), [3, 2], [2, 2], [1, 1], True, False, 4),
    ],
    "avg_pool3d": [(t(1, 2, 4, 5, 4), [2, 2, 2], [1, 2, 1])],
    "adaptive_avg_pool1d": [(t(2, 3, 7), [3]), (t(3, 4), [1])],
    "adaptive_avg_pool2d mkldnn_adaptive_avg_pool2d": [
        (t(2, 3, 7, 6), [3, 2]),
        (t(3, 4, 6), [1, 1]),
    ],
    "adaptive_avg_pool3d": [(t(1, 2, 4, 5, 4), [2, 3, 1])],
    "adaptive_max_pool1d": [(t(2, 3, 7), [3])],
    "adaptive_max_pool2d": [(t(2, 3, 7, 6), [3, 2])],
    "adaptive_max_pool3d": [(t(1, 2, 4, 5, 4), [2, 3, 1])],
    # resizing and padding
    "upsample_nearest1d _upsample_nearest_exact1d": [(t(1, 2, 5), [8]), (t(1, 2, 5), [3])],
    "upsample_nearest1d.vec _upsample_nearest_exact1d.vec": [
        (t(1, 2, 5), [8], None),
        (t(1, 2, 5), None, [1.5]),
    ],
    "upsample_nearest2d _upsample_nearest_exact2d": [(t(1, 2, 4, 5), [8, 3])],
    "upsample_nearest2d.vec _upsample_nearest_exact2d.vec": [
        (t(1, 2, 4, 5), [8, 3], None),
        (t(1, 2, 4, 5), None, [1.5, 2.0]),
    ],
    "upsample_nearest3d _upsample_nearest_exact3d": [(t(1, 2, 3, 4, 3), [4, 2, 5])],
    "upsample_nearest3d.vec _upsample_nearest_exact3d.vec": [(t(1, 2, 3, 4, 3), [4, 2, 5], None)],
    "upsample_linear1d": [(t(1, 2, 5), [8], False), (t(1, 2, 5), [8], True)],
    "upsample_linear1d.vec": [(t(1, 2, 5), None, False, [2.0])],
    "upsample_bilinear2d": [(t(1, 2, 4, 5), [8, 3], False), (t(1, 2, 4, 5), [7, 3], True)],
    "upsample_bilinear2d.vec": [(t(1, 2, 4, 5), None, False, [2.0, 1.5])],
    "_upsample_bilinear2d_aa _upsample_bicubic2d_aa _upsample_lanczos2d_aa": [
        (T((1, 2, 9, 11), "f4"), [4, 5], False),
        (T((1, 2, 9, 11), "f8"), [20, 3], True),
        (T((1, 2, 9, 11), "f4"), [4, 5], False, 0.5, 0.4),
    ],
    "_upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec _upsample_lanczos2d_aa.vec": [
        (T((1, 2, 9, 11), "f4"), [4, 5], False, None),
        (T((1, 2, 9, 11), "f8"), None, False, [0.5, 0.75]),
    ],
    "upsample_bicubic2d": [(t(1, 2, 4, 5), [8, 3], False), (t(1, 2, 4, 5), [7, 3], True)],
    "upsample_bicubic2d.vec": [(t(1, 2, 4, 5), None, False, [2.0, 1.5])],
    "upsample_trilinear3d": [(t(1, 2, 3, 4, 3), [4, 2, 5], False)],
    "upsample_trilinear3d.vec": [(t(1, 2, 3, 4, 3), None, True, [2.0, 1.5, 2.0])],
    "constant_pad_nd": [(t(2, 3), [1, 2, 0, 1], 2.5), (t(2, 5), [-1, 2]), (t(0, 3), [1, 1, 1, 0])],
    "pad": [
        (t(2, 3), [1, 2]),
        (t(1, 2, 5), [1, 2], "reflect"),
        (t(1, 2, 5), [1, 2], "replicate"),
        (t(1, 2, 5), [1, 2], "circular"),
        (t(1, 2, 5), [-2, 3], "circular"),
        (t(1, 2, 5, 4), [2, -1, -3, 2], "circular"),
    ],
    "reflection_pad1d replication_pad1d": [(t(1, 2, 4), [1, 3]), (t(2, 4), [0, 2])],
    "reflection_pad2d replication_pad2d": [(t(1, 2, 4, 5), [1, 2, 3, 1])],
    "reflection_pad3d replication_pad3d": [(t(1, 2, 3, 3, 4), [1, 2, 0, 1, 1, 1])],
    "im2col": [(t(2, 3, 5, 6), [3, 2], [1, 2], [1, 1], [2, 1])],
    "col2im": [(t(2, 12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1])],
    "grid_sampler grid_sampler_2d": [
        (t(1, 2, 5, 5), t(1, 3, 4, 2), m, p, a)
        for m, p, a in ((0, 0, False), (1, 1, True), (2, 2, False))
    ],
    "grid_sampler_3d": [(t(1, 2, 3, 4, 3), t(1, 2, 3, 2, 3), 0, 1, False)],
    "pixel_shuffle": [(t(1, 8, 3, 2), 2)],
    "pixel_unshuffle": [(t(2, 3, 4, 6), 2)],
    "channel_shuffle native_channel_shuffle": [(t(2, 6, 3, 2), 3)],
    # normalisation
    "layer_norm": [(t(6, 5), [5], t(5), t(5)), (t(2, 3, 4), [3, 4])],
    "native_layer_norm": [(t(6, 5), [5], t(5), t(5), 1e-5), (t(6, 5), [5], None, None, 1e-5)],
    "rms_norm": [(t(3, 5), [5], t(5)), (t(2, 3, 4), [3, 4])],
    "group_norm": [(t(2, 4, 3), 2, t(4), t(4)), (t(2, 4), 4)],
    "native_group_norm": [(t(2, 4, 3), t(4), t(4), 2, 4, 3, 2, 1e-5)],
    "instance_norm": [
        (t(2, 4, 3), None, None, None, None, True, 0.1, 1e-5, False),
        (t(2, 4, 3), t(4), t(4), None, None, True, 0.1, 1e-5, False),
    ],
    "vander": [(t(4),), (t(4), 3), (t(4), 3, True), (t(4, 3),)],
    "multilabel_margin_loss multilabel_margin_loss_forward": [
        (T((4, 3), dtype), T((4, 3), "i8", -1, high), reduction)
        for dtype in ("f4", "f8")
        for high in (3, 4)
        for reduction in (0, 1)
    ],
    "native_batch_norm": [
        (
            T((3, 4, 2), "f4"),
            None,
            None,
            T((4,), "f4"),
            T((4,), "f4", is_chance=True),
            False,
            0.1,
            1e-5,
        ),
        (T((3, 4, 2), "f4"), T((4,), "f4"), T((4,), "f4"), None, None, True, 0.1, 1e-5),
    ],
    "_native_batch_norm_legit": [
        (
            T((3, 4, 2), "f4"),
            T((4,), "f4"),
            T((4,), "f4"),
            T((4,), "f4"),
            T((4,), "f4", is_chance=True),
            trains,
            0.1,
            1e-5,
        )
        for trains in (True, False)
    ],
    "_native_batch_norm_legit.no_stats": [(T((3, 4, 2), "f8"), None, None, True, 0.1, 1e-5)],
    "_native_batch_norm_legit_no_training _batch_norm_with_update": [
        (T((3, 4, 2), "f8"), None, None, T((4,), "f8"), T((4,), "f8", is_chance=True), 0.1, 1e-5)
    ],
    "batch_norm": [
        (t(4, 3), None, None, None, None, True, 0.1, 1e-5, False),
        (t(2, 3, 4), t(3), t(3), t(3), t(3), False, 0.1, 1e-5, False),
    ],
    "renorm": [(t(3, 4), 2, 0, 1.5), (t(3, 4), 1, 1, 1)],
    "norm_except_dim": [(t(4, 3), 2, 0), (t(2, 3, 4), 2, 1), (t(4, 3), 1, -1)],
    "_weight_norm": [(t(4, 3), t(4, 1)), (t(4, 3), t(1, 3), 1)],
    # losses
    "ctc_loss.IntList": [
        (T((6, 2, 4), "f4"), T((2, 3), "i8", 1, 4), [6, 5], [3, 2], 0, r) for r in (0, 1, 2)
    ]
    + [
        (T((3, 2, 4), "f8"), T((6,), "i8", 1, 4), [3, 2], [3, 3], 0, 1, True),
        (T((6, 4), "f8"), T((3,), "i8", 0, 3), [6], [3], 3, 0),
    ],
    "ctc_loss.Tensor": [
        (T((6, 2, 4), "f8"), T((2, 3), "i8", 1, 4), T((2,), "i8", 5, 6), T((2,), "i8", 2, 4)),
    ],
    "embedding_bag _embedding_bag _embedding_bag_forward_only": [
        (T((5, 3), "f4"), index(7, high=5), _BAGS, False, m) for m in (0, 1, 2)
    ]
    + [
        (T((5, 3), "f8"), index(7, high=5), _BAGS, False, 0, False, T((7,), "f8")),
        (T((5, 3), "f8"), index(7, high=5), T((2,), "i8", 0, 1), False, 2, False, None, True),
        (T((5, 3), "f8"), index(7, high=6), _BAGS),
    ],
    "embedding_bag.padding_idx": [
        (T((5, 3), "f8"), index(7, high=5), _BAGS, False, m, False, None, False, p)
        for m, p in ((0, 1), (1, -1), (2, None))
    ],
    "nll_loss nll_loss_nd": [
        (t(3, 4), index(3, high=4)),
        (t(3, 4), index(3, high=4), t(4), 0, 1),
        (t(3, 4), index(3, high=4), None, 2),
    ],
    "nll_loss2d": [(t(2, 4, 3, 2), index(2, 3, 2, high=4), t(4))],
    "cross_entropy_loss": [
        (t(3, 4), index(3, high=4)),
        (t(3, 4, 2), index(3, 2, high=4), t(4), 2),
        (t(3, 4), t(3, 4)),
        (t(3, 4), index(3, high=4), None, 1, -100, 0.1),
    ],
    "cosine_embedding_loss": [(t(3, 4), t(3, 4), T((3,), "f4"))],
    "triplet_margin_loss": [(t(3, 4), t(3, 4), t(3, 4))],
    "binary_cross_entropy": [(t(4, 3), t(4, 3)), (t(4), t(3))],
    "binary_cross_entropy_with_logits": [
        (t(4, 3), t(4, 3), t(3), t(3), 0),
        (t(4, 3), t(4, 3)),
        (t(4, 3), t(4, 3), None, t(3), 2),
    ],
    "poisson_nll_loss": [(t(4), t(4), False, True, 1e-8, 0), (t(4), t(4), True, False, 1e-8, 1)],
    "scaled_dot_product_attention": [
        (t(2, 3, 4, 8), t(2, 3, 5, 8), t(2, 3, 5, 6)),
        (t(3, 5, 8), t(3, 5, 8), t(3, 5, 6), None, 0.0, True),
        (t(2, 4, 8), t(2, 5, 8), t(2, 5, 6), t(4, 5)),
        (t(2, 4, 8), t(2, 5, 8), t(2, 5, 6), mask(4, 5)),
    ],
    "cosine_similarity": [(t(3, 4), t(3, 4)), (t(3, 4), t(4), -1)],
    "cdist": [(t(3, 4), t(5, 4)), (t(2, 3, 4), t(2, 5, 4), 1.0)],
    "_euclidean_dist": [(t(3, 4), t(5, 4)), (t(2, 3, 4), t(5, 4))],
    "_cdist_forward": [(t(3, 4), t(5, 4), 2.0, None)],
    "pairwise_distance": [(t(3, 4), t(3, 4)), (t(3, 4), t(4), 1.0)],
    # recurrent
    "lstm.input": [
        (
            t(4, 2, 3),
            [t(1, 2, 2), t(1, 2, 2)],
            _recurrent(4, 1, False),
            True,
            1,
            0.0,
            False,
            False,
            False,
        ),
        (
            t(2, 3, 3),
            [t(4, 2, 2), t(4, 2, 2)],
            _recurrent(4, 2, True),
            True,
            2,
            0.0,
            False,
            True,
            True,
        ),
    ],
    "gru.input": [
        (t(4, 2, 3), t(1, 2, 2), _recurrent(3, 1, False), True, 1, 0.0, False, False, False)
    ],
    "rnn_tanh.input rnn_relu.input": [
        (t(4, 2, 3), t(1, 2, 2), _recurrent(1, 1, False), True, 1, 0.0, False, False, False)
    ],
    "_pack_padded_sequence": [
        (t(4, 3, 2), T((3,), "i8", 2, 3), False),
        (t(3, 4, 2), T((3,), "i8", 2, 3), True),
        (t(3, 4, 2), T((4,), "i8", 2, 3), True),
    ],
    "_pad_packed_sequence": [
        (t(6, 3), T((3,), "i8", 2, 3), True, 0.5, 5),
        (t(6, 3), T((3,), "i8", 2, 3), False, 0.0, -1),
        (t(6, 3), T((3,), "i8", 2, 3), False, 0.0, 2),
    ],
    "pad_sequence": [
        ([t(2, 3), t(4, 3)], True, 0.5),
        ([t(2, 3), t(1, 3), t(4, 3)], False, 0.0, "left"),
        ([t(2)],),
    ],
    "lstm.data": [
        (
            t(6, 3),
            T((3,), "i8", 2, 3),
            [t(1, 2, 2), t(1, 2, 2)],
            _recurrent(4, 1, False),
            True,
            1,
            0.0,
            False,
            False,
        )
    ],
    "gru.data": [
        (
            t(6, 3),
            T((3,), "i8", 2, 3),
            t(1, 2, 2),
            _recurrent(3, 1, False),
            True,
            1,
            0.0,
            False,
            False,
        )
    ],
    "rnn_tanh.data rnn_relu.data": [
        (
            t(6, 3),
            T((3,), "i8", 2, 3),
            t(1, 2, 2),
            _recurrent(1, 1, False),
            True,
            1,
            0.0,
            False,
            False,
        )
    ],
    "lstm_cell": [(t(3, 2), [t(3, 2), t(3, 2)], *_CELL)],
    "gru_cell": [(t(2, 4), t(2, 3), t(9, 4), t(9, 3), t(9), t(9))],
    "rnn_tanh_cell rnn_relu_cell": [tuple(T(s, "f4") for s in _CELL_SHAPES)],
}
