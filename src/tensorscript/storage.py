"""`torch.storage`: the memory that tensors view."""

from tensorscript.eager.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
