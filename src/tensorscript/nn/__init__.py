"""Neural-network modules and functions under their public names."""

from tensorscript.eager.nn.lazy import UninitializedBuffer, UninitializedParameter
from tensorscript.eager.nn.parameter import Buffer, Parameter
from tensorscript.nn import attention, functional, init, modules, parameter, utils
from tensorscript.nn.modules import *  # noqa: F403 - the classes of `modules.__all__`, listed there

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]
__all__ += modules.__all__
