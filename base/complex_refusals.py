"""Operators that do not compute with complex numbers: a row names PyTorch's kernel or message.

Complex numbers have no order, and most activations, losses, resamplings and special functions of
PyTorch are defined for real numbers alone. Rows were taken from PyTorch 2.13 on a CPU by calling
each operator with complex64. A name stands for all its overloads unless it has a row of its own
(`max.dim`).
"""

from __future__ import annotations

_KERNELS: dict[str, tuple[str, ...]] = {
    # -- order --------------------------------------------------------------------------------
    "aminmax_cpu": ("_aminmax", "aminmax", "histc"),
    "cummax_cpu": ("cummax",),
    "cummin_cpu": ("cummin",),
    "ge_cpu": ("ge", "greater_equal"),
    "gt_cpu": ("greater", "gt"),
    "kthvalue_cpu": ("kthvalue",),
    "le_cpu": ("le", "less_equal"),
    "lt_cpu": ("less", "lt"),
    "max_all": ("max",),
    "max_values_cpu": ("amax",),
    "maximum_cpu": ("clamp_min.Tensor",),
    "median_cpu": ("median", "nanmedian"),
    "median_out": ("median.dim", "nanmedian.dim"),
    "min_all": ("min",),
    "min_values_cpu": ("amin",),
    "minimum_cpu": ("clamp_max.Tensor",),
    "mode_cpu": ("mode",),
    "searchsorted_out_cpu": ("bucketize", "searchsorted"),
    "unique": ("_unique", "_unique2", "unique_consecutive"),
    "unique_dim": ("unique_dim",),
    "histogramdd": ("histogram", "histogramdd"),
    "bincount_cpu": ("bincount",),
    "xor_sum_cpu": ("hash_tensor",),
    # -- arithmetic and bits ------------------------------------------------------------------
    "atan2_cpu": ("arctan2", "atan2"),
    "bitwise_and_cpu": ("__and__", "bitwise_and"),
    "bitwise_not_cpu": ("bitwise_not",),
    "bitwise_or_cpu": ("__or__", "bitwise_or"),
    "bitwise_xor_cpu": ("__xor__", "bitwise_xor"),
    "copysign_cpu": ("copysign",),
    "div_floor_cpu": ("floor_divide",),
    "fmod_cpu": ("fmod",),
    "frac_cpu": ("frac",),
    "gcd_cpu": ("gcd",),
    "hypot_cpu": ("hypot",),
    "lcm_cpu": ("lcm",),
    "lshift_cpu": ("__lshift__", "bitwise_left_shift"),
    "nextafter_cpu": ("nextafter",),
    "remainder_cpu": ("remainder",),
    "round_cpu": ("round.decimals",),
    "round_vml_cpu": ("round",),
    "rshift_cpu": ("__rshift__", "bitwise_right_shift"),
    # -- special functions --------------------------------------------------------------------
    "digamma": ("digamma", "special_digamma", "special_psi"),
    "entr_cpu": ("special_entr",),
    "erf_vml_cpu": ("erf", "special_erf", "special_ndtr"),
    "erfc_vml_cpu": ("erfc", "special_erfc"),
    "erfcx_cpu": ("special_erfcx",),
    "erfinv_vml_cpu": ("erfinv", "special_erfinv"),
    "i0_vml_cpu": ("i0", "special_i0"),
    "i0e_cpu": ("special_i0e",),
    "i1_cpu": ("special_i1",),
    "i1e_cpu": ("special_i1e",),
    "igamma_cpu": ("igamma", "special_gammainc"),
    "igammac_cpu": ("igammac", "special_gammaincc"),
    "lgamma_vml_cpu": ("lgamma", "special_gammaln"),
    "log_ndtr_cpu": ("special_log_ndtr",),
    "logaddexp2_cpu": ("logaddexp2",),
    "logit_cpu": ("logit", "special_logit"),
    "ndtri_cpu": ("special_ndtri",),
    "trigamma": ("polygamma", "special_polygamma"),
    "xlog1py_cpu": ("special_xlog1py",),
    "xlogy_cpu": ("special_xlogy", "xlogy"),
    "zeta_cpu": ("special_zeta",),
    # -- activations and losses ---------------------------------------------------------------
    "GeluKernelImpl": ("gelu",),
    "binary_cross_entropy": ("binary_cross_entropy",),
    "elu_cpu": ("celu", "elu", "selu"),
    "glu_cpu": ("glu",),
    "hardshrink_cpu": ("hardshrink",),
    "hardsigmoid_cpu": ("hardsigmoid",),
    "hardswish_cpu": ("hardswish",),
    "huber_cpu": ("huber_loss",),
    "leaky_relu_cpu": ("leaky_relu", "rrelu"),
    "log_sigmoid_cpu": ("binary_cross_entropy_with_logits", "log_sigmoid"),
    "log_softmax_lastdim_kernel_impl": (
        "_log_softmax",
        "cross_entropy_loss",
        "log_softmax",
        "special_log_softmax",
    ),
    "mish_cpu": ("mish",),
    "mse_cpu": ("mse_loss",),
    "multi_margin_loss_cpu_kernel": ("multi_margin_loss",),
    "multilabel_margin_loss_forward_out_frame": ("multilabel_margin_loss",),
    "nll_loss_out_frame": ("nll_loss", "nll_loss_nd"),
    "prelu_cpu": ("prelu",),
    "smooth_l1_cpu": ("smooth_l1_loss",),
    "softmax_lastdim_kernel_impl": (
        "_safe_softmax",
        "_softmax",
        "scaled_dot_product_attention",
        "softmax",
        "special_softmax",
    ),
    "softplus_cpu": ("softplus",),
    "softshrink_check": ("softshrink",),
    "threshold_cpu": ("threshold",),
    # -- normalisation, pooling, resampling ---------------------------------------------------
    "GroupNormKernelImpl": ("group_norm", "native_group_norm"),
    "LayerNormKernelImpl": ("layer_norm", "native_layer_norm"),
    "adaptive_avg_pool2d": ("adaptive_avg_pool1d", "adaptive_avg_pool2d"),
    "adaptive_avg_pool3d_cpu": ("adaptive_avg_pool3d",),
    "adaptive_max_pool2d": ("adaptive_max_pool1d", "adaptive_max_pool2d"),
    "adaptive_max_pool3d_cpu": ("adaptive_max_pool3d",),
    "avg_pool2d": ("avg_pool1d", "avg_pool2d"),
    "avg_pool3d_out_frame": ("avg_pool3d",),
    "batch_norm": ("batch_norm", "instance_norm", "native_batch_norm"),
    "compute_indices_weights_cubic": ("upsample_bicubic2d",),
    "compute_indices_weights_linear": ("upsample_linear1d", "upsample_trilinear3d"),
    "compute_indices_weights_nearest": (
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact3d",
        "upsample_nearest1d",
        "upsample_nearest3d",
    ),
    "grid_sampler3d_cpu": ("grid_sampler_3d",),
    "grid_sampler_2d_cpu_kernel_impl": ("grid_sampler", "grid_sampler_2d"),
    "max_pool1d_impl": ("max_pool1d",),
    "max_pool2d": ("max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices"),
    "max_pool3d": ("max_pool3d", "max_pool3d_with_indices"),
    "max_unpool2d": ("max_unpool2d",),
    "upsample_bilinear2d_channels_last": ("upsample_bilinear2d",),
    "upsample_nearest2d_channels_last": ("_upsample_nearest_exact2d", "upsample_nearest2d"),
    # -- chance -------------------------------------------------------------------------------
    "bernoulli_scalar_cpu_": ("alpha_dropout",),
    "bernoulli_tensor_cpu_self_": ("bernoulli",),
    "geometric_cpu": ("geometric",),
    "log_normal_cpu": ("log_normal",),
    "poisson_cpu": ("poisson",),
    "random_kernel_cpu": ("random",),
}

UNIMPLEMENTED: dict[str, tuple[str, ...]] = {
    "ceil is not supported for complex inputs": ("ceil",),
    "clamp is not supported for complex types": (
        "clamp",
        "clamp_max",
        "clamp_min",
        "clip",
        "cosine_embedding_loss",
        "hardtanh",
        "hinge_embedding_loss",
        "margin_ranking_loss",
        "relu",
        "relu6",
    ),
    "floor is not supported for complex inputs": ("floor",),
    "signbit is not implemented for complex tensors.": ("signbit",),
    "trunc is not supported for complex inputs": ("fix", "trunc"),
    "Unlike NumPy, torch.sign is not intended to support complex numbers. "
    "Please use torch.sgn instead.": ("sign",),
}
"""Messages of a `NotImplementedError`."""

_MESSAGES: dict[str, tuple[str, ...]] = {
    " Sort does not support complex dtypes on CPU": ("argsort", "msort", "sort"),
    " topk does not support complex dtypes on CPU": ("topk",),
    "argmax(): does not support complex input": ("argmax",),
    "argmin(): does not support complex input": ("argmin",),
    "deg2rad is not supported for complex tensors.": ("deg2rad",),
    "fmax not implemented for complex tensors.": ("fmax",),
    "fmin not implemented for complex tensors.": ("fmin",),
    "heaviside is not yet implemented for complex tensors.": ("heaviside",),
    "isneginf does not support complex inputs.": ("isneginf",),
    "isposinf does not support complex inputs.": ("isposinf",),
    "kl_div: Complex inputs not supported.": ("kl_div",),
    "max(): does not support complex input": ("max.dim",),
    "maximum not implemented for complex tensors.": ("max.other", "maximum"),
    "min(): does not support complex input": ("min.dim",),
    "minimum not implemented for complex tensors.": ("min.other", "minimum"),
    "nansum on CPU does not support complex inputs": ("nanmean", "nansum"),
    "rad2deg is not supported for complex tensors.": ("rad2deg",),
}

KERNELS = {
    name: kernel
    for rows in (_KERNELS, UNIMPLEMENTED, _MESSAGES)
    for kernel, names in rows.items()
    for name in names
}
"""Operators to what their refusal names."""
