"""Every operator in both tables: the eager kernel and the lowered program give the same result.

Arguments come from the schemas (dtypes, transposed, 0-dim, empty, NaN and inf, broadcasting). The
lowered program is evaluated as tg, which takes a millisecond; a few operators are compiled as well.
A call that one side refuses is compared only where the kernel accepts it: then the native row must
either agree or say that it cannot compile it.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tensorscript.base.errors import NotCompilable, OperatorError
from tensorscript.base.schema import Schema, operator_names, overloads
from tensorscript.eager.dispatch import has_kernel
from tensorscript.lowering.ts_to_tg.table import BUILDERS

SPEC = importlib.util.spec_from_file_location(
    "operator_samples", Path(__file__).with_name("operator_samples.py")
)
assert SPEC is not None and SPEC.loader is not None
SAMPLES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SAMPLES)

# Operators whose results are not a function of these arguments (random, strides, unsorted bounds,
# signs of singular vectors).
UNDETERMINED = {
    "normal", "randint_like", "feature_alpha_dropout", "svd", "linalg_svd",
    "empty_like", "new_empty", "dropout", "dropout_", "feature_dropout", "feature_dropout_",
    "alpha_dropout", "alpha_dropout_", "bernoulli", "bernoulli_", "rand_like", "randn_like",
    "uniform", "exponential", "log_normal", "geometric", "cauchy", "random",
    "stride", "is_contiguous", "searchsorted", "bucketize", "_make_per_tensor_quantized_tensor",
}  # fmt: skip
# What native rows get wrong: full name -> what. The test fails when one is mended, so the list
# cannot grow stale.
KNOWN: dict[str, str] = {}
# PyTorch refuses integers and bools here; neither side promises anything for them.
FLOAT_ONLY = {
    "_weight_norm", "lerp", "hypot", "selu", "elu", "celu", "addcmul", "addcdiv", "logaddexp",
    "logaddexp2", "softshrink", "hardshrink", "group_norm", "cosine_embedding_loss", "gelu", "mish",
    "silu", "softplus", "log_sigmoid", "binary_cross_entropy_with_logits", "binary_cross_entropy",
    "batch_norm", "prelu", "leaky_relu", "triplet_margin_loss", "cdist", "glu", "kl_div",
    "soft_margin_loss", "poisson_nll_loss", "cosine_similarity", "hardswish", "hardsigmoid",
    "scaled_dot_product_attention", "pairwise_distance", "logcumsumexp", "rrelu", "threshold",
    "frac", "cross", "linalg_cross", "cross_entropy_loss",
}  # fmt: skip


def rows() -> Iterator[Schema]:
    for name in operator_names():
        for found in overloads(name):
            native = found.full_name in BUILDERS or found.name in BUILDERS
            if (
                name.startswith("aten::")
                and native
                and has_kernel(found.full_name)
                and not found.is_out
                and not found.is_mutable
                and found.base_name not in UNDETERMINED
                and SAMPLES.is_simple(found)
            ):
                yield found


ROWS = list(rows())


def disagreement(found: Schema) -> str:
    """The first sample on which the two differ, and how; empty if there is none."""
    for arguments in SAMPLES.samples(found):
        arrays = [v for v in arguments if isinstance(v, np.ndarray)]
        if found.base_name in FLOAT_ONLY and {a.dtype.kind for a in arrays} | {
            len({a.dtype for a in arrays})
        } != {"f", 1}:
            continue
        try:
            want = SAMPLES.eager_values(found.full_name, arguments)
        except (OperatorError, TypeError):
            continue
        try:
            got = SAMPLES.lowered_values(found.full_name, arguments)
        except NotCompilable:
            continue
        except OperatorError as error:
            return f"{_show(arguments)}: refused, {str(error).splitlines()[0]}"
        if text := SAMPLES.difference(got, want):
            return f"{_show(arguments)}: {text}"
    return ""


def _show(arguments: list[object]) -> list[object]:
    return [f"{v.dtype}{list(v.shape)}" if isinstance(v, np.ndarray) else v for v in arguments]


@pytest.mark.filterwarnings(r"ignore:cov")  # single numbers have none
@pytest.mark.parametrize("found", ROWS, ids=[s.full_name.removeprefix("aten::") for s in ROWS])
def test_eager_equals_native(found: Schema, request: pytest.FixtureRequest) -> None:
    if (reason := KNOWN.get(found.full_name)) is not None:
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        text = disagreement(found)
    assert not text, f"{found.full_name}{text}"


def test_most_rows_are_covered() -> None:
    assert len(ROWS) > 200
