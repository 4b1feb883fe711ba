"""The layer of every transformer among the models."""

from __future__ import annotations

from peers import lib

nn = lib.nn


class Layer(nn.Module):  # type: ignore[misc, name-defined]  # of one library or the other
    """Attention and a gelu network of four times the width, each added to what went in.

    Args:
        before: normalise what goes into each part (GPT-2, ViT), not the sums (BERT).
        causal: a token sees only those before it.
    """

    def __init__(self, width: int, heads: int, before: bool, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.width, self.before, self.causal = heads, width, before, causal
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = nn.GELU()

    def attend(self, x):
        b, s = x.shape[0], x.shape[1]
        parts = self.qkv(x).view(b, s, 3, self.heads, self.width // self.heads)
        parts = parts.permute(2, 0, 3, 1, 4)
        mixed = lib.nn.functional.scaled_dot_product_attention(
            parts[0], parts[1], parts[2], is_causal=self.causal
        )
        return self.out(mixed.transpose(1, 2).reshape(b, s, self.width))

    def forward(self, x):
        if self.before:
            x = x + self.attend(self.norm1(x))
            return x + self.down(self.gelu(self.up(self.norm2(x))))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.down(self.gelu(self.up(x))))
