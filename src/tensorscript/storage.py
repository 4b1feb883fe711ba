"""`torch.storage`: the memory that tensors view."""

from tensorscript.eager.storages import UntypedStorage
from tensorscript.eager.typed_storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
