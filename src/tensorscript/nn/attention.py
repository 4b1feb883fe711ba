"""`torch.nn.attention`: which kernel computes attention. Here there is one for all."""

from tensorscript.eager.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["SDPBackend", "sdpa_kernel"]
