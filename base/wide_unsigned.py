"""Operators that do not compute in uint16, uint32 and uint64: a row names PyTorch's kernel.

PyTorch has these dtypes for storage first of all: views, copies, conversions, products, comparisons
for equality and whatever answers in floating point take them, sums and order do not. Rows were
taken from PyTorch 2.13 on a CPU by calling every operator of its database with tensors of uint16.
A name stands for all its overloads unless it has one of its own (`max.dim`).
"""

from __future__ import annotations

_OPERATORS: dict[str, tuple[str, ...]] = {
    # -- arithmetic ---------------------------------------------------------------------------
    "abs_cpu": ("abs", "absolute"),
    "add_stub": (
        "add", "cumulative_trapezoid", "dist", "gradient", "margin_ranking_loss",
        "pairwise_distance", "rsub", "sub", "subtract", "trapezoid", "trapz", "triplet_margin_loss",
        "l1_loss",
    ),
    "addcmul_cpu_out": ("addcmul",),
    "addr_cpu": ("addr",),
    "bitwise_not_cpu": ("bitwise_not",),
    "div_floor_cpu": ("floor_divide",),
    "fmod_cpu": ("fmod",),
    "gcd_cpu": ("gcd",),
    "heaviside_cpu": ("heaviside",),
    "igamma_cpu": ("igamma", "special_gammainc"),
    "igammac_cpu": ("igammac", "special_gammaincc"),
    "lcm_cpu": ("lcm",),
    "lshift_cpu": ("__lshift__", "bitwise_left_shift"),
    "neg_cpu": ("neg", "negative", "soft_margin_loss"),
    "pow": ("pow", "square"),
    "remainder_cpu": ("remainder",),
    "rshift_cpu": ("__rshift__", "bitwise_right_shift"),
    "sign_cpu": ("sgn", "sign"),
    # -- order and truth ----------------------------------------------------------------------
    "clamp_cpu": ("clamp.Tensor", "clip.Tensor"),
    "clamp_max_scalar_cpu": ("clamp_max",),
    "clamp_min_scalar_cpu": ("clamp_min", "relu"),
    "clamp_scalar_cpu": ("clamp", "clip", "hardtanh", "relu6"),
    "ge_cpu": ("ge", "greater_equal"),
    "gt_cpu": ("greater", "gt"),
    "isin_default_cpu": ("isin",),
    "le_cpu": ("le", "less_equal", "poisson_nll_loss"),
    "logical_and_cpu": ("logical_and",),
    "logical_not_cpu": ("logical_not",),
    "logical_or_cpu": ("logical_or",),
    "logical_xor_cpu": ("logical_xor",),
    "lt_cpu": ("less", "lt"),
    "maximum_cpu": ("clamp_min.Tensor", "fmax", "max.other", "maximum"),
    "minimum_cpu": ("clamp_max.Tensor", "fmin", "min.other", "minimum"),
    "prelu_cpu": ("prelu",),
    "threshold_cpu": ("threshold",),
    # -- reductions and searches --------------------------------------------------------------
    "aminmax_cpu": ("_aminmax", "aminmax"),
    "linspace_cpu": ("histc", "linspace"),
    "argmax_cpu": ("argmax",),
    "argmin_cpu": ("argmin",),
    "bincount_cpu": ("bincount",),
    "cummax_cpu": ("cummax",),
    "cummin_cpu": ("cummin",),
    "cumprod_out_cpu": ("cumprod",),
    "cumsum_out_cpu": ("cumsum",),
    "histogramdd": ("histogram", "histogramdd"),
    "kthvalue_cpu": ("kthvalue",),
    "max_all": ("max",),
    "max_cpu": ("max.dim", "max.names_dim"),
    "max_values_cpu": ("amax",),
    "median_cpu": ("median", "nanmedian"),
    "median_out": ("median.dim", "nanmedian.dim"),
    "min_all": ("min",),
    "min_cpu": ("min.dim", "min.names_dim"),
    "min_values_cpu": ("amin",),
    "mode_cpu": ("mode",),
    "flip_cpu": ("flip",),
    "index_func_": ("index_reduce",),
    "index_select": ("index_select",),
    "_segment_reduce_cpu": ("segment_reduce",),
    "nonzero_count_cpu": (
        "argwhere", "count_nonzero", "nonzero", "nonzero_numpy", "nonzero_static", "where",
    ),
    "prod_out_cpu": ("prod",),
    "searchsorted_out_cpu": ("bucketize", "searchsorted"),
    "sum_cpu": ("nansum", "sum"),
    "topk_cpu": ("topk",),
    "xor_sum_cpu": ("hash_tensor",),
    # -- products and matrices ----------------------------------------------------------------
    "addmm_impl_cpu_": (
        "addbmm", "addmm", "chain_matmul", "linalg_matmul", "linalg_multi_dot", "linear", "matmul",
        "mm", "tensordot",
    ),
    "addmv_impl_cpu": ("addmv", "mv"),
    "baddbmm": ("baddbmm",),
    "bmm": ("bilinear", "bmm"),
    "cholesky_cpu": ("cholesky",),
    "cholesky_inverse_out_cpu": ("cholesky_inverse",),
    "cholesky_solve_cpu": ("cholesky_solve",),
    "compute_columns3d": ("conv3d",),
    "cross": ("cross", "linalg_cross"),
    "dot": ("dot", "inner", "vdot"),
    "geqrf_cpu": ("geqrf",),
    "linalg_eigh_cpu": ("linalg_eigh", "linalg_eigvalsh"),
    "lu_cpu": ("_lu_with_info", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex"),
    "orgqr_cpu": ("linalg_householder_product", "orgqr"),
    "ormqr_cpu": ("ormqr",),
    "slow_conv2d_cpu": ("conv1d", "conv2d"),
    "slow_conv_transpose2d_out_cpu": ("conv_transpose1d", "conv_transpose2d"),
    "slow_conv_transpose3d_out_cpu": ("conv_transpose3d",),
    "trace": ("trace",),
    "triangular_solve_cpu": ("linalg_solve_triangular", "triangular_solve"),
    "tril": ("lu_unpack", "tril"),
    "triu": ("triu",),
    # -- elements by index, windows, layers ---------------------------------------------------
    "batch_norm": ("_batch_norm_with_update", "_native_batch_norm_legit", "native_batch_norm"),
    "channel_shuffle": ("channel_shuffle",),
    "compute_index_ranges_weights": (
        "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_lanczos2d_aa",
    ),
    "ctc_loss_cpu": ("ctc_loss",),
    "index_add_": ("index_add",),
    "index_copy_cpu": ("index_copy",),
    "index_fill_cpu": ("index_fill",),
    "index_put": ("index_put",),
    "masked_fill": ("_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "masked_fill"),
    "masked_scatter": ("masked_scatter",),
    "masked_select": ("combinations", "masked_select"),
    "max_pool2d": ("max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices"),
    "max_pool3d": ("max_pool3d", "max_pool3d_with_indices"),
    "max_unpool2d": ("max_unpool2d",),
    "max_unpool3d": ("max_unpool3d",),
    "multi_margin_loss_cpu_kernel": ("multi_margin_loss",),
    "multilabel_margin_loss_forward_out_frame": ("multilabel_margin_loss",),
    "pixel_shuffle": ("pixel_shuffle",),
    "pixel_unshuffle": ("pixel_unshuffle",),
    "reflection_pad1d": ("reflection_pad1d",),
    "reflection_pad2d": ("reflection_pad2d",),
    "reflection_pad3d": ("reflection_pad3d",),
    "repeat_interleave_cpu": ("repeat_interleave.Tensor",),
    "replication_pad1d": ("replication_pad1d",),
    "replication_pad2d": ("replication_pad2d",),
    "replication_pad3d": ("replication_pad3d",),
    "scatter_gather_scalar_cpu": ("scatter.value",),
    "scatter_gather_tensor_cpu": (
        "gather", "scatter", "scatter_add", "scatter_reduce", "take_along_dim",
    ),
    "take_cpu": ("take",),
    "take_put_cpu": ("put",),
    # -- tensors that are made ----------------------------------------------------------------
    "arange_cpu": ("arange",),
    "bernoulli_scalar_cpu_": ("bernoulli.float", "bernoulli.p"),
    "bernoulli_tensor_cpu_self_": ("bernoulli",),
    "check_uniform_bounds": ("rand", "rand_like", "uniform"),
    "eye": ("eye", "linalg_matrix_power", "matrix_power"),
    "geometric_cpu": ("geometric",),
    "log_normal_cpu": ("log_normal",),
    "logspace_cpu": ("logspace",),
    "normal_kernel_cpu": ("normal", "randn", "randn_like"),
    "randperm": ("randperm",),
    "random_kernel_cpu": ("random",),
    "range_cpu": ("range",),
}  # fmt: skip

KERNELS = {name: kernel for kernel, names in _OPERATORS.items() for name in names}
"""Operator, without the underscore of the in-place form, to the kernel that refuses."""

COMPUTED = frozenset(("random.from", "random.to", "where.self", "where.Scalar", "where.ScalarOther",
                      "where.ScalarSelf"))  # fmt: skip
"""Overloads that compute, of operators whose others do not."""

OF_THE_RESULT = frozenset(("cumprod", "cumsum", "nansum", "prod", "sum"))
"""Operators that convert first: the dtype that is asked for counts, by default int64."""

OF_THE_DATA = frozenset((
    "gather", "index_add", "index_copy", "index_fill", "index_put", "masked_fill", "masked_scatter",
    "masked_select", "max_unpool2d", "max_unpool3d", "multi_margin_loss", "put", "searchsorted",
    "multilabel_margin_loss", "repeat_interleave", "scatter", "scatter_add", "scatter_reduce",
    "take", "take_along_dim", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
    "corrcoef", "cov", "index_reduce", "index_select", "lu_unpack",
    "max_pool2d_with_indices_backward", "segment_reduce",
    "nll_loss", "nll_loss2d", "nll_loss_nd", "cross_entropy_loss", "ctc_loss", "bincount",
))  # fmt: skip
"""Operators whose first tensor alone counts: the others are places and masks."""
