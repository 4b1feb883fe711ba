"""`torch.autograd` without gradients."""

from tensorscript.autograd import forward_ad, function, profiler
from tensorscript.eager.autograd import (
    Function,
    Variable,
    backward,
    grad,
)
from tensorscript.eager.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Function",
    "Variable",
    "backward",
    "enable_grad",
    "forward_ad",
    "function",
    "grad",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_grad_enabled",
]
