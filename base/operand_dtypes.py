"""Operators that take only some dtypes of elements, and how PyTorch words the refusal.

One row an operator, under the dtypes it refuses: its name (all overloads) or `name.overload`
(`name.` for the overload without a name), and the name of PyTorch's kernel, which its message shows
(`"mish_cpu" not implemented for 'Long'`), or the whole message where it has another, with `{word}`
or `{cpp}` for the dtype. The dtype that counts is the common one of all tensors among the
arguments, or the argument `dtype` where it is given. Rows were taken from PyTorch 2.13 on a CPU by
calling each operator with each dtype.

Both the eager kernels and the native rows ask here before they run; decompositions, which call
rows of other operators, do not. What refuses uint16, uint32 and uint64 alone stands in
`wide_unsigned`, what refuses complex numbers in `complex_refusals`, decompositions of matrices in
`matrix_dtypes`. Not here: a dtype that is refused for the value of another argument (the reduction
of `scatter_reduce`, the limits of `hardtanh`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice

from . import complex_refusals, matrix_dtypes, wide_unsigned
from .cpp_names import cpp_name
from .dtypes import (
    WIDE_UNSIGNED,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    uint8,
)
from .errors import OperatorError, UnsupportedDtypeError

_INTEGERS = frozenset((uint8, int8, int16, int32, int64)) | WIDE_UNSIGNED
_FLOATS = frozenset((float16, bfloat16, float32, float64))
_HALF = frozenset((float16, bfloat16))
_BOOL = frozenset((bool_,))
_COMPLEX = frozenset((complex64, complex128))

_VECTOR_NORM = (
    "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {word}"
)
_NORM = "norm(): input dtype should be either floating point or complex. Got {word} instead."
_CDIST = "cdist only supports floating-point dtypes, X1 got: {word}"
_EXPONENTIAL = (
    "Exponential distribution is a continuous probability distribution. dtype must be a floating "
    "point but you specified {word}"
)
_CAUCHY = (
    "Cauchy distribution is a continuous probability distribution. dtype must be a floating point "
    "but you specified {cpp}"
)

_MEAN = (
    "mean(): could not infer output dtype. Input dtype must be either a floating point or complex"
    " dtype."
)

FLOATING = {
    "_no_grad_normal": "normal_kernel_cpu",
    "_no_grad_uniform": "check_uniform_bounds",
    "normal": "normal_kernel_cpu",
    "uniform": "check_uniform_bounds",
    "_softmax_backward_data": "softmax_backward_lastdim_kernel_impl",
    "_log_softmax_backward_data": "log_softmax_backward_lastdim_kernel_impl",
    "pdist": "pdist only supports floating-point dtypes",
    "_weight_norm": "weight_norm_kernel",
    "adaptive_avg_pool1d": "adaptive_avg_pool2d",
    "adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
    "adaptive_max_pool1d": "adaptive_max_pool2d",
    "adaptive_max_pool2d": "adaptive_max_pool2d",
    "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
    "affine_grid_generator": "Expected theta to have floating point type, but got an integer type",
    "batch_norm": "batch_norm",
    "binary_cross_entropy": "binary_cross_entropy",
    "binary_cross_entropy_with_logits": "log_sigmoid_cpu",
    "cauchy": _CAUCHY,
    "cdist": _CDIST,
    "_euclidean_dist": _CDIST,
    "ctc_loss": "ctc_loss_cpu",
    "dist": _NORM,
    "exponential": _EXPONENTIAL,
    "bernoulli.": "bernoulli_tensor_cpu_p_",
    "igamma": "igamma_cpu",
    "igammac": "igammac_cpu",
    "special_gammainc": "igamma_cpu",
    "special_gammaincc": "igammac_cpu",
    "log_normal": "log_normal_cpu",
    "max_unpool2d": "max_unpool2d",
    "max_unpool3d": "max_unpool3d",
    "max_pool2d_with_indices_backward": "max_pool2d_backward",
    "multi_margin_loss": "multi_margin_loss_cpu_kernel",
    "multilabel_margin_loss": "multilabel_margin_loss_forward_out_frame",
    "nanmean": "nanmean(): expected input to have floating point or complex dtype but got {word}",
    "prelu": "prelu_cpu",
    "rand": "check_uniform_bounds",
    "randn": "normal_kernel_cpu",
    "segment_reduce": "_segment_reduce_cpu",
    "stft": "stft(...): expected a tensor of floating point or complex values",
    "std_mean": "std_mean only support floating point and complex dtypes",
    "var_mean": "var_mean only support floating point and complex dtypes",
    "_batch_norm_with_update": "batch_norm",
    "_native_batch_norm_legit": "batch_norm",
    "native_batch_norm": "batch_norm",
    "celu": "elu_cpu",
    "cosine_similarity": ("expected common dtype to be floating point, yet common dtype is {word}"),
    "cross_entropy_loss": "log_softmax_lastdim_kernel_impl",
    "elu": "elu_cpu",
    "frac": "frac_cpu",
    "gelu": "GeluKernelImpl",
    "glu": "glu_cpu",
    "grid_sampler": "grid_sampler_2d_cpu_kernel_impl",
    "grid_sampler_2d": "grid_sampler_2d_cpu_kernel_impl",
    "grid_sampler_3d": "grid_sampler3d_cpu",
    "group_norm": "GroupNormKernelImpl",
    "gru_cell": "addmm_impl_cpu_",
    "gru": "addmm_impl_cpu_",
    "lstm": "addmm_impl_cpu_",
    "rnn_relu": "addmm_impl_cpu_",
    "rnn_tanh": "addmm_impl_cpu_",
    "hinge_embedding_loss": _MEAN,
    "hardshrink": "hardshrink_cpu",
    "hardsigmoid": "hardsigmoid_cpu",
    "hardswish": "hardswish_cpu",
    "histc": "histogram_cpu",
    "huber_loss": "huber_cpu",
    "hypot": "hypot_cpu",
    "instance_norm": "batch_norm",
    "kl_div": "kl_div: Integral inputs not supported.",
    "layer_norm": "LayerNormKernelImpl",
    "leaky_relu": "leaky_relu_cpu",
    "lerp.Scalar": "lerp_kernel_scalar",
    "lerp.Tensor": "lerp_kernel_tensor",
    "linalg_vector_norm": _VECTOR_NORM,
    "log_sigmoid": "log_sigmoid_cpu",
    "logaddexp": "logaddexp_cpu",
    "logaddexp2": "logaddexp2_cpu",
    "logcumsumexp": "logcumsumexp_out_cpu",
    "lstm_cell": "addmm_impl_cpu_",
    "max_pool1d": "max_pool1d_impl",
    "mish": "mish_cpu",
    "mse_loss": "mse_cpu",
    "native_group_norm": "GroupNormKernelImpl",
    "native_layer_norm": "LayerNormKernelImpl",
    "nextafter": "nextafter_cpu",
    "nll_loss": "nll_loss_out_frame",
    "nll_loss2d": "nll_loss2d_forward_out_frame",
    "nll_loss_nd": "nll_loss_out_frame",
    "norm": _NORM,
    "rand_like": "check_uniform_bounds",
    "randn_like": "normal_kernel_cpu",
    "renorm": _VECTOR_NORM,
    "rms_norm": "rms_norm",
    "round.decimals": "round_cpu",
    "rrelu": "leaky_relu_cpu",
    "scaled_dot_product_attention": "softmax_lastdim_kernel_impl",
    "selu": "elu_cpu",
    "silu": "silu_cpu",
    "smooth_l1_loss": "smooth_l1_cpu",
    "softplus": "softplus_cpu",
    "softshrink": "softshrink_check",
    "upsample_linear1d": "compute_indices_weights_linear",
    "upsample_trilinear3d": "compute_indices_weights_linear",
}
"""Floating-point numbers only."""

FLOATING_OR_BYTE = {
    "_upsample_bicubic2d_aa": "compute_index_ranges_weights",
    "_upsample_bilinear2d_aa": "compute_index_ranges_weights",
    "_upsample_nearest_exact1d": "compute_indices_weights_nearest",
    "_upsample_nearest_exact2d": "upsample_nearest2d_channels_last",
    "_upsample_nearest_exact3d": "compute_indices_weights_nearest",
    "upsample_bicubic2d": "compute_indices_weights_cubic",
    "upsample_bilinear2d": "upsample_bilinear2d_channels_last",
    "upsample_nearest1d": "compute_indices_weights_nearest",
    "upsample_nearest2d": "upsample_nearest2d_channels_last",
    "upsample_nearest3d": "compute_indices_weights_nearest",
}
"""Floating-point numbers and the bytes of images."""

FLOATING_OR_LONG = {
    "avg_pool1d": "avg_pool2d",
    "avg_pool2d": "avg_pool2d",
    "avg_pool3d": "avg_pool3d_out_frame",
    "conv1d": "slow_conv2d_cpu",
    "conv2d": "slow_conv2d_cpu",
    "conv_transpose1d": "slow_conv_transpose2d_out_cpu",
    "conv_transpose2d": "slow_conv_transpose2d_out_cpu",
    "conv_transpose3d": "slow_conv_transpose3d_out_cpu",
}
"""Floating-point numbers and int64."""
FLOATING_OR_BOOL = {
    "col2im": "col2im_out_cpu",
    "im2col": "im2col_out_cpu",
}

SPECIAL = {
    f"special_{name}": f"{name}_cpu"
    for name in (
        "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
        "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
        "legendre_polynomial_p", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
        "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "spherical_bessel_j0",
    )
}  # fmt: skip
"""Real numbers, and no half types."""

NOT_HALF = {
    **{f"special_{name}": f"{name}_cpu" for name in ("erfcx", "log_ndtr", "ndtri", "zeta")},
    "_upsample_bicubic2d_aa": "compute_index_ranges_weights",
    "_upsample_bilinear2d_aa": "compute_index_ranges_weights",
    "avg_pool3d": "avg_pool3d_out_frame",
    "cdist": "cdist",
    "ctc_loss": "ctc_loss_cpu",
    "multi_margin_loss": "multi_margin_loss_cpu_kernel",
    "multilabel_margin_loss": "multilabel_margin_loss_forward_out_frame",
    "pdist": "pdist",
    "stft": "MKL FFT doesn't support tensors of type: {word}",
}
"""No float16 and no bfloat16."""

REAL_FLOATING = {
    "_log_softmax": "log_softmax_lastdim_kernel_impl",
    "_safe_softmax": "softmax_lastdim_kernel_impl",
    "_softmax": "softmax_lastdim_kernel_impl",
    "log_softmax": "log_softmax_lastdim_kernel_impl",
    "softmax": "softmax_lastdim_kernel_impl",
    "special_log_softmax": "log_softmax_lastdim_kernel_impl",
    "special_softmax": "softmax_lastdim_kernel_impl",
}
"""Floating-point numbers that are not complex, of those that NumPy computes all the same."""

SINGLE_OR_DOUBLE = {
    "histogram": "histogramdd",
    "histogramdd": "histogramdd",
}
"""float32 and float64 only."""

_NO_DIFFERENCE = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead."
)
_NO_COVARIANCE = "cov(): bool dtype is not supported for input"
_NO_SAMPLES = "{}: received a bool input for {}, but bool is not supported"

NOT_BOOL = {
    "abs": "abs_cpu",
    "absolute": "abs_cpu",
    "addbmm": "addmm_impl_cpu_",
    "addcmul": "addcmul_cpu_out",
    "addmm": "addmm_impl_cpu_",
    "addmv": "addmv_impl_cpu",
    "argmax": "argmax(): does not support bool input",
    "argmin": "argmin(): does not support bool input",
    "baddbmm": "baddbmm",
    "bilinear": "bmm",
    "bmm": "bmm",
    "ceil": "ceil_vml_cpu",
    "chain_matmul": "addmm_impl_cpu_",
    "clamp.Tensor": "clamp_cpu",
    "clip.Tensor": "clamp_cpu",
    "conv3d": "compute_columns3d",
    "bucketize": "searchsorted_out_cpu",
    "conv_tbc": "addmm_impl_cpu_",
    "corrcoef": _NO_COVARIANCE,
    "cov": _NO_COVARIANCE,
    "cross": "cross",
    "cumulative_trapezoid.dx": _NO_SAMPLES.format("cumulative_trapezoid", "`y`"),
    "cumulative_trapezoid.x": _NO_SAMPLES.format("cumulative_trapezoid", "`x` or `y`"),
    "dist": _NO_DIFFERENCE,
    "dot": "dot",
    "fix": "trunc_vml_cpu",
    "floor": "floor_vml_cpu",
    "floor_divide": "div_floor_cpu",
    "fmod": "fmod_cpu",
    "geometric": "geometric_cpu",
    "gradient": _NO_DIFFERENCE,
    "histc": "linspace_cpu",
    "index_reduce": "index_func_",
    "inner": "dot",
    "isin": "Unsupported input type encountered for isin(): Bool",
    "kthvalue": "kthvalue_cpu",
    "l1_loss": _NO_DIFFERENCE,
    "linalg_cross": "cross",
    "linalg_matmul": "dot",
    "linalg_matrix_power": "addmm_impl_cpu_",
    "linalg_multi_dot": "addmm_impl_cpu_",
    "linear": "addmm_impl_cpu_",
    "arange": "arange_cpu",
    "linspace": "linspace_cpu",
    "mvlgamma": "The input tensor may not be a boolean tensor.",
    "remainder": "remainder_cpu",
    "margin_ranking_loss": _NO_DIFFERENCE,
    "matmul": "dot",
    "matrix_power": "addmm_impl_cpu_",
    "max_pool1d_with_indices": "max_pool2d",
    "max_pool2d": "max_pool2d",
    "max_pool2d_with_indices": "max_pool2d",
    "max_pool3d": "max_pool3d",
    "max_pool3d_with_indices": "max_pool3d",
    "median": "median_cpu",
    "mm": "addmm_impl_cpu_",
    "mv": "addmv_impl_cpu",
    "nanmedian": "median_cpu",
    "pairwise_distance": _NO_DIFFERENCE,
    "poisson_nll_loss": _NO_DIFFERENCE,
    "positive": "The `+` operator, on a bool tensor is not supported.",
    "pow.Tensor_Tensor": "pow",
    "reflection_pad1d": "reflection_pad1d",
    "reflection_pad2d": "reflection_pad2d",
    "reflection_pad3d": "reflection_pad3d",
    "relu": "Boolean inputs not supported for relu",
    "relu6": "Bool inputs not supported for hardtanh",
    "hardtanh": "Bool inputs not supported for hardtanh",
    "replication_pad1d": "replication_pad1d",
    "replication_pad2d": "replication_pad2d",
    "replication_pad3d": "replication_pad3d",
    "round": "round_vml_cpu",
    "triplet_margin_loss": _NO_DIFFERENCE,
    "soft_margin_loss": "Negation, the `-` operator, on a bool tensor is not supported.",
    "tensordot": "addmm_impl_cpu_",
    "threshold": "threshold_cpu",
    "topk": "topk does not support bool dtypes on CPU",
    "trace": "trace",
    "trapezoid.dx": _NO_SAMPLES.format("trapezoid", "`y`"),
    "trapezoid.x": _NO_SAMPLES.format("trapezoid", "`x` or `y`"),
    "trapz.dx": _NO_SAMPLES.format("trapezoid", "`y`"),
    "trapz.x": _NO_SAMPLES.format("trapezoid", "`x` or `y`"),
    "trunc": "trunc_vml_cpu",
    "vdot": "dot",
}
"""All numbers."""

_VANDER = "linalg.vander supports floating point, complex, and integer tensors, but got {word}"
NOT_HALF_OR_BOOL = {
    "linalg_vander": _VANDER,
}
NOT_FLOAT16 = {
    "polar": "polar_cpu",
}

INDICES = {
    "tril_indices": "tril_indices",
    "triu_indices": "triu_indices",
}
"""int32 and int64 only."""

NOT_BYTE = {
    "gradient": "torch.gradient does not support uint8 input.",
}

WHOLE_NUMBERS = {
    "__lshift__": "lshift_cpu",
    "__rshift__": "rshift_cpu",
    "bitwise_left_shift": "lshift_cpu",
    "bitwise_right_shift": "rshift_cpu",
    "gcd": "gcd_cpu",
    "lcm": "lcm_cpu",
}
"""Integers only."""

_REFUSED: tuple[tuple[dict[str, str], frozenset[DType]], ...] = (
    (complex_refusals.KERNELS, _COMPLEX),
    (wide_unsigned.KERNELS, WIDE_UNSIGNED),
    (NOT_BOOL, _BOOL),
    (SPECIAL, _HALF | _COMPLEX),
    (NOT_HALF, _HALF),
    (NOT_HALF_OR_BOOL, _HALF | _BOOL),
    (NOT_FLOAT16, frozenset((float16,))),
    (matrix_dtypes.NOT_HALF, _HALF),
    (matrix_dtypes.NOT_WHOLE, _INTEGERS | _BOOL),
    (INDICES, (_INTEGERS - {int32, int64}) | _BOOL | _FLOATS | _COMPLEX),
    (NOT_BYTE, frozenset((uint8,))),
    (FLOATING, _INTEGERS | _BOOL),
    (REAL_FLOATING, _INTEGERS | _BOOL | _COMPLEX),
    (SINGLE_OR_DOUBLE, _INTEGERS | _BOOL | _COMPLEX | {float16, bfloat16}),
    (FLOATING_OR_BYTE, (_INTEGERS | _BOOL) - {uint8}),
    (FLOATING_OR_LONG, (_INTEGERS | _BOOL) - {int64}),
    (FLOATING_OR_BOOL, _INTEGERS),
    (WHOLE_NUMBERS, _FLOATS | _BOOL),
)
"""Of two rows that refuse a dtype the first counts."""


@dataclass(frozen=True)
class Demand:
    """What one operator refuses.

    Attributes:
        kernels: the dtypes, with the name of PyTorch's kernel or a whole message.
        of_the_data: the first tensor alone counts.
        converts: of integers only a dtype that is asked for counts, they become int64.
    """

    kernels: Mapping[DType, str]
    of_the_data: bool = False
    converts: bool = False

    def check(self, dtypes: Iterable[DType], asked: DType | None = None) -> None:
        """Refuse tensors of these dtypes, or the dtype that is asked for.

        Raises:
            UnsupportedDtypeError: the operator is not implemented for it.
            OperatorError: in the operator's own words.
        """
        if asked is not None:
            dtypes = (asked,)
        elif self.converts:
            dtypes = (d for d in dtypes if not d.is_integral and d is not bool_)
        elif self.of_the_data:
            dtypes = islice(dtypes, 1)
        common: DType | None = None
        for dtype in dtypes:
            common = dtype if common is None else promote_types(common, dtype)
        if common is None or (kernel := self.kernels.get(common)) is None:
            return
        if " " in kernel:
            is_missing = kernel in complex_refusals.UNIMPLEMENTED
            words = kernel.replace("{word}", common.word).replace("{cpp}", cpp_name(common))
            raise (UnsupportedDtypeError if is_missing else OperatorError)(words)
        raise unimplemented(kernel, common)


def unimplemented(kernel: str, dtype: DType) -> UnsupportedDtypeError:
    """The error of a kernel of PyTorch that is not instantiated for `dtype`."""
    return UnsupportedDtypeError(f"\"{kernel}\" not implemented for '{dtype.word}'")


@cache
def demand_of(full_name: str) -> Demand | None:
    """The demand of an overload (`aten::mish`, `aten::silu_`, `aten::__iand__.Tensor`)."""
    name = full_name.partition("::")[2]
    base, _, overload = name.partition(".")
    pure = base
    if base.startswith("__i") and base.endswith("__"):
        pure = f"__{base[3:]}"
    elif base.endswith("_") and not base.endswith("__"):
        pure = base[:-1]
    exact = f"{pure}.{overload}"
    kernels: dict[DType, str] = {}
    for rows, refused in _REFUSED:
        if (kernel := rows.get(exact) or rows.get(pure)) is not None:
            kernels = dict.fromkeys(refused, kernel) | kernels
    if exact in wide_unsigned.COMPUTED:
        kernels = {d: kernel for d, kernel in kernels.items() if d not in WIDE_UNSIGNED}
    if not kernels:
        return None
    return Demand(kernels, pure in wide_unsigned.OF_THE_DATA, pure in wide_unsigned.OF_THE_RESULT)
