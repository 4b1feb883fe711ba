"""`torch.utils.dlpack`: tensors shared with other libraries."""

from tensorscript.eager.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
