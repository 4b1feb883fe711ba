"""`torch.nn.utils`: parameters as a vector, weight normalisation, packed sequences."""

from tensorscript.eager.nn.parameters import (
    parameters_to_vector,
    remove_weight_norm,
    vector_to_parameters,
    weight_norm,
)
from tensorscript.nn.utils import rnn

__all__ = [
    "parameters_to_vector",
    "remove_weight_norm",
    "rnn",
    "vector_to_parameters",
    "weight_norm",
]
