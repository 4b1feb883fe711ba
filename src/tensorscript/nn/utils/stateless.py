"""`torch.nn.utils.stateless`: modules called with other tensors than their own."""

from tensorscript.eager.nn.stateless import functional_call

__all__ = ["functional_call"]
