"""Machine code for CPUs and GPUs; as `torch.backends`, the libraries that PyTorch would use."""

from . import cudnn, mkldnn, mps

__all__ = ["cudnn", "mkldnn", "mps"]
