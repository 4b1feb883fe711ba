"""Tensors as PyTorch's C++ prints them in messages."""

from __future__ import annotations

from tensorscript.eager.storage import TensorBase, value


def tensor_text(tensor: TensorBase) -> str:
    """Rows of four decimals, then `[ torch.FloatTensor{2,3} ]`."""
    found = value(tensor)
    sizes = ",".join(map(str, found.shape))
    rows = found.reshape(-1, found.shape[-1]) if found.ndim > 1 else found.reshape(-1, 1)
    floating = tensor.dtype.is_floating_point
    lines = (" ".join(f" {v:.4f}" if floating else f" {v}" for v in row.tolist()) for row in rows)
    return "\n".join([*lines, f"[ torch.{tensor.dtype.word}Tensor{{{sizes}}} ]"])
