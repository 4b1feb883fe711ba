"""Layers of attention and calls of them, for each condition under which one operator does all.

Each is written once for PyTorch and for ours: `t` is the library. A row is a name, what makes the
layer, and what its caller does with `x` (2, 5, 12); masks come from `masks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

SAMPLES, LENGTH, WIDTH = 2, 5, 12
_ENCODER = "nn.TransformerEncoder(nn.TransformerEncoderLayer({}), 2, nn.LayerNorm(12))"
_LAYER = "12, 2, 16, 0.0, batch_first=True"

LAYERS: dict[str, str] = {
    **{
        f"attention {given}": f"nn.MultiheadAttention({given})"
        for given in (
            "12, 4, batch_first=True", "12, 3, batch_first=True", "12, 2", "12, 2, bias=False, "
            "batch_first=True", "12, 2, add_zero_attn=True, batch_first=True",
            "12, 2, add_bias_kv=True, batch_first=True",
            "12, 2, kdim=12, vdim=12, batch_first=True",
        )
    },
    **{
        f"layer {given}": f"nn.TransformerEncoderLayer({given})"
        for given in (
            _LAYER, "12, 2, 16, 0.0", "12, 3, 16, 0.0, batch_first=True", f"{_LAYER}, bias=False",
            f"{_LAYER}, norm_first=True", f"{_LAYER}, activation='gelu'",
            f"{_LAYER}, activation=F.silu", f"{_LAYER}, activation=nn.GELU()",
        )
    },
    **{
        f"encoder {given}": _ENCODER.format(given)
        for given in (
            _LAYER, "12, 2, 16, 0.0", f"{_LAYER}, norm_first=True", f"{_LAYER}, activation='gelu'",
            f"{_LAYER}, activation=F.silu", "12, 3, 16, 0.0, batch_first=True",
            f"{_LAYER}, bias=False",
        )
    },
    "encoder as it is": _ENCODER.format(_LAYER).replace(", 2, nn.", ", 2, enable_nested_tensor"
                                                        "=False, norm=nn."),
    "encoder without a check": _ENCODER.format(_LAYER).replace(", 2, nn.", ", 2, mask_check=False, "
                                                               "norm=nn."),
    "transformer": "nn.Transformer(12, 2, 1, 1, 16, 0.0, batch_first=True)",
}  # fmt: skip

CALLS: dict[str, dict[str, str]] = {
    "attention": {
        "plain": "x, x, x",
        "no weights": "x, x, x, need_weights=False",
        "weights of each head": "x, x, x, average_attn_weights=False",
        "other keys": "x, y, y",
        "one sample": "x[0], x[0], x[0]",
        "padding": "x, x, x, padding",
        "padding, no weights": "x, x, x, padding, False",
        "all hidden": "x, x, x, hidden",
        "added padding": "x, x, x, added(padding)",
        "mask": "x, x, x, attn_mask=mask",
        "mask of nothing": "x, x, x, attn_mask=strict, need_weights=False",
        "masks of heads": "x, x, x, attn_mask=mask.repeat(x.size(0) * {heads}, 1, 1)",
        "added mask": "x, x, x, attn_mask=added(mask)",
        "causal": "x, x, x, attn_mask=mask, is_causal=True, need_weights=False",
        "both": "x, x, x, padding, attn_mask=mask",
        "both, of two kinds": "x, x, x, padding, attn_mask=added(mask)",
    },
    "layer": {
        "plain": "x",
        "one sample": "x[0]",
        "mask": "x, mask",
        "padding": "x, None, padding",
        "all hidden": "x, None, hidden",
        "added": "x, added(mask)",
        "added padding": "x, None, added(padding)",
        "masks of heads": "x, mask.repeat(x.size(0) * {heads}, 1, 1)",
        "both": "x, mask, padding",
        "both, of two kinds": "x, mask, added(padding)",
        "causal": "x, mask, is_causal=True",
    },
    "encoder": {
        "plain": "x",
        "one sample": "x[0]",
        "mask": "x, mask",
        "padding": "x, src_key_padding_mask=padding",
        "all hidden": "x, src_key_padding_mask=hidden",
        "gap": "x, src_key_padding_mask=gap",
        "added padding": "x, src_key_padding_mask=added(padding)",
        "both": "x, mask, padding",
        "both, of two kinds": "x, mask, added(padding)",
        "causal": "x, mask, is_causal=True",
    },
    "transformer": {"plain": "x, y", "padding": "x, y, src_key_padding_mask=padding"},
}


def masks(t: Any) -> dict[str, Any]:
    """Masks by their names, true where something is hidden."""
    places = t.arange(LENGTH)
    return {
        "mask": places[None] > places[:, None],
        "strict": places[None] >= places[:, None],
        "padding": places[None] >= t.tensor([[3], [LENGTH]]),
        "hidden": places[None] >= t.tensor([[0], [4]]),
        "gap": t.tensor([[False, True, False, False, True], [False, False, False, False, True]]),
        "added": lambda mask: t.zeros(mask.shape).masked_fill(mask, float("-inf")),
    }


def layer(t: Any, name: str) -> Any:
    """The layer, with weights that are the same in every library."""
    made = eval(LAYERS[name], {"nn": t.nn, "F": t.nn.functional})
    with t.no_grad():
        for number, weight in enumerate(made.parameters()):
            pattern = (t.arange(weight.numel(), dtype=t.float32) * (7 + number)) % 23 - 11
            weight.copy_(pattern.reshape(weight.shape) / 40)
    return made


def caller(t: Any, made: Any, name: str, call: str) -> Any:
    """A module of `x` and `y` that calls the layer in this way."""
    heads = 4 if "12, 4" in name else 3 if "12, 3" in name else 2

    class Caller(t.nn.Module):  # type: ignore[misc, name-defined]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layer = made

    scope = {"__name__": __name__, **masks(t)}
    Caller.forward = eval(f"lambda self, x, y: self.layer({call.format(heads=heads)})", scope)
    return Caller()


def inputs(t: Any) -> tuple[Any, Any]:
    """`x` and `y`, (2, 5, 12) and (2, 4, 12)."""
    x = (t.arange(SAMPLES * LENGTH * WIDTH, dtype=t.float32) % 17 - 8) / 5
    x = x.reshape(SAMPLES, LENGTH, WIDTH)
    return x, x[:, :4] + 0.25


MODES: dict[str, tuple[bool, Callable[[Any], list[Any]]]] = {
    "trained": (True, lambda t: []),
    "evaluated": (False, lambda t: []),
    "without gradients": (False, lambda t: [t.no_grad()]),
    "inferred": (False, lambda t: [t.inference_mode()]),
    "trained without gradients": (True, lambda t: [t.no_grad()]),
}


@contextmanager
def mode(t: Any, name: str) -> Iterator[bool]:
    """A mode of the library; whether modules are trained in it."""
    trained, made = MODES[name]
    with ExitStack() as stack:
        for each in made(t):
            stack.enter_context(each)
        yield trained


PROGRAMS: list[tuple[str, str]] = [
    (name, call) for name in LAYERS for call in CALLS[name.partition(" ")[0]]
]
