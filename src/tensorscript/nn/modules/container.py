"""`torch.nn.modules.container`: layers by PyTorch's file names."""

from tensorscript.eager.nn.container import (
    ModuleDict,
    ModuleList,
    Sequential,
)
from tensorscript.eager.nn.parameter_container import (
    ParameterDict,
    ParameterList,
)

__all__ = [
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]
