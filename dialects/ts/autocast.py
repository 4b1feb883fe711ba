"""`with torch.autocast(...)` inside scripts: which operators cast their tensors, and to what.

The rules are those of TorchScript's pass (torch/csrc/jit/passes/autocast.cpp), not those of eager
mode: more operators are computed in float32, and arithmetic is, too. Tensors in lists stay as
they are. A GPU's autocast changes nothing of tensors that lie on the CPU.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tensorscript.base.dtypes import BY_CODE, DType, bfloat16, float16, float32
from tensorscript.base.errors import OperatorError
from tensorscript.base.records import dataclass
from tensorscript.base.schema import schema

from .ops import OperatorOp
from .types import NoneType

_CLASS = re.compile(r"__torch__\.torch\.((cuda|cpu)\.)?(amp\.)?(___torch_mangle_\d+\.)?"
                    r"autocast_mode\.(___torch_mangle_\d+\.)?autocast")  # fmt: skip
_SHORT = """
    _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d convolution prelu addmm addmv addr
    matmul mm mv linear addbmm baddbmm bmm chain_matmul lstm_cell gru_cell rnn_tanh_cell
    rnn_relu_cell
"""
_LONG = """
    native_layer_norm acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
    pow softplus gelu layer_norm group_norm frobenius_norm nuclear_norm cosine_similarity
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss
    mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
    multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
"""
_WIDEST = """
    addcdiv addcmul atan2 bilinear cat cross dot equal index_put stack tensordot add sub mul div
"""
_POLICY = {
    **dict.fromkeys(_SHORT.split(), "short"),
    **dict.fromkeys(_LONG.split(), "float32"),
    # The widest dtype of their tensors, which no script knows: it is taken to be float32.
    **dict.fromkeys(_WIDEST.split(), "float32"),
    **dict.fromkeys(("prod", "log_softmax", "cumprod", "cumsum", "sum"), "float32 unless told"),
    "binary_cross_entropy": "refused",
}
"""Name of an operator to the dtype it takes; others take what they are given."""


def is_autocast(class_name: str) -> bool:
    """Whether objects of a class are autocast's context managers."""
    return _CLASS.fullmatch(class_name) is not None


@dataclass(frozen=True)
class Autocast:
    """Which casts are made.

    Attributes:
        cpu: those of tensors on the CPU.
        gpu: those of tensors on a GPU.
        dtype: the short dtype on the CPU.
    """

    cpu: bool = False
    gpu: bool = False
    dtype: DType = bfloat16

    def entered(self, device: str, enabled: bool, code: int) -> Autocast:
        """As it is inside a `with` over an object with these attributes.

        Raises:
            OperatorError: no such device.
        """
        if device == "cuda":
            return replace(self, gpu=enabled)
        if device != "cpu":
            raise OperatorError(f"unrecognized device for autocast pass: {device}")
        return replace(self, cpu=enabled, dtype=BY_CODE[code])

    def cast_of(self, op: OperatorOp, dtype: DType) -> DType | None:
        """The dtype that a tensor argument of an operator is cast to; None: it stays as it is.

        Raises:
            OperatorError: the operator is refused here.
        """
        found = schema(op.schema.data)
        policy = _POLICY.get(found.base_name, "")
        if policy == "refused" and (self.cpu or self.gpu):
            raise OperatorError("Unsafe to autocast")
        if not self.cpu or found.is_mutable:
            return None
        if policy == "short":
            return self.dtype if dtype is float32 else None
        is_long = policy == "float32" or (policy == "float32 unless told" and not _tells_dtype(op))
        return float32 if is_long and dtype in (float16, bfloat16) else None


def _tells_dtype(op: OperatorOp) -> bool:
    names = [a.name for a in schema(op.schema.data).arguments]
    return "dtype" in names and not isinstance(op.arguments[names.index("dtype")].type, NoneType)
