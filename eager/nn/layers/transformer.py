"""The Transformer: encoder, decoder, and their layers (Vaswani and others, 2017)."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from tensorscript.base.dtypes import DType

from ... import namespace as ts
from ...device import device as Device
from ...executor_flags import is_scripting
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..calling import has_hooks_of_user
from ..container import ModuleList
from ..functions.attention_masks import canonical_mask, dtype_of
from ..module import Module
from .activation import GELU, ReLU
from .attention import MultiheadAttention, why_not_fused
from .dropout import Dropout
from .linear import Linear
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _generate_square_subsequent_mask(
    sz: int, device: Device | None = None, dtype: DType | None = None
) -> Tensor:
    """Minus infinity above the diagonal: no step sees a later one."""
    return ts.triu(ts.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask: Tensor | None, is_causal: bool | None, size: int) -> bool:
    """Whether a mask hides later steps: as told, or by comparing it with one that does."""
    if is_causal is not None:
        return is_causal
    if mask is None or list(mask.size()) != [size, size]:
        return False
    causal = ts.triu(ts.full_like(mask, float("-inf")), diagonal=1)
    return bool((mask == causal).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.size(1) if x.dim() == 3 and batch_first else x.size(0)


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList(copy.deepcopy(module) for _ in range(count))


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.lookup(given)


class TransformerEncoderLayer(Module):
    """Self-attention and a two-layer network, each with a residual and a norm."""

    __constants__ = ["norm_first"]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        found = _activation(activation)
        self.activation_relu_or_gelu = _known(found)
        self.activation = found

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        src_key_padding_mask = canonical_mask(
            src_key_padding_mask,
            "src_key_padding_mask",
            src.dtype,
            dtype_of(src_mask),
            "src_mask",
        )
        src_mask = canonical_mask(src_mask, "src_mask", src.dtype)
        masked = src_mask is not None or src_key_padding_mask is not None
        if self.self_attn.in_proj_bias is not None and self._fuses(src, masked):
            return self._fused(src, src_mask, src_key_padding_mask)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        found = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )[0]  # fmt: skip
        return self.dropout1(found)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _fuses(self, src: Tensor, masked: bool) -> bool:
        """Whether one operator computes all, as PyTorch decides it."""
        attention = self.self_attn
        if src.dim() != 3 or self.training or not attention.batch_first:
            return False
        if attention.in_proj_weight is None:
            return False
        if self.norm1.eps != self.norm2.eps or self.activation_relu_or_gelu == 0:
            return False
        if attention.num_heads % 2 == 1 or (masked and src.is_nested):
            return False
        if not is_scripting() and _has_hooks(self):
            return False
        return len(why_not_fused(src, self._weights())) == 0

    def _weights(self) -> list[Tensor | None]:
        attention = self.self_attn
        found: list[Tensor | None] = [
            attention.in_proj_weight, attention.in_proj_bias, attention.out_proj.weight,
            attention.out_proj.bias, self.norm1.weight, self.norm1.bias, self.norm2.weight,
            self.norm2.bias, self.linear1.weight, self.linear1.bias, self.linear2.weight,
            self.linear2.bias,
        ]  # fmt: skip
        return found

    def _fused(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        attention = self.self_attn
        merged, mask_type = attention.merge_masks(mask, padding, src)
        return ts._transformer_encoder_layer_fwd(
            src,
            attention.embed_dim,
            attention.num_heads,
            attention.in_proj_weight,
            attention.in_proj_bias,
            attention.out_proj.weight,
            attention.out_proj.bias,
            self.activation_relu_or_gelu == 2,
            self.norm_first,
            self.norm1.eps,
            self.norm1.weight,
            self.norm1.bias,
            self.norm2.weight,
            self.norm2.bias,
            self.linear1.weight,
            self.linear1.bias,
            self.linear2.weight,
            self.linear2.bias,
            merged,
            mask_type,
        )


def _has_hooks(module: Module) -> bool:
    """Whether the user has anything called before or after a forward in there."""
    return any(has_hooks_of_user(part) for part in module.modules())


def _known(activation: object) -> int:
    """1 for relu, 2 for gelu, 0 for others: what fused kernels ask."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or isinstance(activation, GELU) else 0


class TransformerDecoderLayer(Module):
    """Self-attention, attention over the encoder's memory, and a two-layer network."""

    __constants__ = ["norm_first"]

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        padding = memory_key_padding_mask
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, padding, memory_is_causal)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
            x = self.norm2(x + self._mha_block(x, memory, memory_mask, padding, memory_is_causal))
            x = self.norm3(x + self._ff_block(x))
        return x

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        found = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )[0]  # fmt: skip
        return self.dropout1(found)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        found = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
            need_weights=False, is_causal=is_causal,
        )[0]  # fmt: skip
        return self.dropout2(found)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _why_not_lengths(layer: Module) -> str:
    """Why an encoder of such layers does not compute with texts in their own lengths; or empty."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True(use batch_first for better inference performance)":
            not attention.batch_first,
        "self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }  # fmt: skip
    return next((f"encoder_layer.{reason}" for reason, holds in reasons.items() if holds), "")


class TransformerEncoder(Module):
    """A stack of copies of one encoder layer.

    In evaluation, without gradients, layers compute with texts in their own lengths where a padding
    mask tells them: nested tensors. What the mask hides is 0 then in front of the last norm.
    """

    __constants__ = ["norm", "use_nested_tensor"]

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        why_not = _why_not_lengths(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not why_not
        if enable_nested_tensor and why_not:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"{why_not}",
                stacklevel=2,
            )
        self.mask_check = mask_check
        self.batch_first: bool = encoder_layer.self_attn.batch_first

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", src.dtype, dtype_of(mask), "mask"
        )
        mask = canonical_mask(mask, "mask", src.dtype)
        output, for_layers = src, padding
        shortened = zeroed = False
        if padding is not None and mask is None and self._takes_lengths(src):
            shown = padding.logical_not()
            if is_scripting() and self.mask_check:
                # One path for texts that begin on the left and for others: compiled once.
                zeroed = True
            elif not self.mask_check or ts._nested_tensor_from_mask_left_aligned(src, shown):
                output = ts._nested_tensor_from_mask(src, shown, mask_check=False)
                shortened, for_layers = True, None
        causal = _is_causal(mask, is_causal, _length(src, self.batch_first))
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=for_layers)
        if shortened:
            output = output.to_padded_tensor(0.0, src.size())
        if zeroed and padding is not None:
            output = _with_zeros_at_the_right(output, padding)
        if self.norm is not None:
            output = self.norm(output)
        return output

    def _takes_lengths(self, src: Tensor) -> bool:
        """Whether texts that begin on the left are taken in their own lengths."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or src.is_nested:
            return False
        return len(why_not_fused(src, first._weights())) == 0


def _with_zeros_at_the_right(output: Tensor, padding: Tensor) -> Tensor:
    """`output` with zeros where texts have ended, if all begin on the left."""
    hidden = padding.logical_not().logical_not()
    hidden = hidden & (hidden[:, 1:] >= hidden[:, :-1]).all()
    return output.masked_fill(hidden.unsqueeze(-1), 0.0)


class TransformerDecoder(Module):
    """A stack of copies of one decoder layer."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.batch_first: bool = decoder_layer.self_attn.batch_first

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output = tgt
        causal = _is_causal(tgt_mask, tgt_is_causal, _length(tgt, self.batch_first))
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        if self.norm is not None:
            output = self.norm(output)
        return output


class Transformer(Module):
    """Encoder and decoder: (S, N, E) sources and (T, N, E) targets to (T, N, E)."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*options)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options)
            norm = LayerNorm(d_model, eps=layer_norm_eps, **made)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | None = None, dtype: DType | None = None
    ) -> Tensor:
        """Minus infinity above the diagonal of a square of `sz`."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        at = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(at) != tgt.size(at):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
