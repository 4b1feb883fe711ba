"""Calls of operators that are a few calls of others (`native_recipes.py`)."""

from __future__ import annotations

from native_values import FLOAT, Row, T, index, mask, t

_SQUARE = t(1, 3, 8, 8)
_FILTER = t(4, 3, 3, 3)
_CUBE, _CUBES = t(1, 2, 5, 5, 5), t(3, 2, 2, 2, 2)
_COMPLEX = T((4, 5), "c8")

COMPOSITE_ROWS: dict[str, list[Row]] = {
    "_adaptive_avg_pool2d": [(_SQUARE, [3, 2])],
    "_adaptive_avg_pool3d": [(_SQUARE, [3, 2, 2])],
    "_add_relu.Scalar": [(t(3, 4), 1.5), (t(3, 4), 2, 3)],
    "_add_relu.Tensor": [(t(3, 4), t(4)), (t(3, 4), t(3, 4), -2)],
    "_addmm_activation": [(t(4), t(3, 5), t(5, 4)), (t(4), t(3, 5), t(5, 4), 2, 0.5, True)],
    "_cholesky_solve_helper": [(T((2, 2), "f8"), T((2, 2), "f8"), True)],
    "_fft_c2c": [(_COMPLEX, [0, 1], n, f) for n in range(3) for f in (True, False)],
    "_fft_c2r": [*((_COMPLEX, [0, 1], n, 8) for n in range(3)), (_COMPLEX, [1], 1, 9)],
    "_fft_r2c": [(T((4, 5), "f8"), [0, 1], n, f) for n in range(3) for f in (True, False)],
    "_grid_sampler_2d_cpu_fallback": [(t(2, 3, 4, 4), t(2, 3, 3, 2), 0, 0, False)],
    "lift": [(t(3, 4),)],
    "_linalg_eigh": [(T((4, 4), "f8"), "U", False)],
    "_linalg_svd": [(T((4, 4), "f8"), False, False)],
    "_logcumsumexp": [(t(3, 4), 1)],
    "_masked_softmax": [
        (t(3, 4), mask(3, 4)),
        (t(2, 3, 4, 4), mask(4, 4), 2, 0),
        (t(2, 3, 4, 4), mask(2, 4), 3, 1),
        (t(2, 3, 4), mask(2, 3, 4), -1, 2),
    ],
    "_pad_circular": [(t(1, 3, 4), [1, 2])],
    "_pad_enum": [(t(1, 3, 4), [1, 2], mode) for mode in range(4)],
    "_pdist_forward": [(t(4, 3),), (t(4, 3), 1.0)],
    "_prelu_kernel": [(t(2, 3, 4), t(1, 3, 1))],
    "_reshape_copy": [(t(3, 4), [2, 6]), (t(3, 4), [-1])],
    "_slow_conv2d_forward": [(_SQUARE, _FILTER, [3, 3], t(4), [2, 1], [1, 0])],
    "_stack": [([t(3, 4), t(3, 4)],), ([t(3, 4), t(3, 4)], -1)],
    "_trilinear": [
        (t(3), t(4), t(3, 4), [1], [0], [], [0]),
        (t(3), t(4), t(3, 4), [1], [0], [], []),
    ],
    "_unsafe_index.Tensor": [(t(3, 4), [index(2, high=3)]), (t(3, 4), [None, index(2, high=3)])],
    "_unsafe_index_put": [(t(3, 4), [index(2, high=3)], t(4), True)],
    "_weight_norm_interface": [(t(3, 4), t(3, 1)), (t(3, 4), t(1, 4), 1)],
    "flatten_dense_tensors": [([t(3, 4), t(2)],)],
    "linalg__powsum": [(t(3, 4), 3, [1]), (t(3, 4),), (t(3, 4), 2, [0, 1], True, FLOAT)],
    "slow_conv3d": [(_CUBE, _CUBES, [2, 2, 2]), (_CUBE, _CUBES, [2, 2, 2], t(3), [2, 1, 1])],
    "slow_conv3d_forward": [(_CUBE, _CUBES, [2, 2, 2], None, [1, 1, 1], [0, 1, 0])],
    "slow_conv_dilated2d": [(_SQUARE, _FILTER, [3, 3], None, [1, 1], [0, 0], [2, 2])],
    "slow_conv_dilated3d": [(_CUBE, _CUBES, [2, 2, 2], None, [1, 1, 1], [0, 0, 0], [2, 1, 1])],
    "slow_conv_transpose2d": [(_SQUARE, t(3, 4, 3, 3), [3, 3], None, [2, 2], [1, 1], [1, 1])],
    "slow_conv_transpose3d": [(_CUBE, t(2, 3, 2, 2, 2), [2, 2, 2], t(3))],
    "sym_numel sym_stride": [(t(3, 4),)],
    "sym_stride.int": [(t(3, 4), 0), (t(3, 4), -1), (t(3, 4), 2)],
    "thnn_conv2d": [(_SQUARE, _FILTER, [3, 3]), (_SQUARE, _FILTER, [3, 3], t(4), [1, 2], [1, 1])],
    "unflatten_dense_tensors": [(t(10), [t(2, 3), t(4)])],
    "unique_dim_consecutive": [(t(3, 4), 0), (t(3, 4), 1, True, True)],
}
