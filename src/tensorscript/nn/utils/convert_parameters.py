"""`torch.nn.utils.convert_parameters`: parameters as one vector, and back."""

from tensorscript.eager.nn.parameters import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
