"""Writes docs/operators.md: for every aten operator, where it runs.

An overload is *native* where the lowering has a row for it, or for what goes into its `out`,
*eager* where the interpreter can run it with a NumPy kernel, and otherwise not provided, with the
reason. Both facts come from the tables themselves; only the families and tiers below are written by
hand.

    python docs/make_operators.py           rewrites docs/operators.md
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tensorscript.base.schema import Schema, has_operator, operator_names, overloads
from tensorscript.eager.absent import ABSENT
from tensorscript.eager.dispatch import has_kernel
from tensorscript.lowering.ts_to_tg.refusals import reason_of
from tensorscript.lowering.ts_to_tg.table import has_native_form

PAGE = Path(__file__).with_name("operators.md")

TIER_1 = {
    "pointwise": """
        relu sigmoid tanh exp log sqrt rsqrt abs neg sin cos gelu silu hardswish hardsigmoid
        hardtanh relu6 leaky_relu floor ceil round clamp clamp_min clamp_max reciprocal square erf
        bitwise_not logical_not add sub mul div rsub pow floor_divide remainder fmod maximum
        minimum where lerp addcmul addcdiv __and__ __or__ __xor__ eq ne lt le gt ge""",
    "in place": """
        relu_ add_ sub_ mul_ div_ copy_ fill_ zero_ clamp_ sigmoid_ silu_ hardswish_ hardtanh_
        dropout_ masked_fill_ bernoulli_ normal_ uniform_ index_put_""",
    "reduction": """
        sum mean max min amax amin argmax argmin prod var std norm any all logsumexp cumsum""",
    "linear algebra": "matmul mm bmm addmm linear baddbmm einsum dot mv outer t",
    "convolution and pooling": """
        _convolution convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d max_pool1d
        max_pool2d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d""",
    "normalisation and attention": """
        batch_norm layer_norm group_norm instance_norm dropout scaled_dot_product_attention
        _native_multi_head_attention _transformer_encoder_layer_fwd _weight_norm rms_norm""",
    "loss": """
        cross_entropy_loss nll_loss mse_loss binary_cross_entropy binary_cross_entropy_with_logits
        l1_loss smooth_l1_loss log_softmax softmax""",
    "resize and pad": """
        upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
        upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d pad constant_pad_nd
        reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d""",
    "view": """
        size view reshape flatten permute transpose swapaxes numpy_T squeeze unsqueeze expand
        expand_as slice select chunk split split_with_sizes unbind contiguous unflatten narrow
        repeat roll flip stack cat dim numel stride is_contiguous movedim""",
    "index": """
        index index_put index_select gather scatter scatter_add masked_fill masked_select take
        nonzero embedding one_hot bucketize searchsorted index_add index_copy""",
    "creation": """
        zeros ones empty full zeros_like ones_like empty_like full_like new_zeros new_ones new_full
        arange linspace eye tensor scalar_tensor clone detach to type_as""",
    "random": """
        rand randn randint randperm rand_like randn_like bernoulli multinomial normal
        manual_seed""",
    "sort": "sort topk argsort _unique _unique2 unique_dim",
    "recurrent": "lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell",
    "spectrum": "stft istft fft_rfft fft_irfft fft_fft hann_window",
    "scalar and container": """
        __getitem__ len append format __contains__ floordiv Int Float Bool __range_length
        __derive_index __is__ __isnot__ __not__ keys values items str""",
    "query": """
        is_grad_enabled set_grad_enabled is_autocast_enabled is_floating_point is_complex""",
}
TIER_2 = {
    "pointwise": """
        elu selu celu mish softplus log_sigmoid hardshrink softshrink threshold log1p log2 log10
        expm1 exp2 sign trunc frac tan asin acos atan sinh cosh isnan isinf isfinite nan_to_num
        erfc lgamma logit prelu glu atan2 hypot logaddexp xlogy bitwise_and bitwise_or bitwise_xor
        logical_and logical_or logical_xor __lshift__ __rshift__ bitwise_left_shift
        bitwise_right_shift copysign true_divide isclose""",
    "reduction": """
        linalg_vector_norm median mode nanmean var_mean std_mean count_nonzero cumprod aminmax""",
    "linear algebra": """
        tensordot addmv addr chain_matmul linalg_norm inverse tril triu diag cdist kron""",
    "convolution and pooling": """
        conv_transpose3d max_pool3d avg_pool1d avg_pool3d im2col col2im pixel_shuffle
        channel_shuffle grid_sampler affine_grid_generator max_unpool2d max_unpool3d""",
    "normalisation and attention": "feature_dropout alpha_dropout",
    "loss": """
        kl_div huber_loss hinge_embedding_loss cosine_embedding_loss margin_ranking_loss
        triplet_margin_loss multi_margin_loss soft_margin_loss""",
    "resize and pad": """
        _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
        _upsample_bilinear2d_aa _upsample_bicubic2d_aa""",
    "view": """
        as_strided tile repeat_interleave view_as broadcast_to hstack vstack rot90 meshgrid unfold
        diagonal tensor_split view_as_real view_as_complex""",
    "index": """
        embedding_bag take_along_dim masked_scatter scatter_reduce index_fill""",
    "creation": "logspace tril_indices complex polar from_file",
    "random": "exponential_",
    "sort": "msort kthvalue unique_consecutive isin",
    "recurrent": "_pack_padded_sequence _pad_packed_sequence",
    "spectrum": "fft_fft2 fft_fftn",
    "query": "result_type can_cast promote_types",
}
TIER_2["in place"] = " ".join(
    f"{name}_"
    for name in f"{TIER_1['pointwise']} {TIER_2['pointwise']}".split()
    if has_operator(f"aten::{name}_") and f"{name}_" not in TIER_1["in place"].split()
)
TIERS = {1: TIER_1, 2: TIER_2}

_REASONS = (
    ("programs on several machines", (), ("owner", "to_here", "local_value")),
    ("named tensors", ("Dimname",), ("name", "rename", "align_to", "align_as", "refine_names")),
    ("PyTorch's own tests of its dispatcher", (), ("_test_", "_foobar")),
    ("random streams of PyTorch's own", (), ("_philox", "_sobol", "rrelu_with_noise")),
    ("gradients are not recorded", (),
     ("backward", "grad", "_dual", "_fw_primal", "jvp", "output_nr", "is_leaf", "_zerotensor",
      "zerotensor", "zeros_with_same_feature", "_amp_update_scale", "set_data")),
    ("transforms of functions (vmap, functionalisation)", (),
     ("_batch_dim", "lift", "_lazy_clone", "_functional_", "batch_norm_with_update_functional",
      "normal",
      "_legit_functional", "noise_functional", "_dep_token", "ncf_")),
    ("quantised tensors", (),
     ("quantize", "fake_quant", "_q_", "q_scale", "q_zero", "q_per_channel", "qscheme", "qint",
      "int_repr", "choose_q")),
    ("packed weights and floats of 8 bits and less", (),
     ("int4pack", "int8pack", "scaled_mm", "scaled_grouped", "4bit", "fbgemm", "saturate_weight",
      "linear_prepack", "mixed_dtypes_linear", "_cslt", "rowwise_prune", "nnpack")),
    ("sparse and nested tensors", (),
     ("sparse", "nested", "coalesce", "ccol", "crow", "_csr", "jagged", "_nnz", "spsolve",
      "hspmm", "smm", "sspaddmm", "spdiags", "indices", "_values", "values_copy",
      "_dimV", "_dimI", "_to_dense")),
    ("another device's own operator", (),
     ("cudnn", "cuda", "cufft", "mkldnn", "miopen", "mps", "xla", "vulkan", "metal", "hip",
      "triton", "mem_eff", "record_stream", "pin_memory", "batch_norm_stats", "batch_norm_elemt",
      "batch_norm_gather", "batch_norm_update_stats", "conv_depthwise", "flash_attention",
      "efficient_attention", "get_cpu_capability")),
    ("lists of tensors of an optimiser", (), ("_foreach", "_fused", "fused_")),
    ("sizes as symbols, and what is asserted of them", (),
     ("sym_", "_assert_", "_size_if_not_equal", "_infer_size", "is_strides_like",
      "is_non_overlapping")),
    ("storages and versions of PyTorch's own tensors", (),
     ("_version", "data", "_has_same_storage", "_has_compatible", "_debug_has", "_copy_from",
      "_resize_output", "_reshape_alias", "_to_cpu", "_reshape_from", "_reshape_copy",
      "save", "_print", "_tensor_to_list", "_list_to_tensor", "slice_inverse",
      "_dim_arange", "dense_tensors")),
    ("complex32", (), ("chalf",)),
    ("made of other operators when an archive is read", (), ("__interpolate", "__upsample")),
)  # fmt: skip
_BEHIND = "the kernel behind a public operator, which is provided"


@dataclass(frozen=True)
class Row:
    """One overload, and where it runs."""

    schema: Schema
    eager: bool
    native: bool

    @property
    def where(self) -> str:
        """`native`, `interpret` or `not provided`."""
        return "native" if self.native else "interpret" if self.eager else "not provided"

    @property
    def why_interpreted(self) -> str:
        """Why it has no native form; empty where it has one or is not provided."""
        return reason_of(self.schema.full_name) if self.where == "interpret" else ""

    @property
    def reason(self) -> str:
        """Why it is not provided; empty where it is."""
        if self.where != "not provided":
            return ""
        types = {str(a.type).rstrip("?[]") for a in self.schema.arguments}
        for reason, kinds, words in _REASONS:
            if types.intersection(kinds) or any(w in self.schema.base_name for w in words):
                return reason
        if self.schema.overload.endswith("hacked_twin"):
            return "an internal twin of another overload"
        return _BEHIND


@cache
def rows() -> tuple[Row, ...]:
    """Every aten overload of the schema table, in its order."""
    return tuple(
        Row(s, has_kernel(s.full_name), has_native_form(s))
        for name in operator_names()
        if name.startswith("aten::")
        for s in overloads(name)
    )


@cache
def by_operator() -> dict[str, tuple[Row, ...]]:
    """`add` to its rows."""
    out: dict[str, list[Row]] = {}
    for row in rows():
        out.setdefault(row.schema.base_name, []).append(row)
    return {k: tuple(v) for k, v in out.items()}


def state(name: str) -> str:
    """Where an operator runs: the best place of any of its overloads."""
    places = {row.where for row in by_operator()[name]}
    return next(p for p in ("native", "interpret", "not provided") if p in places)


def gaps(name: str) -> list[Row]:
    """The overloads of an operator that run nowhere."""
    return [row for row in by_operator()[name] if row.where == "not provided"]


def _family_lines(tier: int) -> list[str]:
    out = ["| family | operators | native | interpreted only | not provided |",
           "|---|--:|--:|---|---|"]  # fmt: skip
    for family, text in TIERS[tier].items():
        names = text.split()
        parts = {
            p: [f"`{n}`" for n in names if state(n) == p] for p in ("interpret", "not provided")
        }
        native = len(names) - sum(map(len, parts.values()))
        out.append(
            f"| {family} | {len(names)} | {native} | {' '.join(parts['interpret']) or '-'} | "
            f"{' '.join(parts['not provided']) or '-'} |"
        )
    return out


def _reason_lines() -> list[str]:
    counts = Counter(row.reason for row in rows() if row.reason)
    lines = [f"| {reason} | {n} |" for reason, n in counts.most_common()]
    return ["| reason | overloads |", "|---|--:|", *lines]


def _absent_lines() -> list[str]:
    return [f"| {reason} | {' '.join(f'`{n}`' for n in names)} |" for reason, names in
            ABSENT.items()]  # fmt: skip


def _interpreted_lines() -> list[str]:
    """A line for each reason, with the operators that run in the interpreter only."""
    found: dict[str, list[str]] = {}
    for name, own in by_operator().items():
        if state(name) == "interpret":
            found.setdefault(next(r.why_interpreted for r in own if r.eager), []).append(name)
    rows = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = [
        f"| {reason} | {' '.join(f'`{n}`' for n in sorted(names))} |" for reason, names in rows
    ]
    return ["| reason | operators |", "|---|---|", *lines]


def _missing_overloads(tier: int) -> list[str]:
    out = []
    for text in TIERS[tier].values():
        for name in text.split():
            missing = gaps(name)
            if missing and len(missing) < len(by_operator()[name]):
                listed = ", ".join(
                    f"`{r.schema.overload or 'default'}` ({r.reason})" for r in missing
                )
                out.append(f"- `{name}`: {listed}")
    return out or ["None."]


def page() -> str:
    """The text of docs/operators.md."""
    places = Counter(row.where for row in rows())
    names = Counter(state(n) for n in by_operator())
    eager = sum(row.eager for row in rows())
    lines = [
        "# Operators", "",
        "Made by `python docs/make_operators.py` from the operator tables; do not edit.", "",
        "*native*: the lowering has a row, so it compiles. *interpret*: a NumPy kernel runs it in",
        "the graph interpreter. A native row may still refuse a particular call; then the kernel",
        "runs, or `fallback=\"error\"` reports it.", "",
        "| | native | interpret | not provided | all |", "|---|--:|--:|--:|--:|",
        f"| overloads | {places['native']} | {places['interpret']} | {places['not provided']} | "
        f"{len(rows())} |",
        f"| operators | {names['native']} | {names['interpret']} | {names['not provided']} | "
        f"{len(by_operator())} |", "",
        f"{eager} overloads have an eager kernel.", "",
        "## Tier 1: what the surveyed model families need", "", *_family_lines(1), "",
        "Overloads missing from provided operators:", "", *_missing_overloads(1), "",
        "## Tier 2: common elsewhere", "", *_family_lines(2), "",
        "Overloads missing from provided operators:", "", *_missing_overloads(2), "",
        "## Why an operator is interpreted only", "",
        "`compile(..., fallback=\"error\")` and `export` refuse with these words.", "",
        *_interpreted_lines(), "",
        "## Why an overload is not provided", "", *_reason_lines(), "",
        "## Names of `torch` that are left out", "",
        "Asking for one is an AttributeError with the reason.", "",
        "| reason | names |", "|---|---|", *_absent_lines(), "",
    ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
