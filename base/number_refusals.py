"""Operators of numbers, no truth values, or of some integers: rows of `operand_dtypes`."""

from __future__ import annotations

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
    "conv3d": "compute_columns3d",
    "bucketize": "searchsorted_out_cpu",
    "conv_tbc": "addmm_impl_cpu_",
    "corrcoef": _NO_COVARIANCE,
    "cov": _NO_COVARIANCE,
    "cross": "cross",
    "cumprod": "cumprod_out_cpu",
    "cumsum": "cumsum_out_cpu",
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
    "mm": "addmm_impl_cpu_",
    "mv": "addmv_impl_cpu",
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
