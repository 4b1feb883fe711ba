"""`torch.nn.modules.lazy`: layers by PyTorch's file names."""

from tensorscript.eager.nn.lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]
