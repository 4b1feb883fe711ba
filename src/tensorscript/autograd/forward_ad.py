"""`torch.autograd.forward_ad` without tangents."""

from tensorscript.eager.forward_gradients import UnpackedDualTensor, make_dual, unpack_dual

__all__ = ["UnpackedDualTensor", "make_dual", "unpack_dual"]
