"""Machine code for CPUs and GPUs; as `torch.backends`, the libraries that PyTorch would use."""

from . import cuda, cudnn, mha, mkldnn, mps

__all__ = ["cuda", "cudnn", "mha", "mkldnn", "mps"]
