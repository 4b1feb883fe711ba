"""Multi-head attention as a layer."""

from __future__ import annotations

from typing import Any

from tensorscript.base.dtypes import DType
from tensorscript.base.fused_attention import FUSED_ATTENTION

from ... import namespace as ts
from ...executor_flags import is_scripting
from ...overrides import has_torch_function
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..functions.attention_masks import canonical_mask, dtype_of
from ..module import Module
from .layer import optional_parameter
from .linear import NonDynamicallyQuantizableLinear


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs with the first two dimensions exchanged; what is one tensor stays one."""
    if not is_scripting() and key is value:
        turned = query.transpose(1, 0)
        key = turned if query is key else key.transpose(1, 0)
        return turned, key, key
    return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)


def _is_additive(mask: Tensor | None) -> bool:
    return mask is not None and ts.is_floating_point(mask)


def why_not_fused(x: Tensor, weights: list[Tensor | None]) -> str:
    """Why one operator must not compute with these tensors as things are; empty if it may."""
    if not is_scripting():
        if not FUSED_ATTENTION.allowed:
            return "torch.backends.mha.get_fastpath_enabled() was not True"
        if has_torch_function([x, *weights]):
            return "some Tensor argument has_torch_function"
    if ts.is_autocast_enabled():
        return "autocast is enabled"
    if ts.is_grad_enabled() and (x.requires_grad or any([_asks_gradient(w) for w in weights])):
        return (
            "grad is enabled and at least one of query or the input/output projection weights or "
            "biases requires_grad"
        )
    return ""


def _asks_gradient(weight: Tensor | None) -> bool:
    return weight is not None and weight.requires_grad


class MultiheadAttention(Module):
    """Attention of `num_heads` heads: (L, N, E) queries over (S, N, ...) keys and values.

    With `batch_first` the first two dimensions change places; inputs without N are taken as well.
    """

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got embed_dim="
                f"{embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def add(name: str, wanted: bool, *sizes: int) -> None:
            optional_parameter(self, name, wanted, sizes, device, dtype)

        same = self._qkv_same_embed_dim
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            add(f"{name}_proj_weight", not same, embed_dim, width)
        add("in_proj_weight", same, 3 * embed_dim, embed_dim)
        add("in_proj_bias", bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        add("bias_k", add_bias_kv, 1, 1, embed_dim)
        add("bias_v", add_bias_kv, 1, 1, embed_dim)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if self._parameters[name] is not None:
                init.xavier_uniform_(self._parameters[name])
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        why_not = self._why_not_fused(query, key, value, key_padding_mask, attn_mask)
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", query.dtype, dtype_of(attn_mask), "attn_mask"
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", query.dtype)
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is not None and bias is not None and len(why_not) == 0:
            merged, mask_type = self.merge_masks(attn_mask, key_padding_mask, query)
            return ts._native_multi_head_attention(
                query,
                key,
                value,
                self.embed_dim,
                self.num_heads,
                weight,
                bias,
                self.out_proj.weight,
                self.out_proj.bias,
                merged,
                need_weights,
                average_attn_weights,
                mask_type,
            )
        if query.is_nested or key.is_nested or value.is_nested:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. "
                f"The fast path was not hit because {why_not}"
            )
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights

    def _why_not_fused(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
    ) -> str:
        """Why one operator cannot do all; empty if it can."""
        if query.dim() != 3:
            return f"input not batched; expected query.dim() of 3 but got {query.dim()}"
        if query is not key or key is not value:
            return "non-self attention was used (query, key, and value are not the same Tensor)"
        why_not = self._why_not_by_weights(query.dtype)
        if len(why_not) == 0:
            why_not = self._why_not_as_made()
        if len(why_not) > 0:
            return why_not
        if _is_additive(attn_mask) or _is_additive(key_padding_mask):
            return "floating-point masks are not supported for fast path."
        if query.is_nested and (key_padding_mask is not None or attn_mask is not None):
            return (
                "supplying both src_key_padding_mask and src_mask at the same time is not "
                "supported with NestedTensor input"
            )
        out = self.out_proj
        weights: list[Tensor | None] = [
            self.in_proj_weight, self.in_proj_bias, out.weight, out.bias,
        ]  # fmt: skip
        return why_not_fused(query, weights)

    def _why_not_by_weights(self, dtype: DType) -> str:
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is None:
            return "in_proj_weight was None"
        if bias is None:
            return "in_proj_bias was None"
        if dtype != bias.dtype:
            return f"dtypes of query ({dtype}) and self.in_proj_bias ({bias.dtype}) don't match"
        if dtype != weight.dtype:
            return f"dtypes of query ({dtype}) and self.in_proj_weight ({weight.dtype}) don't match"
        return ""

    def _why_not_as_made(self) -> str:
        if self.training:
            return "training is enabled"
        if self.num_heads % 2 != 0:
            return "self.num_heads is not even"
        if not self.batch_first:
            return "batch_first was not True"
        if self.bias_k is not None:
            return "self.bias_k was not None"
        if self.bias_v is not None:
            return "self.bias_v was not None"
        return "add_zero_attn was enabled" if self.add_zero_attn else ""

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Masks of positions, (L, L) or (N * heads, L, L), and of padding (N, L) as one.

        Returns:
            The mask and its kind: 2 for (N, heads, L, L), 1 for (N, L), None for none.
        """
        if attn_mask is None:
            return key_padding_mask, (None if key_padding_mask is None else 1)
        batch_size, seq_len, _ = query.size()
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch_size, -1, seq_len, seq_len)
        else:
            merged = attn_mask.view(1, 1, seq_len, seq_len)
            merged = merged.expand(batch_size, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch_size, 1, 1, seq_len)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2
