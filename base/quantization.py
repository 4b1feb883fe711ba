"""What operators do on quantized tensors: the rules that eager mode and compiled programs share.

A quantized tensor is integers on a grid, (integer - zero_point) * scale. Source of the rules and of
the grids of `INTO`: PyTorch's quantized CPU kernels.
"""

from __future__ import annotations

from .dtypes import DType, bfloat16, float16, float32, int32
from .errors import OperatorError

_KEPT = """
    view reshape flatten unflatten permute transpose t squeeze unsqueeze select slice narrow expand
    contiguous clone detach alias chunk split split_with_sizes unbind index_select index flip roll
    repeat view_as reshape_as swapaxes movedim masked_select unfold channel_shuffle pixel_shuffle
    pixel_unshuffle max_pool1d max_pool2d max_pool3d quantized_max_pool1d quantized_max_pool2d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d max min amax amin sort topk
    lift_fresh cpu reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d"""

KEPT = frozenset(f"aten::{name}" for name in _KEPT.split())
"""Operators that move or choose elements: they run on the integers, and the grid stays."""

_SCALED = """
    relu leaky_relu mean avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d upsample_bilinear2d upsample_linear1d"""

SCALED = frozenset(f"aten::{name}" for name in _SCALED.split())
"""Operators f with f(s * x) = s * f(x) for every s > 0: they run on (integer - zero_point), and the
result is rounded to the same grid."""

BOUNDS: dict[str, tuple[float | None, ...]] = {
    "aten::relu6": (0.0, 6.0),
    "aten::hardtanh": (-1.0, 1.0),
    "aten::clamp": (None, None),
}
"""Operators that cut off at bounds, which are rounded to the grid first, to the bounds that a call
has without arguments."""

INTO: dict[str, tuple[float, int]] = {
    "aten::sigmoid": (1 / 256, 0),
    "aten::hardsigmoid": (1 / 256, 0),
    "aten::tanh": (2 / 256, 128),
}
"""Operators with a known range to the scale and the zero point (of quint8; that of qint8 is 128
less) of their results."""

_ASKED = """
    aten::size aten::dim aten::numel aten::stride aten::is_contiguous aten::is_floating_point
    aten::is_complex aten::is_signed aten::element_size aten::storage_offset aten::is_same_size
    aten::is_conj aten::is_neg aten::is_pinned aten::sym_size aten::__is__ aten::__isnot__
    prim::device prim::dtype prim::layout prim::requires_grad prim::is_cuda prim::is_cpu
    prim::is_sparse prim::is_mkldnn prim::is_meta prim::itemsize prim::nbytes prim::data"""

ASKED = frozenset(_ASKED.split())
"""What asks for nothing but shapes, strides and kinds."""


PER_TENSOR = "fake_quantize_tensor_cachemask_kernel_type_handling"
PER_CHANNEL = "fake_quantize_channel_cachemask_cpu_type_handling"
"""PyTorch's kernels of rounding to a grid, as its refusals of integers name them."""


def check_channel_dtypes(scale: DType, zero_point: DType) -> None:
    """Refuse the dtypes that `fake_quantize_per_channel_affine` does not take.

    Raises:
        OperatorError: another dtype.
    """
    if scale not in (float32, bfloat16):
        raise OperatorError(f"Scale must be Float or BFloat16, found {scale.word}")
    if zero_point not in (int32, float32, float16):
        raise OperatorError(f"Zero-point must be Int32, Float or Half, found {zero_point.word}")
