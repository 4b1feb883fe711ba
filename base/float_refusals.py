"""Operators of floating-point numbers, or of some of them: rows of `operand_dtypes`."""

from __future__ import annotations

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
    "_upsample_lanczos2d_aa": "compute_index_ranges_weights",
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
    "_upsample_lanczos2d_aa": "compute_index_ranges_weights",
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
NOT_FLOAT16 = {
    "polar": "polar_cpu",
}
