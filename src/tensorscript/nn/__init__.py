"""Neural-network modules and functions under their public names."""

from tensorscript.eager.nn.container import ModuleDict, ModuleList, Sequential
from tensorscript.eager.nn.module import Module
from tensorscript.eager.nn.parameter import Buffer, Parameter
from tensorscript.eager.nn.parameter_container import ParameterDict, ParameterList
from tensorscript.nn import functional

__all__ = [
    "Buffer",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
    "functional",
]
