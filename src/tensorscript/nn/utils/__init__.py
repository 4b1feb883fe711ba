"""`torch.nn.utils`: parameters as a vector or computed from others, packed sequences."""

from tensorscript.eager.nn.fusion import (
    convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format,
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
    skip_init,
)
from tensorscript.eager.nn.parameters import (
    parameters_to_vector,
    remove_weight_norm,
    vector_to_parameters,
    weight_norm,
)
from tensorscript.eager.nn.spectral import remove_spectral_norm, spectral_norm
from tensorscript.nn.utils import fusion, parametrizations, parametrize, rnn

__all__ = [
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
