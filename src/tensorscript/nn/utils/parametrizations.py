"""`torch.nn.utils.parametrizations`: ready ones."""

from tensorscript.eager.nn.parametrizations import orthogonal, spectral_norm, weight_norm

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
