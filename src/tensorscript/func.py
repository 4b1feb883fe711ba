"""`torch.func`, as far as programs without gradients use it."""

from tensorscript.eager.nn.stateless import functional_call

__all__ = ["functional_call"]
