"""`torch.nn.utils`: parameters as a vector, computed from others or pruned, packed sequences."""

from tensorscript.eager.nn.clipping import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
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
from tensorscript.nn.utils import (
    clip_grad,
    convert_parameters,
    fusion,
    parametrizations,
    parametrize,
    prune,
    rnn,
    stateless,
)

__all__ = [
    "clip_grad",
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "convert_parameters",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "fusion",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]
