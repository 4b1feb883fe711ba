"""Machine code for CPUs and GPUs; as `torch.backends`, the libraries that PyTorch would use."""

from . import cuda, cudnn, mkldnn, mps

__all__ = ["cuda", "cudnn", "mkldnn", "mps"]
